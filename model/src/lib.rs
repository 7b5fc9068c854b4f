//! What ZooKeeper is: pure state machines, the world and its steps, and the monitors.
//!
//! Nothing here knows a clock, a thread, a socket or a random number: every machine is input in,
//! effects out, and all of it is `Clone + Eq + Hash`.
//!
//! A number such as `rule 6.7.1` is that of a rule of ZooKeeper in `RULES.md`, the book of this
//! crate; there are also its known defects ([`release::Bug`]) and the register of the properties
//! (S5, H4).

//!
//! Without the feature `world`, on by default, the crate is what a client needs: [`handle`], [`client`], [`wire`] and
//! the vocabulary.

#![cfg_attr(not(feature = "world"), allow(dead_code, reason = "the world uses it"))]

pub mod client;
#[cfg(feature = "world")]
pub mod ensemble;
#[cfg(feature = "world")]
pub mod network;
#[cfg(feature = "world")]
pub mod portrait;
mod program;
#[cfg(feature = "world")]
pub mod property;
#[cfg(feature = "world")]
mod record;
#[cfg(feature = "world")]
pub mod server;
#[cfg(feature = "world")]
pub mod service;
#[cfg(feature = "world")]
pub mod tree;
mod vocabulary;
#[cfg(feature = "world")]
pub mod watch;
pub mod wire;
#[cfg(feature = "world")]
pub mod world;

#[cfg(feature = "world")]
pub use program::machines;
pub use program::{exchange, handle, host};
#[cfg(feature = "world")]
pub use record::{case, extent, mark, trace, verdict};
pub use vocabulary::{
    acl, bounds, config, effect, error, event, file_system, fingerprint, hierarchy, id, named,
    note, observation, op, outside, packet, parcel, path, quorum, reconfiguration, release,
    session_order, setup, stat, step, subject, time, timer, txn, words, zxid,
};
#[cfg(feature = "world")]
pub use world::{grain, history, witnesses};
