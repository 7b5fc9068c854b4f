//! The two files of a server's configurations (rule 5.8.1): the committed one, and the last one that it has seen.

use super::Disk;
use crate::vocabulary::config::Config;
use crate::vocabulary::id::{ServerId, ServerSet};
use crate::vocabulary::quorum::{Attached, QuorumVerifier, Quorums};
use crate::vocabulary::release::{Bug, Bugs};

/// The configurations that a server knows. Its memory and its files have the same: each change is written at once, and
/// before anything that follows. Only a start can delete the second file (see [`Bug::NextConfigDeletedAtStart`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Configurations {
    /// The committed configuration (`quorumVerifier`; the file that `zoo.cfg` names).
    pub quorum: QuorumVerifier,
    /// The last configuration that a leader has proposed to the server (`lastSeenQuorumVerifier`; `zoo.cfg.dynamic.next`).
    /// No TRUNC or SNAP takes it back.
    pub last_seen: QuorumVerifier,
    /// Whether the file of the last configuration seen is deleted, so that only memory has it.
    pub is_next_deleted: bool,
}

impl Configurations {
    /// Returns the configurations of a server that knows only one.
    pub fn of(quorum: QuorumVerifier) -> Configurations {
        Configurations { quorum, last_seen: quorum, is_next_deleted: false }
    }

    /// Returns what a server knows after a start. A real one deletes the second file when it has read it.
    pub(crate) fn after_start(self, bugs: Bugs) -> Configurations {
        let Configurations { quorum, last_seen, is_next_deleted } = self;
        let deletes = bugs.has(Bug::NextConfigDeletedAtStart);
        match is_next_deleted || last_seen.version() == quorum.version() {
            true => Configurations::of(quorum),
            false => Configurations { is_next_deleted: deletes, ..self },
        }
    }

    /// Replaces the last configuration seen, in memory and in its file.
    #[must_use]
    pub(crate) fn with_last_seen(self, last_seen: QuorumVerifier) -> Configurations {
        Configurations { last_seen, is_next_deleted: false, ..self }
    }

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
                *self = Configurations::of(next);
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
        let first = || Configurations::of(config.first_configuration(server));
        self.configurations.0.unwrap_or_else(first)
    }

    /// Writes the files.
    pub(crate) fn write_configurations(&mut self, configurations: Configurations) {
        self.configurations = Attached(Some(configurations));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::zxid::Zxid;

    fn next(version: u64) -> QuorumVerifier {
        QuorumVerifier::majority(5).with_version(Zxid(version))
    }

    #[test]
    fn a_real_server_forgets_the_last_configuration_seen_with_its_second_start() {
        let bug = Bugs::default().with(Bug::NextConfigDeletedAtStart);
        let first = QuorumVerifier::majority(3);
        let seen = Configurations::of(first).with_last_seen(next(7));
        let once = seen.after_start(bug);
        assert_eq!((once.quorum, once.last_seen), (first, next(7)), "the file was there");
        assert_eq!(once.after_start(bug), Configurations::of(first), "and is there no more");
        // What is proposed to it later is written again.
        let again = once.with_last_seen(next(8)).after_start(bug);
        assert_eq!(again.last_seen, next(8));
        // A repaired one keeps the file.
        let kept = seen.after_start(Bugs::default()).after_start(Bugs::default());
        assert_eq!(kept, seen);
    }

    #[test]
    fn a_committed_configuration_needs_no_second_file() {
        let bug = Bugs::default().with(Bug::NextConfigDeletedAtStart);
        let mut configurations = Configurations::of(QuorumVerifier::majority(3));
        configurations.take(next(7));
        let twice = configurations.after_start(bug).after_start(bug);
        assert_eq!(twice, Configurations::of(next(7)));
    }
}
