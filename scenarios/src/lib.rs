//! A deterministic simulator and model checker for Apache ZooKeeper and for programs over it.
//!
//! Write an ordinary test over the [`ZooKeeper`](prelude::ZooKeeper) handle, and [`Test`] runs it
//! under hundreds of seeds against a whole simulated ensemble:
//!
//! ```no_run
//! use vivarium::prelude::*;
//!
//! #[test]
//! # fn hidden() {}
//! fn everybody_registers() {
//!     vivarium::Test::new("register", |zookeeper: ZooKeeper| async move {
//!         loop {
//!             zookeeper.connect().await;
//!             match zookeeper.create("/member-", b"", CreateMode::EphemeralSequential).await {
//!                 Ok(_) => return Ok(()),
//!                 Err(Error::ConnectionLoss | Error::SessionExpired) => continue,
//!                 Err(error) => return Err(error.to_string()),
//!             }
//!         }
//!     })
//!     .clients(3)
//!     .faults(Faults::ALL)
//!     .seeds(200)
//!     .run();
//! }
//! ```
//!
//! A violation panics with the property, what it saw, and the command that replays it.
//!
//! # For a test
//!
//! | | |
//! |---|---|
//! | [`Test`] | one test: programs, faults, seeds, properties |
//! | [`prelude`] | everything that a test's programs and properties are written with |
//! | [`properties`] | properties of a few lines: what is always true, at most once, in one order, … |
//! | [`prelude::Monitor`], [`prelude::Declared`] | a property with a state of its own |
//! | [`explore()`], [`Exploration`] | every order of events instead of those that seeds draw |
//! | [`guide`] | all of it, chapter by chapter, with examples |
//!
//! # For a service
//!
//! | | |
//! |---|---|
//! | [`recipes`] | locks, elections, queues, barriers, caches and others, with the properties that check them |
//! | [`helpers`] | what most programs over ZooKeeper need: a path that exists, a session that lasts |
//!
//! A service that needs no tests of its own depends on `vivarium-zk-recipes` alone, without its default features.
//!
//! # Features
//!
//! `cli` builds the `vivarium` binary, `explore` the searches, `checking` what checks the recipes. A library for tests
//! by seeds of programs without recipes needs none of them. `proptest` adds strategies for faults, `coverage` counts of
//! the awaits of programs.

#![forbid(unsafe_code)]

// The modules of the `vivarium` binary, which is another crate, and of this package's tests. No part of the library's
// interface: they change without notice.
#[cfg(feature = "catalogue")]
#[doc(hidden)]
pub mod catalogue;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "conform")]
#[doc(hidden)]
pub mod conform;
#[cfg(all(feature = "conform", feature = "explore"))]
#[doc(hidden)]
pub mod findings;
#[cfg(feature = "explore")]
#[doc(hidden)]
pub mod fuzz;
#[cfg(feature = "live")]
#[doc(hidden)]
pub mod live;
#[cfg(all(feature = "conform", feature = "explore"))]
#[doc(hidden)]
pub mod museum;
#[cfg(feature = "serve")]
pub mod serve;

#[cfg(feature = "coverage")]
mod covering;
#[cfg(feature = "cli")]
mod explaining;
#[cfg(feature = "explore")]
mod exploration;
pub mod guide;
mod harness;
mod minimising;
#[cfg(feature = "explore")]
#[doc(hidden)]
pub mod picturing;
pub mod prelude;
pub mod properties;
mod replaying;
#[cfg(feature = "proptest")]
pub mod strategies;
mod sweeping;
#[cfg(feature = "explore")]
mod walking;

#[cfg(feature = "explore")]
pub use exploration::{Exploration, ExploreError, explore};
pub use harness::Test;
pub use harness::ready::TestFailure;
pub use harness::role::Role;
pub use sweeping::seeds;
#[cfg(feature = "explore")]
pub use vivarium_model::config::Election;
#[cfg(feature = "coverage")]
pub use vivarium_reports::covered::{AwaitCounts, Coverage, coverage_text};
pub use vivarium_reports::exploration::ExplorationReport;
pub use vivarium_reports::summary::{Count, ScenarioReport};
#[cfg(feature = "explore")]
pub use vivarium_sim::every::Checkpoint;
#[cfg(feature = "cluster")]
pub use vivarium_sim::every::Cluster;

// A test needs no other dependency than this one. (A type that derives the prelude's `Serialize` must say where serde
// is: `#[serde(crate = "vivarium::serde")]`.)
pub use serde;
pub use vivarium_model::named;
pub use vivarium_recipes as recipes;
pub use vivarium_recipes::helpers;

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
