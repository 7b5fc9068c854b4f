//! The state of a server, as far as four-letter words and admin commands print it.

use super::connection::Connection;
use super::database::Database;
use super::json::Json;
use super::peer::Peer;
use super::role::{BufferStats, Role};
use std::collections::BTreeMap;

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
