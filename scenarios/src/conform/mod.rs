//! Compares the model with a real ZooKeeper: servers as child processes, and connections that speak its protocol.
//!
//! The simulator's statements about ZooKeeper are only worth something if ZooKeeper agrees. [`RealServer`] and
//! [`RealEnsemble`] run Apache ZooKeeper from the packages of the system, and a [`Connection`] carries the model's own
//! packets to it and back.
//!
//! A comparison runs the same actions on a real ZooKeeper and on the model, and compares what clients receive, packet
//! by packet.
//!
//! | File | What |
//! |---|---|
//! | `action`, `draw` | what is done: few paths, versions and identities, drawn with weights. An action names seats and paths by place, so any selection of actions is a script |
//! | `servers`, `server`, `process`, `install`, `releases`, `options` | real servers as child processes, of the installed package or of a release in the cache folder; for three servers, the twin of each in the model |
//! | `connection`, [`wire`](vivarium_model::wire) | packets as bytes, over a socket |
//! | [`Replica`](vivarium_sim::replica::Replica) | the model's side: an ensemble under the oracle's election, whose clients are outside of the run; recorded as a case and judged by the monitors of servers |
//! | `pair`, `heard` | a client of both; what it receives, in a form in which two servers can be compared: zxids from the case's root, sessions by order, sets in order, no times |
//! | `lockstep`, `lockstep/journeys` | a case: a root of its own, the actions, news for every client, a read of every znode, the deletion of all |
//! | `shrink`, `report` | the shortest script that shows a divergence, and both answers |
//! | [`release`](vivarium_model::release) | what a release does otherwise: the model has the defects of its table, and nothing else is excused |
//!
//! Within a case the client that acted receives its answer from both. A client that has news in the model receives all
//! of it from the real server by a ping; in an ensemble by a write that fails, because only a write shows that a server
//! has applied all before it. The ephemerals of a closing session go in the order of a hash set there: their events may
//! come in any order, but a child watch fires with the first of them.

mod action;
mod connection;
mod draw;
mod error;
mod heard;
mod install;
mod lockstep;
mod members;
mod options;
mod pair;
mod plan;
pub(crate) mod process;
mod releases;
pub mod report;
mod run;
mod server;
mod servers;
mod shrink;
mod tally;

pub use action::{Action, Seat, Watched};

pub use connection::{Connection, Received};
pub use error::ConformError;
pub use heard::Heard;
pub use install::Installation;
pub use lockstep::Divergence;
pub(crate) use options::Member;
pub use options::Options;
pub use pair::Both;
pub use plan::{Plan, Setting, setup};
pub use releases::{COMPARED, defects, get};
pub use run::{Outcome, run};
pub use server::{RealEnsemble, RealServer};
pub use servers::Servers;
pub use shrink::Finding;
pub use tally::Tally;
