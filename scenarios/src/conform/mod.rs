//! Against a real ZooKeeper: servers as child processes, and connections that speak its protocol.
//!
//! What the simulator says about ZooKeeper is only worth something if ZooKeeper agrees. Here are the
//! means to ask it: [`RealServer`] and [`RealEnsemble`] run Apache ZooKeeper from the packages of the
//! system, and a [`Connection`] carries the model's own packets to it and back.

mod connection;
mod error;
mod install;
mod options;
mod process;
mod server;

pub use connection::{Connection, Received};
pub use error::ConformError;
pub use install::Installation;
pub use options::Options;
pub use server::{RealEnsemble, RealServer};
