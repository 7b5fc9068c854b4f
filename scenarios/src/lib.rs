//! What we ask: the catalogue of scenarios, and the face that Vivarium shows its users.
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
//! A violation panics with the property, what it saw, and the line that replays it. The same
//! scenarios that this crate's own catalogue holds are run by the `vivarium` binary. The [`guide`] has the rest, chapter
//! by chapter.

#![forbid(unsafe_code)]

pub mod catalogue;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "conform")]
pub mod conform;
#[cfg(feature = "explore")]
mod exploration;
#[cfg(all(feature = "conform", feature = "explore"))]
pub mod findings;
#[cfg(feature = "explore")]
pub mod fuzz;
pub mod guide;
pub mod prelude;
pub mod properties;
mod replaying;
mod sweeping;
mod test;

#[cfg(feature = "explore")]
pub use exploration::{Exploration, ExploreError, explore};
pub use sweeping::seeds;
pub use test::Test;
pub use test::ready::TestFailure;
pub use test::role::Role;
#[cfg(feature = "explore")]
pub use vivarium_model::config::Election;
pub use vivarium_reports::exploration::ExplorationReport;
pub use vivarium_reports::summary::ScenarioReport;

// So that a test needs no other dependency than this one. (What derives `Serialize` by the prelude has to say
// where serde is: `#[serde(crate = "vivarium::serde")]`.)
pub use serde;
pub use vivarium_model as model;
pub use vivarium_recipes as recipes;
pub use vivarium_recipes::helpers;
pub use vivarium_reports as reports;
pub use vivarium_sim as sim;

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
