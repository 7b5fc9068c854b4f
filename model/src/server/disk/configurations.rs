//! The two files of a server's configurations (rule 5.8.1): the committed one, and the last one that it has seen.

use super::Disk;
use crate::vocabulary::config::Config;
use crate::vocabulary::id::{ServerId, ServerSet};
use crate::vocabulary::quorum::{Attached, QuorumVerifier, Quorums};

/// The configurations that a server knows. Its memory and its files always have the same: each change is written at once,
/// and before anything that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Configurations {
    /// The committed configuration (`quorumVerifier`; the file that `zoo.cfg` names).
    pub quorum: QuorumVerifier,
    /// The last configuration that a leader has proposed to the server (`lastSeenQuorumVerifier`; `zoo.cfg.dynamic.next`).
    /// No TRUNC or SNAP takes it back.
    pub last_seen: QuorumVerifier,
}

impl Configurations {
    /// Returns the quorums that a decision of this server needs.
    pub fn quorums(self) -> Quorums {
        let is_newer = self.last_seen.version() > self.quorum.version();
        Quorums { committed: self.quorum, next: is_newer.then_some(self.last_seen) }
    }

    /// Makes a newer configuration the committed one, and the last one seen if it is newer than that, too.
    pub(crate) fn take(&mut self, next: QuorumVerifier) {
        if next.version() > self.quorum.version() {
            self.quorum = next;
            if next.version() > self.last_seen.version() {
                self.last_seen = next;
            }
        }
    }

    /// Returns the servers whose votes count here (`getCurrentAndNextConfigVoters`).
    pub fn voters(self) -> ServerSet {
        self.last_seen.voters().iter().fold(self.quorum.voters(), ServerSet::with)
    }
}

impl Disk {
    /// Returns the configurations in the files of this server.
    pub fn configurations(&self, server: ServerId, config: &Config) -> Configurations {
        self.configurations.0.unwrap_or_else(|| {
            let first = config.first_configuration(server);
            Configurations { quorum: first, last_seen: first }
        })
    }

    /// Writes the files.
    pub(crate) fn write_configurations(&mut self, configurations: Configurations) {
        self.configurations = Attached(Some(configurations));
    }
}
