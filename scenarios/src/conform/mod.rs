//! Against a real ZooKeeper: servers as child processes, and connections that speak its protocol.
//!
//! What the simulator says about ZooKeeper is only worth something if ZooKeeper agrees. Here are the
//! means to ask it: [`RealServer`] and [`RealEnsemble`] run Apache ZooKeeper from the packages of the
//! system, and a [`Connection`] carries the model's own packets to it and back.

mod action;
mod connection;
pub mod divergences;
mod draw;
mod error;
mod heard;
mod install;
mod lockstep;
mod options;
mod pair;
mod plan;
pub(crate) mod process;
mod releases;
mod replica;
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
pub use options::Options;
pub use pair::Both;
pub use plan::{Finding, Plan, Setting, setup};
pub use releases::get;
pub use replica::Replica;
pub use run::{Outcome, run};
pub use server::{RealEnsemble, RealServer};
pub use servers::Servers;
pub use tally::Tally;
