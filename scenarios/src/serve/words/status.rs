//! The state of a server, as far as four-letter words and admin commands print it.

use super::connection::Connection;
use super::database::Database;
use super::json::Json;
use super::peer::Peer;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The state of one server at one moment.
///
/// Session ids and zxids are signed, as in Java. Times are milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Decides between the answers of releases.
    pub release: Release,
    /// The full version, such as `3.8.0-5a02a05, built on 2022-02-25 08:49 UTC`.
    pub version: String,
    /// False while the server looks for a leader: most words and commands are then refused.
    pub serving: bool,
    /// The kind of server that runs.
    pub role: Role,
    /// The server as a member of an ensemble; `None` for a standalone server.
    pub peer: Option<Peer>,
    /// The moment of this status.
    pub clock: Clock,
    /// The counters over all connections.
    pub stats: ServerStats,
    /// The open client connections, including the one that asks.
    pub connections: Vec<Connection>,
    /// The global sessions by id. A learner knows their timeouts, and the other servers know their expiry too.
    pub sessions: BTreeMap<i64, Session>,
    /// The replicated database.
    pub database: Database,
    /// The configuration of this server alone.
    pub configuration: Configuration,
    /// The keys and values of `envi`, in their order.
    pub environment: Vec<(String, String)>,
    /// The system properties of the virtual machine.
    pub system_properties: BTreeMap<String, String>,
    /// The mask that `gtmk` reads. A caller that executes `stmk` changes it before it asks for the answer.
    pub trace_mask: i64,
    /// Metrics of `mntr` besides those that follow from the other fields, by name without `zk_`.
    pub metrics: BTreeMap<String, Metric>,
}

impl Status {
    /// Returns the sizes that the server reports as those of `dataDir` and `dataLogDir`.
    pub(super) fn reported_sizes(&self) -> (u64, u64) {
        let Database { data_dir_size, data_log_dir_size, .. } = self.database;
        match self.release {
            Release::V3_8_0 => (data_log_dir_size, data_dir_size),
            Release::V3_9_5 => (data_dir_size, data_log_dir_size),
        }
    }

    /// Returns the peer of a leader, follower or observer; `None` for other roles.
    pub(super) fn quorum_peer(&self) -> Option<&Peer> {
        self.peer.as_ref().filter(|_| self.role.is_quorum_server())
    }
}

/// A release whose answers differ from those of others.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Release {
    /// 3.8.0 to 3.8.3, 3.9.0 and 3.9.1, which report the size of each of the two data directories as that of the other.
    #[default]
    V3_8_0,
    /// 3.9.5, and the releases since 3.8.4 and 3.9.2.
    V3_9_5,
}

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

/// The moment of a status on the server's two clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    /// Milliseconds since 1970.
    pub wall: i64,
    /// Milliseconds since an arbitrary moment. Expiry times are on this clock.
    pub elapsed: i64,
}

impl Clock {
    /// Returns the wall-clock time of a moment on the other clock.
    pub(super) fn wall_time(self, elapsed: i64) -> i64 {
        self.wall.saturating_add(elapsed.saturating_sub(self.elapsed))
    }
}

/// The counters of a server over all its connections.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerStats {
    pub min_latency: i64,
    /// The mean latency in milliseconds, which a server rounds to four digits after the point.
    pub avg_latency: f64,
    pub max_latency: i64,
    pub packets_received: u64,
    pub packets_sent: u64,
    /// The requests that the server has received and not answered.
    pub outstanding_requests: u64,
    pub uptime: i64,
    /// The sizes of responses in bytes.
    pub client_response: BufferStats,
    /// The requests for authentication that failed.
    pub auth_failed_count: u64,
    /// The writes to disk that took longer than the threshold for a warning.
    pub fsync_threshold_exceed_count: u64,
    /// The file descriptors in use, -1 if they are not known.
    pub open_file_descriptor_count: i64,
    /// The limit of file descriptors, -1 if it is not known.
    pub max_file_descriptor_count: i64,
}

/// A session as its tracker knows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Session {
    /// The negotiated timeout.
    pub timeout: i32,
    /// The time of the tick at which the session expires, on the clock of [`Clock::elapsed`].
    pub expires: i64,
}

/// The configuration of one server.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    pub client_port: u16,
    /// The port for TLS; `None` prints as -1.
    pub secure_client_port: Option<u16>,
    /// The absolute path of snapshots, with `version-2`.
    pub data_dir: String,
    /// The absolute path of transaction logs, with `version-2`.
    pub data_log_dir: String,
    pub tick_time: i32,
    /// The connections that one address may have, 0 without a limit.
    pub max_client_cnxns: i32,
    pub min_session_timeout: i32,
    pub max_session_timeout: i32,
    /// The length of the queue of connections that are not accepted yet, -1 for the default.
    pub client_port_listen_backlog: i32,
    /// The server's id, 0 for a standalone server.
    pub server_id: i64,
    /// The text of the configuration file.
    pub initial_configuration: String,
}

/// The value of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// A counter, or a gauge of whole numbers.
    Integer(i64),
    /// A mean or a ratio.
    Decimal(f64),
}

impl From<Metric> for Json {
    fn from(metric: Metric) -> Json {
        match metric {
            Metric::Integer(value) => Json::Integer(value),
            Metric::Decimal(value) => Json::Decimal(value),
        }
    }
}
