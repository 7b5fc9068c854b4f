//! The replicated database and its watches, as far as words and commands show them.

use std::collections::{BTreeMap, BTreeSet};

/// The replicated database.
#[derive(Clone, Debug, Default)]
pub struct Database {
    /// The zxid of the last transaction applied.
    pub last_processed_zxid: i64,
    /// The znodes, including the root and those below `/zookeeper`.
    pub node_count: u64,
    /// The bytes of all paths and data.
    pub approximate_data_size: u64,
    /// The ephemeral znodes by session. A session that has lost all its ephemerals may have an empty set.
    pub ephemerals: BTreeMap<i64, BTreeSet<String>>,
    /// The paths of data watches by session. A session whose watches have all fired may have an empty set. Only the
    /// number of child watches is known, since no word lists them.
    pub data_watches: BTreeMap<i64, BTreeSet<String>>,
    /// The number of child watches.
    pub child_watches: u64,
    /// The digests of the database that `hash` prints, oldest first.
    pub digests: Vec<Digest>,
    /// The last snapshot; `None` before the first.
    pub last_snapshot: Option<Snapshot>,
    /// The bytes of all files in the directory of snapshots.
    pub data_dir_size: u64,
    /// The bytes of all files in the directory of transaction logs.
    pub data_log_dir_size: u64,
}

/// The digest of a database.
#[derive(Clone, Copy, Debug, Default)]
pub struct Digest {
    /// The zxid of the last transaction in the database.
    pub zxid: i64,
    pub version: i32,
    pub digest: i64,
}

/// The last snapshot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    pub zxid: i64,
    /// Seconds since 1970.
    pub timestamp: i64,
}

impl Database {
    /// Returns the number of data watches.
    pub(super) fn data_watch_count(&self) -> u64 {
        self.data_watches.values().map(|paths| paths.len() as u64).sum()
    }

    /// Returns the number of data watches and child watches.
    pub(super) fn watch_count(&self) -> u64 {
        self.data_watch_count().saturating_add(self.child_watches)
    }

    /// Returns the number of ephemeral znodes.
    pub(super) fn ephemerals_count(&self) -> u64 {
        self.ephemerals.values().map(|paths| paths.len() as u64).sum()
    }

    /// Returns the sessions with a data watch of each path.
    pub(super) fn watches_by_path(&self) -> BTreeMap<&str, BTreeSet<i64>> {
        let mut by_path = BTreeMap::<&str, BTreeSet<i64>>::new();
        for (session, paths) in &self.data_watches {
            for path in paths {
                by_path.entry(path).or_default().insert(*session);
            }
        }
        by_path
    }
}
