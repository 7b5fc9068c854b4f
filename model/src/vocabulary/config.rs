//! The settings that stay fixed during a run: sizes, limits, timeouts, and the release.

use crate::vocabulary::file_system::{FileSystem, Metadata};
use crate::vocabulary::hierarchy::Hierarchy;
use crate::vocabulary::id::{ServerId, ServerSet};
use crate::vocabulary::quorum::QuorumVerifier;
use crate::vocabulary::release::{Bug, Bugs, Release};
use crate::vocabulary::session_order::SessionOrder;
use crate::vocabulary::setup::Setup;
use crate::vocabulary::time::Duration;
use crate::vocabulary::zxid::Zxid;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// How LOOKING servers elect a leader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Election {
    /// Fast leader election, with every notification (rule 5.3).
    #[default]
    Fast,
    /// An oracle: LOOKING servers exchange no notifications, and a [`crate::vocabulary::step::Step::Elect`] gives a
    /// quorum of them a leader in one step. A search uses it to spend its states on what follows an election. No
    /// client can miss a timeout in such a run either, so whatever only a clock could distinguish is left out (see
    /// [`crate::server::oracle`]).
    Oracle,
    /// The oracle, but *any* server of the quorum may become leader, whatever its epoch and zxid. Then the guards of
    /// ZAB, and not the election, decide who leads (rules 6.3.2 to 6.3.4).
    Any,
    /// Fast leader election with random votes: a server's vote for itself has a rank derived from its id and the
    /// round, in place of its epoch and zxid. Again the guards of ZAB decide, but with clocks and clients.
    ByLot,
}

impl Election {
    /// Returns true if leaders come from a [`crate::vocabulary::step::Step::Elect`].
    pub fn is_oracle(self) -> bool {
        matches!(self, Election::Oracle | Election::Any)
    }
}

/// `zookeeper.snapshotSizeFactor`: whether a leader synchronises a learner that lags behind committedLog from its
/// transaction log on disk (rule 6.4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TxnLogSync {
    /// A negative factor: the leader always sends such a learner a SNAP.
    Off,
    /// A factor of 0: the leader sends its log, however long.
    Unlimited,
    /// A factor in hundredths: the leader sends its log unless the part to send is longer than this fraction of the
    /// last snapshot. The model counts records against znodes and sessions, where servers count bytes of files.
    UpTo {
        /// Hundredths, from 1 to 100.
        percent: u8,
    },
}

impl Default for TxnLogSync {
    /// ZooKeeper's default, 0.33.
    fn default() -> TxnLogSync {
        TxnLogSync::UpTo { percent: 33 }
    }
}

impl TxnLogSync {
    /// The value for cases that were recorded before the field existed.
    fn of_older_cases() -> TxnLogSync {
        TxnLogSync::Off
    }

    /// Returns true if the leader may send a log of this many records, given the number of znodes and sessions in the
    /// last snapshot. A limit that rounds down to 0 means no limit, as in ZooKeeper.
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

/// Configuration of an ensemble and its clients. The names are ZooKeeper's where ZooKeeper has the setting.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Config {
    /// Number of servers: voters, observers, and those that only a reconfiguration makes members.
    pub servers: u8,
    /// How many of the servers are observers (rule 5.7.1): those after the voters.
    #[serde(default, skip_serializing_if = "none")]
    pub observers: u8,
    /// How many of the servers are in no configuration at first (rule 5.8.2): those with the highest ids, after the
    /// observers.
    #[serde(default, skip_serializing_if = "none")]
    pub joiners: u8,
    /// tickTime.
    pub tick: Duration,
    /// initLimit, ticks.
    pub init_limit: u32,
    /// syncLimit, ticks.
    pub sync_limit: u32,
    /// commitLogCount: transactions kept in memory for DIFF (500 in production).
    pub commit_log_count: usize,
    /// Whether a leader sends transactions older than those from its transaction log.
    #[serde(default = "TxnLogSync::of_older_cases")]
    pub txn_log_sync: TxnLogSync,
    /// snapCount: transactions after which a server takes a snapshot; `u32::MAX` means never.
    pub snap_count: u32,
    /// Znodes written per step of a snapshot. Transactions applied between two such steps make the snapshot fuzzy.
    pub snapshot_piece: usize,
    /// One entry per client machine.
    pub clients: Vec<ClientConfig>,
    /// The defects of the servers.
    pub bugs: Bugs,
    /// How leaders are elected.
    #[serde(default)]
    pub election: Election,
    /// ZooKeeper's system properties.
    #[serde(default)]
    pub options: ServerOptions,
    /// A coarser grain for searches: a server applies a transaction in the step in which it learns of the commit
    /// (rule 4.5.8 is left out). Cases recorded before the model separated the two steps use this grain.
    #[serde(default = "of_older_cases")]
    pub applies_at_once: bool,
    /// The znodes that every server's database contains at the start of the run.
    #[serde(default)]
    pub setup: Setup,
    /// The order in which the servers' file systems make changes of directories and of file lengths durable.
    #[serde(default, skip_serializing_if = "Metadata::is_default")]
    pub metadata: Metadata,
    /// The order of session ids at the service grain, where no server issues them.
    #[serde(default, skip_serializing_if = "SessionOrder::is_default")]
    pub session_order: SessionOrder,
    /// Whether the leader deletes containers and TTL znodes at the service grain
    /// ([`Step::DeleteContainer`](crate::vocabulary::step::Step::DeleteContainer)). An ensemble's leader always does.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deletes_containers: bool,
    /// Whether clients outside of the run connect to the servers ([`crate::vocabulary::outside`]).
    #[serde(default, skip_serializing_if = "is_false")]
    pub outside: bool,
    /// How often each server was started before the run. The ids of sessions depend on it, so ensembles that are served one
    /// after the other do not give the same ids to different sessions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub earlier_starts: u16,
}

fn none(number: &u8) -> bool {
    *number == 0
}

fn is_zero(number: &u16) -> bool {
    *number == 0
}

/// ZooKeeper's system properties that clients can observe, with ZooKeeper's defaults.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerOptions {
    /// `minSessionTimeout`; two ticks if absent.
    pub min_session_timeout: Option<Duration>,
    /// `maxSessionTimeout`; twenty ticks if absent.
    pub max_session_timeout: Option<Duration>,
    /// `zookeeper.skipACL`: servers check no permissions.
    pub skip_acl: bool,
    /// `zookeeper.DigestAuthenticationProvider.superDigest`: a client that proves this `user:digest` has all
    /// permissions everywhere.
    pub super_digest: Option<Arc<str>>,
    /// `zookeeper.enforceQuota`: servers refuse writes beyond a hard limit (rule 1.10.1).
    pub enforce_quota: bool,
    /// `zookeeper.extendedTypesEnabled`: clients can create TTL znodes (rule 1.5.2).
    pub extended_types: bool,
    /// `znode.container.checkIntervalMs`: the interval at which the leader searches for containers and TTL znodes to
    /// delete.
    pub container_check_interval: Duration,
    /// `znode.container.maxPerMinute`: the most deletions of containers and TTL znodes that the leader requests per
    /// minute; at least 1.
    pub max_container_deletions: u32,
    /// `znode.container.maxNeverUsedIntervalMs`: the leader deletes a container that never had a child once its data
    /// has not changed for longer than this; `None` for never.
    pub max_never_used_interval: Option<Duration>,
    /// `jute.maxbuffer`, bytes: a longer packet breaks its connection (rule 1.11.1).
    pub max_buffer: usize,
    /// `zookeeper.jute.maxbuffer.extrasize`, bytes: how far a record may exceed `jute.maxbuffer` when a server reads
    /// it from another server or from its disk. `None` means as much as `jute.maxbuffer` (rule 1.11.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_buffer_extra: Option<usize>,
    /// `readonlymode.enabled`: a server without a quorum serves reads (rule 2.7.1).
    pub read_only_mode: bool,
    /// `localSessionsEnabled`: a session begins without a transaction (rule 2.6.1).
    pub local_sessions: bool,
    /// `localSessionsUpgradingEnabled`: the first ephemeral makes a local session a global one.
    pub local_sessions_upgrading: bool,
    /// `zookeeper.forward_learner_requests_to_commit_processor_disabled` (ZOOKEEPER-3690): a leader does not order a
    /// session's requests after those that the same session sent through a learner (rule 4.5.7).
    pub forward_learner_requests_to_commit_processor_disabled: bool,
    /// `reconfigEnabled`: the ensemble's members can change (rule 5.8).
    #[serde(skip_serializing_if = "is_false")]
    pub reconfig_enabled: bool,
    /// The lines `group.N` and `weight.N` of the first configuration: which servers are a quorum (rule 5.8.11). Each voter
    /// must be in a group. `None` for a majority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hierarchy: Option<Hierarchy>,
    /// `standaloneEnabled`: a configuration with a single voter is refused.
    #[serde(skip_serializing_if = "is_true")]
    pub standalone_enabled: bool,
    /// `syncEnabled`: an observer logs transactions and writes snapshots. Without, only a synchronisation by SNAP or TRUNC
    /// writes what it has to disk (rule 5.7.7).
    #[serde(skip_serializing_if = "is_true")]
    pub observer_sync_enabled: bool,
    /// `observerMasterPort` at every server: an observer connects to a follower in place of the leader (rule 5.9).
    #[serde(skip_serializing_if = "is_false")]
    pub observer_masters: bool,
    /// `zookeeper.observerMaster.sizeLimit`, bytes: how much a follower keeps of what it has sent to observers (rule 5.9.5).
    #[serde(skip_serializing_if = "is_default_size_limit")]
    pub observer_master_size_limit: usize,
    /// The release whose operations the servers know (rule 4.2.2); all of them by default.
    #[serde(skip_serializing_if = "is_repaired")]
    pub operations_of: Release,
    /// The counter at which a leader proposes no more and leaves its role (rule 4.1.2). ZooKeeper's is 0xFFFFFFFF; a run
    /// meets the end of the counter only with a smaller one. At least 2.
    #[serde(skip_serializing_if = "is_largest")]
    pub largest_counter: u32,
}

/// The default of `zookeeper.observerMaster.sizeLimit`, in bytes.
const OBSERVER_MASTER_SIZE_LIMIT: usize = 32 * 1024 * 1024;

/// The least that servers add to `jute.maxbuffer` where they read records, in bytes.
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
            reconfig_enabled: false,
            hierarchy: None,
            standalone_enabled: true,
            observer_sync_enabled: true,
            observer_masters: false,
            observer_master_size_limit: OBSERVER_MASTER_SIZE_LIMIT,
            operations_of: Release::Repaired,
            largest_counter: u32::MAX,
        }
    }
}

impl ServerOptions {
    /// Returns the leader's pause between two deletions of containers, in whole milliseconds.
    pub fn between_container_deletions(&self) -> Duration {
        Duration::from_millis(60_000 / u64::from(self.max_container_deletions.max(1)))
    }

    /// Returns what the options ask for that servers of their release have not, and the first release that has it.
    ///
    /// ```
    /// use vivarium_model::config::ServerOptions;
    /// use vivarium_model::release::Release;
    ///
    /// let missing = |operations_of| {
    ///     let reconfig_enabled = true;
    ///     ServerOptions { reconfig_enabled, operations_of, ..ServerOptions::default() }.missing()
    /// };
    /// assert_eq!(missing(Release::V3_4_14), Some(("dynamic reconfiguration", "3.5.0")));
    /// assert_eq!(missing(Release::V3_5_10), None);
    /// ```
    pub fn missing(&self) -> Option<(&'static str, &'static str)> {
        let release = self.operations_of;
        if self.reconfig_enabled && !release.has_config_znode() {
            return Some(("dynamic reconfiguration", "3.5.0"));
        }
        let without = self.observer_masters && !release.has_observer_masters();
        without.then_some(("observer masters", "3.6.0"))
    }

    /// Returns the longest record that a server reads from another server or from its disk, in bytes (rule 1.11.2).
    pub fn longest_record(&self) -> usize {
        let extra = self.max_buffer_extra.unwrap_or(self.max_buffer);
        self.max_buffer.saturating_add(extra.max(LEAST_EXTRA))
    }
}

/// Configuration of one client machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClientConfig {
    /// The session timeout that the client requests; servers clamp it to 2..=20 ticks by default (rule 2.1.3).
    pub session_timeout: Duration,
    /// The client's list of servers, in the order in which it tries them.
    pub servers: Vec<ServerId>,
    /// The client's IP address as servers see it.
    #[serde(default = "localhost")]
    pub address: Arc<str>,
    /// Whether the client accepts a read-only server (`canBeReadOnly`; rule 2.7.3).
    #[serde(default)]
    pub can_be_read_only: bool,
    /// Whether the client gives up its session after it received nothing for 4/3 of the timeout, as clients do since
    /// 3.9.3 (ZOOKEEPER-4508; rule 2.8.3).
    #[serde(default)]
    pub expires_locally: bool,
    /// Whether a lost connection ends the client's watches; otherwise the client sets them again at the next server
    /// (`zookeeper.disableAutoWatchReset`; rule 3.4.3).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disable_auto_watch_reset: bool,
    /// Whether the client's program is a service, which may wait or run for ever without finishing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub serves: bool,
    /// The chroot, prepended to every path of the program; empty for none. Events and monitors see whole paths; the
    /// program's own observations contain paths as the program knows them.
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

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_repaired(release: &Release) -> bool {
    *release == Release::Repaired
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_largest(counter: &u32) -> bool {
    *counter == u32::MAX
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_true(set: &bool) -> bool {
    *set
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_default_size_limit(bytes: &usize) -> bool {
    *bytes == OBSERVER_MASTER_SIZE_LIMIT
}

/// The loopback address.
pub(crate) fn localhost() -> Arc<str> {
    Arc::from("127.0.0.1")
}

fn no_chroot() -> Arc<str> {
    Arc::from("")
}

impl ClientConfig {
    /// Returns a client with this list of servers and default settings.
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
    /// Returns true if there can be clients: machines of the configuration, or clients outside of the run.
    pub fn has_clients(&self) -> bool {
        self.outside || !self.clients.is_empty()
    }

    /// Returns true if the program of any client is a service.
    pub fn has_services(&self) -> bool {
        self.clients.iter().any(|client| client.serves)
    }

    /// Returns an ensemble without defects, with ZooKeeper's default timings and `clients` equal clients.
    pub fn new(servers: u8, clients: u8) -> Config {
        let list: Vec<ServerId> = (1..=servers).map(ServerId).collect();
        let client = |at: u8| {
            let mut servers = list.clone();
            servers.rotate_left(usize::from(at) % list.len().max(1));
            ClientConfig::new(Duration::from_secs(6), servers)
        };
        Config {
            servers,
            observers: 0,
            joiners: 0,
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
            outside: false,
            earlier_starts: 0,
        }
    }

    /// Returns the number of logged transactions after which the next one starts a background snapshot at `server`,
    /// or `None` if servers take none. A real server draws the number between half of snapCount and all of it, so
    /// that servers do not take snapshots at the same time; the model derives it from the server's id.
    pub fn snapshot_limit(&self, server: ServerId) -> Option<u32> {
        let half = (self.snap_count / 2).max(1);
        self.takes_snapshots().then(|| {
            half + (u64::from(half) * u64::from(server.0) / u64::from(self.servers)) as u32
        })
    }

    /// Returns true if servers take background snapshots.
    pub fn takes_snapshots(&self) -> bool {
        self.snap_count != u32::MAX
    }

    /// Returns the first configuration: its members, and which sets of them are quorums (rule 5.4.1).
    pub fn quorum_verifier(&self) -> QuorumVerifier {
        let (voters, members) = (self.voters(), self.first_members());
        let observers = ServerSet::first(members).difference(ServerSet::first(voters));
        QuorumVerifier::new(Zxid::ZERO, ServerSet::first(voters), observers)
            .with_hierarchy(self.options.hierarchy)
    }

    /// Returns the number of members of the first configuration: those with higher ids are to join.
    pub fn first_members(&self) -> u8 {
        self.servers - self.joiners
    }

    /// Returns the configuration in a server's files before its first start. One that is to join lists itself as an observer
    /// (rule 5.8.2).
    pub fn first_configuration(&self, server: ServerId) -> QuorumVerifier {
        self.quorum_verifier().with_observer(server)
    }

    /// Returns true if the server begins as an observer: it learns what is committed, and takes part in no quorum.
    pub fn is_observer(&self, server: ServerId) -> bool {
        server.0 > self.voters()
    }

    /// Returns true if observers connect to followers (rule 5.9.1). Where an oracle elects, they connect to the leader, because
    /// only a clock chooses their follower.
    pub fn has_observer_masters(&self) -> bool {
        self.options.observer_masters && !self.election.is_oracle()
    }

    /// Returns the number of voters of the first configuration.
    fn voters(&self) -> u8 {
        self.servers - self.observers - self.joiners
    }

    /// Returns the ids of all servers.
    pub fn server_ids(&self) -> impl Iterator<Item = ServerId> + use<> {
        (1..=self.servers).map(ServerId)
    }

    /// Returns the behaviour of the servers' file systems.
    pub fn file_system(&self) -> FileSystem {
        let directories_synced = !self.bugs.has(Bug::RenameUnsynced);
        FileSystem { metadata: self.metadata, directories_synced }
    }

    /// Clamps a session timeout to minSessionTimeout and maxSessionTimeout.
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
