//! What the file system of a server's disk does with what is not fsynced (rule 6.9.14).

use serde::{Deserialize, Serialize};

/// In which order changes of directories and of files' lengths become durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Metadata {
    /// In any order, each for itself, when its directory or its file is fsynced: all that POSIX promises.
    #[default]
    Unordered,
    /// In the order in which they are made, and at the latest when a file is fsynced with its metadata: as the journals of
    /// ext4 and XFS have it.
    Ordered,
}

impl Metadata {
    /// Whether it is what POSIX promises, and no more.
    pub fn is_default(&self) -> bool {
        *self == Metadata::default()
    }
}

/// The file system of a disk, and what the server on it relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileSystem {
    /// When changes of metadata become durable.
    pub metadata: Metadata,
    /// Whether the server fsyncs the directory after a rename
    /// ([`Bug::RenameUnsynced`](crate::vocabulary::release::Bug::RenameUnsynced) otherwise).
    pub directories_synced: bool,
}

impl Default for FileSystem {
    fn default() -> FileSystem {
        FileSystem { metadata: Metadata::default(), directories_synced: true }
    }
}
