//! What is fixed for the length of a run: sizes, limits, timeouts, and the release.

use crate::vocabulary::file_system::{FileSystem, Metadata};
use crate::vocabulary::id::ServerId;
use crate::vocabulary::quorum::QuorumVerifier;
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::session_order::SessionOrder;
use crate::vocabulary::setup::Setup;
use crate::vocabulary::time::Duration;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// How servers that are LOOKING come to a leader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Election {
    /// Fast leader election, notification by notification (rule 5.3).
    #[default]
    Fast,
    /// An oracle: LOOKING servers exchange nothing, and a [`crate::vocabulary::step::Step::Elect`] gives a quorum
    /// of them its leader in one step. For searches, which would otherwise see more of elections
    /// than of what they lead to. A run under the oracle has no clients' timers to miss either, so
    /// whatever only a clock could tell apart is dropped (see [`crate::server::oracle`]).
    Oracle,
    /// The oracle's, whose leader is *any* of the quorum, whatever its epoch and zxid: then ZAB's own guards
    /// decide who comes to lead (rules 6.3.2 to 6.3.4), and not the election.
    Any,
    /// The election of the code, in which a server votes by lot: in each round one for each server, which says
    /// nothing of its history. ZAB's guards decide here too, among servers with clocks and clients.
    ByLot,
}

impl Election {
    /// Whether leaders come from a [`crate::vocabulary::step::Step::Elect`]: the oracle's, or any.
    pub fn is_oracle(self) -> bool {
        matches!(self, Election::Oracle | Election::Any)
    }
}

/// `zookeeper.snapshotSizeFactor`: whether a leader brings a learner that is too old for committedLog up to
/// date from its transaction log on disk (rule 6.4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TxnLogSync {
    /// A negative factor: never, such a learner gets a SNAP.
    Off,
    /// A factor of 0: however long the log is.
    Unlimited,
    /// A factor of so many hundredths: unless the log from there on is longer than this part of the last
    /// snapshot. The model counts records against znodes and sessions, where servers count bytes of files.
    UpTo {
        /// Hundredths, from 1 to 100.
        percent: u8,
    },
}

impl Default for TxnLogSync {
    /// ZooKeeper's own.
    fn default() -> TxnLogSync {
        TxnLogSync::UpTo { percent: 33 }
    }
}

impl TxnLogSync {
    /// What cases were recorded with that do not say.
    fn of_older_cases() -> TxnLogSync {
        TxnLogSync::Off
    }

    /// Whether a log of so many records may be sent, where the last snapshot holds so many znodes and
    /// sessions. A limit that is rounded down to 0 is none, as in ZooKeeper.
    pub fn allows(self, records: usize, snapshot: usize) -> bool {
        match self {
            TxnLogSync::Off => false,
            TxnLogSync::Unlimited => true,
            TxnLogSync::UpTo { percent } => {
                let limit = snapshot * usize::from(percent) / 100;
                limit == 0 || records <= limit
            }
        }
    }
}

impl fmt::Display for TxnLogSync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TxnLogSync::Off => f.write_str("-1"),
            TxnLogSync::Unlimited => f.write_str("0"),
            TxnLogSync::UpTo { percent } => write!(f, "{}.{:02}", percent / 100, percent % 100),
        }
    }
}

/// Configuration of an ensemble and its clients (ZooKeeper's own names where it has them).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Config {
    /// Number of servers, all of them voters.
    pub servers: u8,
    /// tickTime.
    pub tick: Duration,
    /// initLimit, ticks.
    pub init_limit: u32,
    /// syncLimit, ticks.
    pub sync_limit: u32,
    /// commitLogCount: transactions kept in memory for DIFF (500 in production).
    pub commit_log_count: usize,
    /// Whether a leader sends what is older than that from its transaction log.
    #[serde(default = "TxnLogSync::of_older_cases")]
    pub txn_log_sync: TxnLogSync,
    /// snapCount: transactions after which a server takes a snapshot; `u32::MAX` means never.
    pub snap_count: u32,
    /// Znodes per piece of a snapshot: the grain at which it is fuzzy.
    pub snapshot_piece: usize,
    /// One entry per client machine.
    pub clients: Vec<ClientConfig>,
    /// Which defects the servers have.
    pub bugs: Bugs,
    /// How leaders are elected.
    #[serde(default)]
    pub election: Election,
    /// What servers are told beside.
    #[serde(default)]
    pub options: ServerOptions,
    /// A coarser grain, for searches: what is committed at a server is applied there in the same step
    /// (rule 4.5.8 is left out). Cases that were recorded before servers kept the two apart are of this
    /// grain.
    #[serde(default = "of_older_cases")]
    pub applies_at_once: bool,
    /// What is in every server's database from the start.
    #[serde(default)]
    pub setup: Setup,
    /// When the file systems of servers make changes of directories and of files' lengths durable.
    #[serde(default, skip_serializing_if = "Metadata::is_default")]
    pub metadata: Metadata,
    /// How session ids are ordered at the service grain, where no server issues them.
    #[serde(default, skip_serializing_if = "SessionOrder::is_default")]
    pub session_order: SessionOrder,
    /// Whether the leader deletes containers and TTL znodes at the service grain
    /// ([`Step::DeleteContainer`](crate::vocabulary::step::Step::DeleteContainer)). In an ensemble it always does.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deletes_containers: bool,
}

/// ZooKeeper's system properties that clients notice, with ZooKeeper's own defaults.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerOptions {
    /// `minSessionTimeout`; two ticks if absent.
    pub min_session_timeout: Option<Duration>,
    /// `maxSessionTimeout`; twenty ticks if absent.
    pub max_session_timeout: Option<Duration>,
    /// `zookeeper.skipACL`: no permission is asked for.
    pub skip_acl: bool,
    /// `zookeeper.DigestAuthenticationProvider.superDigest`: whoever proves this `user:digest` may do
    /// everything.
    pub super_digest: Option<Arc<str>>,
    /// `zookeeper.enforceQuota`: hard limits refuse writes (rule 1.10.1).
    pub enforce_quota: bool,
    /// `zookeeper.extendedTypesEnabled`: TTL znodes exist (rule 1.5.2).
    pub extended_types: bool,
    /// `znode.container.checkIntervalMs`: how often the leader looks for containers and TTL znodes to
    /// delete.
    pub container_check_interval: Duration,
    /// `znode.container.maxPerMinute`: how many deletions of containers and TTL znodes the leader asks for in
    /// a minute at most; 1 or more.
    pub max_container_deletions: u32,
    /// `znode.container.maxNeverUsedIntervalMs`: a container that never had a child is deleted when
    /// its data have not changed for longer than this; `None` for never.
    pub max_never_used_interval: Option<Duration>,
    /// `jute.maxbuffer`, bytes: a longer packet breaks its connection (rule 1.11.1).
    pub max_buffer: usize,
    /// `zookeeper.jute.maxbuffer.extrasize`, bytes: how much longer than that a record may be that a server reads from
    /// another one or from its disk; as long again if absent (rule 1.11.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_buffer_extra: Option<usize>,
    /// `readonlymode.enabled`: a server without a quorum serves reads (rule 2.7.1).
    pub read_only_mode: bool,
    /// `localSessionsEnabled`: sessions begin without a transaction (rule 2.6.1).
    pub local_sessions: bool,
    /// `localSessionsUpgradingEnabled`: the first ephemeral makes a local session a global one.
    pub local_sessions_upgrading: bool,
    /// `zookeeper.forward_learner_requests_to_commit_processor_disabled` (ZOOKEEPER-3690): a leader does not
    /// keep what a session asks of it behind what the session has asked by a learner (rule 4.5.7).
    pub forward_learner_requests_to_commit_processor_disabled: bool,
}

/// What servers add to `jute.maxbuffer` at least, in bytes, where they read records.
const LEAST_EXTRA: usize = 1024;

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            min_session_timeout: None,
            max_session_timeout: None,
            skip_acl: false,
            super_digest: None,
            enforce_quota: false,
            extended_types: false,
            container_check_interval: Duration::from_secs(60),
            max_container_deletions: 10_000,
            max_never_used_interval: None,
            max_buffer: 0xf_ffff,
            max_buffer_extra: None,
            read_only_mode: false,
            local_sessions: false,
            local_sessions_upgrading: false,
            forward_learner_requests_to_commit_processor_disabled: false,
        }
    }
}

impl ServerOptions {
    /// How long the leader waits between two deletions of containers, in whole milliseconds.
    pub fn between_container_deletions(&self) -> Duration {
        Duration::from_millis(60_000 / u64::from(self.max_container_deletions.max(1)))
    }

    /// The longest record that a server reads from another one or from its disk, in bytes (rule 1.11.2).
    pub fn longest_record(&self) -> usize {
        let extra = self.max_buffer_extra.unwrap_or(self.max_buffer);
        self.max_buffer.saturating_add(extra.max(LEAST_EXTRA))
    }
}

/// Configuration of one client machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClientConfig {
    /// The session timeout it asks for; servers clamp it to 2..=20 ticks (rule 2.1.3).
    pub session_timeout: Duration,
    /// Its list of servers, already shuffled.
    pub servers: Vec<ServerId>,
    /// Its IP address, as servers see it.
    #[serde(default = "localhost")]
    pub address: Arc<str>,
    /// Whether a read-only server will do (`canBeReadOnly`; rule 2.7.3).
    #[serde(default)]
    pub can_be_read_only: bool,
    /// Whether it gives its session up by itself when it has heard nothing for 4/3 of the timeout, as
    /// clients do since 3.9.3 (ZOOKEEPER-4508; rule 2.8.3).
    #[serde(default)]
    pub expires_locally: bool,
    /// Whether a lost connection ends its watches, instead of their being set again at the next server
    /// (`zookeeper.disableAutoWatchReset`; rule 3.4.3).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disable_auto_watch_reset: bool,
    /// Whether its program is a service, which need not finish: it may wait, or go on, for ever.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub serves: bool,
    /// What every path of its program is put behind (chroot); empty for none. Events and monitors see
    /// whole paths; what the program observes of its own it names as it knows it.
    #[serde(default = "no_chroot")]
    pub chroot: Arc<str>,
}

fn of_older_cases() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(set: &bool) -> bool {
    !set
}

fn localhost() -> Arc<str> {
    Arc::from("127.0.0.1")
}

fn no_chroot() -> Arc<str> {
    Arc::from("")
}

impl ClientConfig {
    /// A client with this list of servers, and nothing special about it.
    pub fn new(session_timeout: Duration, servers: Vec<ServerId>) -> ClientConfig {
        ClientConfig {
            session_timeout,
            servers,
            address: localhost(),
            can_be_read_only: false,
            expires_locally: false,
            disable_auto_watch_reset: false,
            serves: false,
            chroot: no_chroot(),
        }
    }
}

impl Config {
    /// Whether any client's program is a service.
    pub fn has_services(&self) -> bool {
        self.clients.iter().any(|client| client.serves)
    }

    /// A quiet ensemble with production's timings and `clients` alike.
    pub fn new(servers: u8, clients: u8) -> Config {
        let list: Vec<ServerId> = (1..=servers).map(ServerId).collect();
        let client = |at: u8| {
            let mut servers = list.clone();
            servers.rotate_left(usize::from(at) % list.len().max(1));
            ClientConfig::new(Duration::from_secs(6), servers)
        };
        Config {
            servers,
            tick: Duration::from_secs(2),
            init_limit: 10,
            sync_limit: 5,
            commit_log_count: 500,
            txn_log_sync: TxnLogSync::default(),
            snap_count: 100_000,
            snapshot_piece: 4,
            clients: (0..clients).map(client).collect(),
            bugs: Bugs::NONE,
            election: Election::Fast,
            options: ServerOptions::default(),
            applies_at_once: false,
            setup: Setup::NONE,
            metadata: Metadata::default(),
            session_order: SessionOrder::default(),
            deletes_containers: false,
        }
    }

    /// After how many logged transactions the next one begins a background snapshot at a server, if it may. (The real
    /// count is drawn between half of snapCount and all of it, so that servers do not all snapshot at once; here the
    /// server's id staggers them.)
    pub fn snapshot_limit(&self, server: ServerId) -> Option<u32> {
        let half = (self.snap_count / 2).max(1);
        self.takes_snapshots().then(|| {
            half + (u64::from(half) * u64::from(server.0) / u64::from(self.servers)) as u32
        })
    }

    /// Whether servers take background snapshots at all.
    pub fn takes_snapshots(&self) -> bool {
        self.snap_count != u32::MAX
    }

    /// Which sets of servers are quorums (rule 5.4.1).
    pub fn quorum_verifier(&self) -> QuorumVerifier {
        QuorumVerifier::Majority { voters: self.servers }
    }

    /// All servers.
    pub fn server_ids(&self) -> impl Iterator<Item = ServerId> + use<> {
        (1..=self.servers).map(ServerId)
    }

    /// The file systems of servers.
    pub fn file_system(&self) -> FileSystem {
        let directories_synced = !self.bugs.has(Bug::RenameUnsynced);
        FileSystem { metadata: self.metadata, directories_synced }
    }

    /// A session timeout clamped to minSessionTimeout and maxSessionTimeout.
    pub fn negotiate(&self, timeout: Duration) -> Duration {
        let least = self.options.min_session_timeout.unwrap_or(self.tick * 2);
        let most = self.options.max_session_timeout.unwrap_or(self.tick * 20);
        timeout.max(least).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_that_does_not_say_is_of_the_coarser_grain() {
        let mut written = serde_json::to_value(Config::new(3, 1)).expect("it has a form in JSON");
        let fields = written.as_object_mut().expect("a configuration has fields");
        assert_eq!(fields.remove("applies_at_once"), Some(false.into()));
        let read: Config = serde_json::from_value(written).expect("older configurations are read");
        assert_eq!(read, Config { applies_at_once: true, ..Config::new(3, 1) });
    }

    #[test]
    fn a_record_can_be_longer_than_a_packet_by_as_much_again_or_what_is_said_or_1024_bytes() {
        let longest = |max_buffer, max_buffer_extra| {
            ServerOptions { max_buffer, max_buffer_extra, ..ServerOptions::default() }
                .longest_record()
        };
        assert_eq!(longest(0xf_ffff, None), 2_097_150);
        assert_eq!(longest(10_000, Some(2_000)), 12_000);
        assert_eq!((longest(100, None), longest(100, Some(0))), (1_124, 1_124));
        assert_eq!(longest(usize::MAX, None), usize::MAX, "without end");
    }
}
