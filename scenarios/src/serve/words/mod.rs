//! Four-letter words and admin commands: the answers of a server to operators and monitoring.
//!
//! A [`Status`] is the state of one server at one moment. [`Word::answer`] returns the text of a four-letter
//! word, and [`Command::run`] the response of an admin command. Both are functions of the status alone: a caller that
//! executes `srst`, `crst` or `stmk` changes its own counters ([`Word::reset`], [`Command::reset`]).
//!
//! The texts are those of ZooKeeper 3.8.0; [`Release`] has the differences of later releases. Where a server prints a
//! hash table, in an order that no client can rely on, the order here is fixed: sets are sorted, and metrics have the
//! order in which a server registers them.

mod admin;
mod commands;
mod connection;
mod database;
mod java;
mod json;
mod monitor;
mod peer;
mod role;
mod status;
mod text;
mod word;

pub use admin::{COMMANDS, Command, Response, links};
pub use connection::Connection;
pub use database::{Database, Digest, Snapshot};
pub use json::Json;
pub use peer::{Address, LearnerType, Member, Peer, SyncMode, ZabState};
pub use role::{BufferStats, Leading, LearnerHandler, Role};
pub use status::{Clock, Configuration, Metric, Release, ServerStats, Session, Status};
pub use word::{Whitelist, Word};

/// The answer to most words and commands while the server looks for a leader.
const NOT_SERVING: &str = "This ZooKeeper instance is not currently serving requests";

/// The counters that a word or a command sets to zero. The caller resets them after it has the answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reset {
    /// The latencies and packets of the server, its response sizes, its metrics and, of a leader by a word, its
    /// proposal sizes.
    Server,
    /// The packets, latencies and last operation of each connection.
    Connections,
}

#[cfg(test)]
mod tests;
