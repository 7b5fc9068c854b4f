//! What ZooKeeper is: pure state machines, the world and its steps, and the monitors.
//!
//! Nothing here knows a clock, a thread, a socket or a random number: every machine is input in,
//! effects out, and all of it is `Clone + Eq + Hash`.

pub mod acl;
pub mod case;
pub mod client;
pub mod config;
pub mod effect;
pub mod ensemble;
pub mod error;
pub mod event;
pub mod fingerprint;
pub mod ghosts;
pub mod grain;
pub mod handle;
pub mod history;
pub mod host;
pub mod id;
pub mod machines;
pub mod mark;
pub mod network;
pub mod op;
pub mod packet;
pub mod path;
pub mod property;
pub mod release;
pub mod server;
pub mod service;
pub mod setup;
pub mod stat;
pub mod step;
pub mod time;
pub mod timer;
pub mod trace;
pub mod tree;
pub mod txn;
pub mod verdict;
pub mod watch;
pub mod wire;
pub mod words;
pub mod world;
pub mod zxid;
