//! Bugs are data: each historical or present defect is a named switch, off by default, at the one
//! place in the code where the rule matters. A release is a set of them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A defect of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Bug {
    /// A start-up that finds zxids of a newer epoch than `currentEpoch`, and no
    /// `currentEpoch.tmp`, refuses for good (semantics 6.2): a crash between the synchronisation's
    /// appends or snapshot and its epoch file leaves just that. Repaired: the epoch of the last zxid
    /// is taken; the history up to it is whole, because synchronisation is in order.
    RefuseNewerZxid,
    /// TRUNC reloads the newest snapshot whatever its label (semantics 6.9), although a prospective
    /// leader's snapshot can hold transactions beyond the cut. Repaired: such snapshots are deleted.
    TruncKeepsNewerSnapshot,
    /// TRUNC to a zxid that is not in the log (a SNAP brought it) cuts behind the first record
    /// beyond it, which so stays (semantics 6.9, 9 rule 12). Repaired: that record is cut as well.
    TruncKeepsRecordBeyond,
    /// A SNAP leaves the old log below the new snapshot (semantics 6.9), transactions that never were
    /// committed included: should a TRUNC reach below the snapshot, they come back. Repaired: a SNAP
    /// replaces log and snapshots, and a TRUNC below it is answered by asking for a SNAP.
    SnapKeepsOldLog,
    /// A synchronisation by TRUNC that breaks off keeps its tree, to which commits were applied
    /// that no log holds (ZOOKEEPER-5094; semantics 6.8). Repaired: reload from disk, as after SNAP.
    InterruptedTruncKeepsTree,
    /// A synchronisation by TRUNC applies what commits before NEWLEADER to memory and logs none of
    /// it; the snapshot that holds it is not fsynced, yet NEWLEADER is acknowledged (semantics 6.6).
    /// Repaired: the snapshot is fsynced and replaces the log, as after SNAP.
    TruncSnapshotUnsynced,
    /// A leader whose epoch is below what a server has accepted meanwhile (from a rival that came to
    /// nothing) leads on, and that server, which refuses it, stays out for as long as it leads
    /// (semantics 6.3). Repaired: the leader steps down, so that the next epoch is above both.
    LeaderIgnoresNewerEpoch,
    /// A leader counts what a learner acknowledged before it registered again, although that
    /// synchronisation can have cut it: a learner whose last zxid is proposed and not yet committed
    /// is told to TRUNC (semantics 6.4 row 3; 4.4 rule 3). The transaction then commits while too few
    /// disks hold it. Found here, by the explorer. Repaired: once a learner has registered again,
    /// its older acks are forgotten and those that still come by its older connection are ignored.
    AcksOutliveReconnect,
    /// A server whose fsync has failed leaves its role and keeps its tree, although commits were
    /// applied to that (the quorum being others) which its log has lost (ZOOKEEPER-4882; semantics
    /// 6.8, 9 rule 6). It votes with them, is never sent them again, and lacks them after its next
    /// start. Repaired: reload from disk, as after a broken-off SNAP.
    FsyncErrorKeepsMemory,
}

impl Bug {
    /// All of them.
    pub const ALL: [Bug; 9] = [
        Bug::RefuseNewerZxid,
        Bug::TruncKeepsNewerSnapshot,
        Bug::TruncKeepsRecordBeyond,
        Bug::SnapKeepsOldLog,
        Bug::InterruptedTruncKeepsTree,
        Bug::TruncSnapshotUnsynced,
        Bug::LeaderIgnoresNewerEpoch,
        Bug::AcksOutliveReconnect,
        Bug::FsyncErrorKeepsMemory,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Bug::RefuseNewerZxid => "RefuseNewerZxid",
            Bug::TruncKeepsNewerSnapshot => "TruncKeepsNewerSnapshot",
            Bug::TruncKeepsRecordBeyond => "TruncKeepsRecordBeyond",
            Bug::SnapKeepsOldLog => "SnapKeepsOldLog",
            Bug::InterruptedTruncKeepsTree => "InterruptedTruncKeepsTree",
            Bug::TruncSnapshotUnsynced => "TruncSnapshotUnsynced",
            Bug::LeaderIgnoresNewerEpoch => "LeaderIgnoresNewerEpoch",
            Bug::AcksOutliveReconnect => "AcksOutliveReconnect",
            Bug::FsyncErrorKeepsMemory => "FsyncErrorKeepsMemory",
        }
    }

    /// One line for listings.
    pub fn summary(self) -> &'static str {
        match self {
            Bug::RefuseNewerZxid => "start-up refuses a log newer than currentEpoch (HEAD)",
            Bug::TruncKeepsNewerSnapshot => "TRUNC reloads a snapshot beyond the cut (HEAD)",
            Bug::TruncKeepsRecordBeyond => {
                "TRUNC to an unlogged zxid leaves one record beyond it (HEAD)"
            }
            Bug::SnapKeepsOldLog => "SNAP leaves uncommitted transactions in the old log (HEAD)",
            Bug::InterruptedTruncKeepsTree => {
                "a broken-off TRUNC keeps unlogged commits in memory (ZOOKEEPER-5094, HEAD)"
            }
            Bug::TruncSnapshotUnsynced => {
                "TRUNC acknowledges commits that only an unsynced snapshot holds (HEAD)"
            }
            Bug::LeaderIgnoresNewerEpoch => {
                "a server that accepted a newer epoch is shut out for as long as the leader leads (HEAD)"
            }
            Bug::AcksOutliveReconnect => {
                "an ack still counts after its learner has reconnected and been truncated (HEAD)"
            }
            Bug::FsyncErrorKeepsMemory => {
                "a failed fsync keeps commits in memory that the log has lost (ZOOKEEPER-4882, HEAD)"
            }
        }
    }
}

impl fmt::Display for Bug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of [`Bug`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Bugs(u64);

impl Bugs {
    /// No bug: every rule as repaired.
    pub const NONE: Bugs = Bugs(0);

    /// This set and one bug more.
    pub fn with(self, bug: Bug) -> Bugs {
        Bugs(self.0 | 1 << bug as u32)
    }

    /// Whether a bug is in the set.
    pub fn has(self, bug: Bug) -> bool {
        self.0 & (1 << bug as u32) != 0
    }
}

/// A ZooKeeper release, as the set of its known defects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Release {
    /// The semantics page as it stands: apache/zookeeper master of July 2026.
    Head,
    /// HEAD with every broken promise repaired: what the catalogue runs.
    #[default]
    Repaired,
}

impl Release {
    /// The release's bugs.
    pub fn bugs(self) -> Bugs {
        match self {
            Release::Head => Bug::ALL.into_iter().fold(Bugs::NONE, Bugs::with),
            Release::Repaired => Bugs::NONE,
        }
    }
}
