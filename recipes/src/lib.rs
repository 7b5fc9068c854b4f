//! What people build on ZooKeeper: coordination recipes as async Rust over the handle, each with its
//! properties and its published mistakes beside it.
//!
//! A recipe touches nothing but [`vivarium_model::handle::ZooKeeper`]: it owns no clock, thread,
//! socket or random number. So the source that the simulator and the explorer run is the source
//! that a service uses.
//!
//! A number such as `recipe rule 2.8.3` is that of a rule in `RULES.md`, the book of this crate,
//! where the register of properties (M2) is as well; `rule 6.7.1` is one of ZooKeeper, in the book
//! of `vivarium-zk-model`.
//!
//! The feature `checking`, which is on by default, brings what checks the recipes: properties, workers, mutants and
//! published texts. A service that only uses recipes is built without it.

#![forbid(unsafe_code)]
// What is public for those who check the recipes is private without them.
#![cfg_attr(not(feature = "checking"), allow(unreachable_pub))]

pub mod ack_queue;
pub mod barrier;
pub mod cache;
#[cfg(feature = "checking")]
mod calm;
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
