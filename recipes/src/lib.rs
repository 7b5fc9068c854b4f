//! What people build on ZooKeeper: coordination recipes as async Rust over the handle, each with its
//! properties and its published mistakes beside it.
//!
//! A recipe touches nothing but [`vivarium_model::handle::ZooKeeper`]: it owns no clock, thread,
//! socket or random number. So the source that the simulator and the explorer run is the source
//! that a service uses.
//!
//! A number such as `recipe rule 2.8.3` is that of a rule in `RULES.md`, the book of this crate,
//! where the register of properties (M2) is as well; `rule 6.7.1` is one of ZooKeeper, in the book
//! of `vivarium-model`.

#![forbid(unsafe_code)]

mod calm;
pub mod configuration;
pub mod helpers;
pub mod lock;
pub mod membership;
pub mod mutants;
pub mod names;
pub mod persistent_node;
pub mod published;
pub mod two_phase_commit;
