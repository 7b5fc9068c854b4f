//! What is fixed for the length of a run: sizes, limits, timeouts, and the release.

use crate::id::ServerId;
use crate::release::Bugs;
use crate::time::Duration;
use serde::{Deserialize, Serialize};

/// How servers that are LOOKING come to a leader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Election {
    /// Fast leader election, notification by notification (semantics 5).
    #[default]
    Fast,
    /// An oracle: LOOKING servers exchange nothing, and a [`crate::step::Step::Elect`] gives a quorum
    /// of them its leader in one step. For searches, which would otherwise see more of elections
    /// than of what they lead to. A run under the oracle has no clients' timers to miss either, so
    /// whatever only a clock could tell apart is dropped (see [`crate::server::oracle`]).
    Oracle,
}

impl Election {
    /// Whether it is the oracle.
    pub fn is_oracle(self) -> bool {
        self == Election::Oracle
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
}

/// Configuration of one client machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClientConfig {
    /// The session timeout it asks for; servers clamp it to 2..=20 ticks (semantics 2.1 rule 3).
    pub session_timeout: Duration,
    /// Its list of servers, already shuffled.
    pub servers: Vec<ServerId>,
}

impl Config {
    /// A quiet ensemble with production's timings and `clients` alike.
    pub fn new(servers: u8, clients: u8) -> Config {
        let list: Vec<ServerId> = (1..=servers).map(ServerId).collect();
        let client = |at: u8| {
            let mut servers = list.clone();
            servers.rotate_left(usize::from(at) % list.len().max(1));
            ClientConfig { session_timeout: Duration::from_secs(6), servers }
        };
        Config {
            servers,
            tick: Duration::from_secs(2),
            init_limit: 10,
            sync_limit: 5,
            commit_log_count: 500,
            snap_count: 100_000,
            snapshot_piece: 4,
            clients: (0..clients).map(client).collect(),
            bugs: Bugs::NONE,
            election: Election::Fast,
        }
    }

    /// Whether `count` servers are a majority (semantics 5.4).
    pub fn is_quorum(&self, count: usize) -> bool {
        count > usize::from(self.servers) / 2
    }

    /// All servers.
    pub fn server_ids(&self) -> impl Iterator<Item = ServerId> + use<> {
        (1..=self.servers).map(ServerId)
    }

    /// A session timeout clamped to minSessionTimeout and maxSessionTimeout.
    pub fn negotiate(&self, timeout: Duration) -> Duration {
        timeout.clamp(self.tick * 2, self.tick * 20)
    }
}
