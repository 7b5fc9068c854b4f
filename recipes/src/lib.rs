//! Coordination recipes for ZooKeeper as async Rust code for the handle, each with its properties and its published
//! mistakes.
//!
//! A recipe uses nothing but [`vivarium_model::handle::ZooKeeper`]: it has no clock, thread, socket or random number of
//! its own. So the simulator, the explorer and a service run the same source.
//!
//! A number such as `recipe rule 2.8.3` refers to a rule in this crate's `RULES.md`, which also contains the register
//! of properties (M2). `rule 6.7.1` refers to a rule of ZooKeeper in the book of `vivarium-model`.
//!
//! The feature `checking`, which is on by default, contains everything that checks the recipes: properties, workers,
//! mutants and published texts. A service that only uses recipes is built without it.

#![forbid(unsafe_code)]
// Items that are public for the checks are private without them.
#![cfg_attr(not(feature = "checking"), allow(unreachable_pub))]

pub mod ack_queue;
pub mod barrier;
pub mod cache;
pub mod configuration;
pub mod contention;
pub mod counter;
pub mod delay_queue;
pub mod double_barrier;
pub mod election;
pub mod helpers;
#[cfg(feature = "checking")]
pub mod herd;
pub mod lock;
pub mod membership;
pub mod multilock;
#[cfg(feature = "checking")]
pub mod mutants;
pub mod names;
#[cfg(not(feature = "checking"))]
mod no_mutants;
#[cfg(feature = "checking")]
mod obligations;
pub mod once;
pub mod partitioner;
pub mod persistent_node;
#[cfg(feature = "checking")]
pub mod published;
pub mod queue;
pub mod revocable_lock;
pub mod rwlock;
pub mod semaphore;
pub mod shared_value;
pub mod two_phase_commit;

#[cfg(not(feature = "checking"))]
use no_mutants as mutants;
