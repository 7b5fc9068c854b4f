//! The snapshots on a disk: files with a zxid in their names (rules 6.9.2 to 6.9.4, 6.9.7 and 6.9.11).
//!
//! The list has only files that a start would read. Every reader skips a file that is being written or was left
//! unfinished, so such a file is not listed.

use super::Disk;
use crate::tree::DataTree;
use crate::vocabulary::config::Config;
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

/// A snapshot on disk. Its content may contain transactions above its label (it is fuzzy).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// The tree's last processed zxid when the snapshot was begun; part of the file's name.
    pub label: Zxid,
    /// The tree that the file contains.
    pub content: Arc<DataTree>,
    /// True if the file was fsynced; otherwise a crash may lose it.
    pub durable: bool,
}

/// The last recoverable zxid before and after the file of a durable snapshot was truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated {
    /// The last recoverable zxid before.
    pub before: Zxid,
    /// The last recoverable zxid after.
    pub after: Zxid,
}

impl Disk {
    /// Returns the snapshots by label, oldest first.
    pub fn snapshots(&self) -> &[Snapshot] {
        &self.snapshots
    }

    /// Returns the newest snapshot, which a start loads.
    pub(super) fn newest_snapshot(&self) -> Option<&Snapshot> {
        self.snapshots.last()
    }

    /// Opens the file of a snapshot to write it. Under [`Bug::SnapshotWrittenInPlace`], this truncates an existing
    /// file of that name. Returns the effect on the next start, if that file was durable.
    pub(crate) fn open_snapshot(&mut self, label: Zxid, bugs: Bugs) -> Option<Truncated> {
        if !bugs.has(Bug::SnapshotWrittenInPlace) {
            return None;
        }
        let at = self.snapshots.iter().position(|snapshot| snapshot.label == label)?;
        let before = self.last_recoverable();
        let truncated = self.snapshots.remove(at);
        truncated.durable.then(|| Truncated { before, after: self.last_recoverable() })
    }

    /// Returns the last zxid that survives every power loss: the end of the newest durable snapshot and of the
    /// durable log that follows it without a gap. Without a durable snapshot, the log counts if it begins with the
    /// very first transaction: a start refuses such a log (rule 6.9.4), but accepts it with
    /// `zookeeper.snapshot.trust.empty`.
    pub(crate) fn last_recoverable(&self) -> Zxid {
        let newest = self.snapshots.iter().rfind(|snapshot| snapshot.durable);
        let mut last = newest.map_or(Zxid::ZERO, |snapshot| snapshot.label);
        let from = self.first_above(last).min(self.durable);
        for txn in &self.log[from..self.durable] {
            let begins = txn.zxid.epoch() > last.epoch() && txn.zxid.counter() == 1;
            if !begins && last.next() != Some(txn.zxid) {
                break;
            }
            last = txn.zxid;
        }
        last
    }

    /// Adds a snapshot, and purges an old one if there are more than four.
    pub(crate) fn add_snapshot(&mut self, snapshot: Snapshot, bugs: Bugs) {
        let at = self.snapshots.partition_point(|other| other.label < snapshot.label);
        match self.snapshots.get_mut(at) {
            // A durable snapshot of that label is equivalent: recovery from either has the same result.
            Some(same) if same.label == snapshot.label => {
                if !same.durable {
                    *same = snapshot;
                }
            }
            _ => self.snapshots.insert(at, snapshot),
        }
        // Older snapshots are needed only if newer ones are lost or cut away. Like autopurge, this keeps three
        // snapshots, and the first one besides.
        if self.snapshots.len() > 4 {
            self.snapshots.remove(self.to_be_purged(bugs));
        }
    }

    /// Returns the index of the oldest snapshot after the first, or of the next one if a crash could lose all newer
    /// ones.
    fn to_be_purged(&self, bugs: Bugs) -> usize {
        let is_needed =
            self.snapshots[1].durable && !self.snapshots[2..].iter().any(|it| it.durable);
        if is_needed && !bugs.has(Bug::SnapshotAheadOfLog) { 2 } else { 1 }
    }

    /// Takes over a SNAP: its fsynced snapshot replaces the log and all snapshots (but see [`Bug::SnapKeepsOldLog`]).
    pub(crate) fn replace_by_snapshot(&mut self, snapshot: Snapshot, bugs: Bugs) {
        self.fsyncs_a_file();
        if bugs.has(Bug::SnapKeepsOldLog) {
            self.add_snapshot(snapshot, bugs);
        } else {
            self.snapshots = vec![snapshot];
            self.log.clear();
            self.durable = 0;
            self.begin_file();
        }
    }

    /// Begins a database at a process's start: without snapshots and with an empty log, it saves the first one (rule
    /// 6.9.4).
    ///
    /// # Errors
    /// The reason why the server refuses to start: there is a log, but no snapshot that it continues.
    pub(crate) fn begin_database(&mut self, config: &Config) -> Result<(), &'static str> {
        if !self.snapshots.is_empty() {
            return Ok(());
        }
        let bugs = config.bugs;
        if !self.log.is_empty() && !bugs.has(Bug::LogWithoutSnapshotReplayed) {
            return Err("no snapshot was found, but there is a log");
        }
        // Without a file, the empty database counts as a first snapshot that no power loss takes.
        let bugs = if self.log.is_empty() { bugs } else { Bugs::NONE };
        self.snapshots.push(Disk::first_snapshot(Arc::new(first_tree(config)), bugs));
        Ok(())
    }

    /// Returns the snapshot that a first start saves.
    pub(super) fn first_snapshot(content: Arc<DataTree>, bugs: Bugs) -> Snapshot {
        let durable = !bugs.has(Bug::FirstSnapshotUnsynced);
        Snapshot { label: Zxid::ZERO, content, durable }
    }

    /// Loads the database: the newest snapshot and every logged transaction above its label, in order (rule 6.9.3).
    /// Returns the tree and the index of the first replayed record, or `None` without any snapshot. A torn last
    /// record counts as the end of the file (rule 6.7.5); a start repairs the file first.
    pub fn load(&self) -> Option<(DataTree, usize)> {
        let newest = self.newest_snapshot()?;
        let mut tree = DataTree::clone(&newest.content);
        tree.set_last_processed(newest.label);
        tree.settle_acls();
        tree.count_quotas_anew();
        let from = self.first_above(newest.label);
        let replayed: &[Arc<Txn>] = &self.log[from..];
        for txn in replayed {
            tree.apply(txn);
        }
        Some((tree, from))
    }

    /// Returns the index of the first record above a snapshot's label, where the replay begins.
    pub(super) fn first_above(&self, label: Zxid) -> usize {
        self.log.partition_point(|txn| txn.zxid <= label)
    }
}

/// Returns the database that every server begins with.
pub(crate) fn first_tree(config: &Config) -> DataTree {
    let mut tree = config.first_tree();
    if config.bugs.has(Bug::AclByNumber) {
        tree.number_acls();
    }
    tree
}
