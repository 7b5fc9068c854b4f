//! The kinds of servers, and what only a leader knows.

use std::net::SocketAddr;

/// The kind of server that runs.
#[derive(Clone, Debug, Default)]
pub enum Role {
    /// The only server.
    #[default]
    Standalone,
    /// The leader of an ensemble.
    Leader(Leading),
    /// A voting or non-voting follower.
    Follower {
        /// The observers that this follower serves as their master; `None` if it is no observer master.
        synced_observers: Option<u64>,
    },
    /// An observer.
    Observer {
        /// The server from which the observer learns, -1 if there is none.
        learner_master: i64,
    },
    /// A server without a quorum that serves clients which accept a read-only server.
    ReadOnly,
}

impl Role {
    /// Returns the name of the role as `Mode` of `srvr` prints it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Role::Standalone => "standalone",
            Role::Leader(_) => "leader",
            Role::Follower { .. } => "follower",
            Role::Observer { .. } => "observer",
            Role::ReadOnly => "read-only",
        }
    }

    /// Returns true for a leader, follower or observer.
    pub(super) fn is_quorum_server(&self) -> bool {
        matches!(self, Role::Leader(_) | Role::Follower { .. } | Role::Observer { .. })
    }

    /// Returns true if the server follows the sessions' timeouts without expiring them.
    pub(super) fn is_learner(&self) -> bool {
        matches!(self, Role::Follower { .. } | Role::Observer { .. } | Role::ReadOnly)
    }
}

/// The state that only a leader has.
#[derive(Clone, Debug, Default)]
pub struct Leading {
    /// The learners that are connected, followers and observers.
    pub learners: u64,
    /// The voting followers that are synchronised.
    pub synced_followers: u64,
    /// The followers without a vote that are synchronised.
    pub synced_non_voting_followers: u64,
    /// The `sync` requests that wait for a commit.
    pub pending_syncs: u64,
    /// The time since the leader's election.
    pub uptime: i64,
    /// The sizes of proposals in bytes.
    pub proposals: BufferStats,
    /// The observers that are synchronised.
    pub observers: Vec<LearnerHandler>,
}

/// A learner's connection to its leader, seen by the leader.
#[derive(Clone, Debug)]
pub struct LearnerHandler {
    /// The learner's address.
    pub remote: SocketAddr,
    /// The learner's server id.
    pub sid: i64,
    /// The wall-clock time at which the connection was established.
    pub established: i64,
    /// The packets that wait to be sent.
    pub queued_packets: u64,
    /// The bytes of the packets that wait to be sent. A real leader subtracts the bytes of NEWLEADER and
    /// UPTODATE without having added them, so the number can be negative.
    pub queued_packets_size: i64,
    /// The packets received.
    pub packets_received: u64,
    /// The packets sent.
    pub packets_sent: u64,
    /// The requests received.
    pub requests: u64,
    /// The zxid of the last packet sent, -1 if there was none.
    pub last_zxid: i64,
}

/// The sizes of buffers in bytes, each -1 until there was one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BufferStats {
    pub last: i32,
    pub min: i32,
    pub max: i32,
}

impl Default for BufferStats {
    fn default() -> BufferStats {
        BufferStats { last: -1, min: -1, max: -1 }
    }
}
