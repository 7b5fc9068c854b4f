//! What people build on ZooKeeper: coordination recipes as async Rust over the handle, each with its
//! properties and its published mistakes beside it.
//!
//! A recipe touches nothing but [`vivarium_model::handle::ZooKeeper`]: it owns no clock, thread,
//! socket or random number. So the source that the simulator and the explorer run is the source
//! that a service uses.

#![forbid(unsafe_code)]

pub mod helpers;
pub mod lock;
