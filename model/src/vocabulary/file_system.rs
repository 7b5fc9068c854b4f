//! The file system of a server's disk: when changes that were not fsynced become durable (rule 6.9.14).

use serde::{Deserialize, Serialize};

/// The order in which changes of directories and of file lengths become durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Metadata {
    /// Each change becomes durable on its own, when its directory or its file is fsynced. POSIX promises no more.
    #[default]
    Unordered,
    /// Changes become durable in the order in which they were made, at the latest when a file is fsynced together
    /// with its metadata. The journals of ext4 and XFS work like this.
    Ordered,
}

impl Metadata {
    /// Returns true for [`Metadata::Unordered`], which is all that POSIX promises.
    pub fn is_default(&self) -> bool {
        *self == Metadata::default()
    }
}

/// The disk operation that the packet thread (of a leader: its main thread) waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Writing {
    /// A prospective leader's snapshot of its tree, before it accepts learners (rule 6.3.1).
    LeadSnapshot,
    /// `acceptedEpoch`.
    AcceptedEpoch,
    /// `currentEpoch.tmp`.
    CurrentEpochTmp,
    /// The renaming of `currentEpoch.tmp` to `currentEpoch` (rule 6.2.1).
    CurrentEpoch,
    /// The learner's snapshot at NEWLEADER (rule 6.6.3).
    SyncSnapshot,
    /// The learner's append (and application) of the next committed transaction at NEWLEADER.
    SyncAppend,
    /// The learner's fsync of those appends.
    SyncFsync,
    /// No disk operation: the learner's packet thread is about to acknowledge NEWLEADER while its log thread works
    /// ([`Bug::ProposalsAckedFirst`](crate::vocabulary::release::Bug::ProposalsAckedFirst)).
    NewLeaderAck,
}

/// The file system of a disk, and how the server uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileSystem {
    /// The order in which changes of metadata become durable.
    pub metadata: Metadata,
    /// True if the server fsyncs the directory after a rename; false under
    /// [`Bug::RenameUnsynced`](crate::vocabulary::release::Bug::RenameUnsynced).
    pub directories_synced: bool,
}

impl Default for FileSystem {
    fn default() -> FileSystem {
        FileSystem { metadata: Metadata::default(), directories_synced: true }
    }
}
