//! What ZooKeeper is: pure state machines, the world and its steps, and the monitors.
//!
//! Nothing here knows a clock, a thread, a socket or a random number: every machine is input in,
//! effects out, and all of it is `Clone + Eq + Hash`.
//!
//! A number such as `rule 6.7.1` is that of a rule of ZooKeeper in `RULES.md`, the book of this
//! crate; there are also its known defects ([`release::Bug`]) and the register of the properties
//! (S5, H4).

pub mod client;
pub mod ensemble;
pub mod network;
mod program;
pub mod property;
mod record;
pub mod server;
pub mod service;
pub mod tree;
mod vocabulary;
pub mod watch;
pub mod wire;
pub mod world;

pub use program::{exchange, handle, host, machines};
pub use record::{case, mark, trace, verdict};
pub use vocabulary::{
    acl, bounds, config, effect, error, event, file_system, fingerprint, id, named, note,
    observation, op, outside, packet, path, quorum, release, session_order, setup, stat, step,
    subject, time, timer, txn, words, zxid,
};
pub use world::{grain, history, witnesses};
