//! The snapshots on a disk: files, each with the zxid in its name (rules 6.9.2 to 6.9.4, 6.9.7 and 6.9.11).
//!
//! Only files that a start would read are in the list: one that is being written, or was left unfinished, is passed
//! over by every reader, so it is as good as none.

use super::Disk;
use crate::tree::DataTree;
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::setup::Setup;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

/// A snapshot on disk. Its content may be ahead of its label (fuzzy).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// The tree's last processed zxid when the snapshot was begun; the name of the file.
    pub label: Zxid,
    /// Its content.
    pub content: Arc<DataTree>,
    /// Whether it was fsynced: otherwise a crash may lose it.
    pub durable: bool,
}

/// What is sure to be found after a power loss, before and after the file of a durable snapshot was truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated {
    /// The last zxid, before.
    pub before: Zxid,
    /// The last zxid, after.
    pub after: Zxid,
}

impl Disk {
    /// The snapshots, by label, oldest first.
    pub fn snapshots(&self) -> &[Snapshot] {
        &self.snapshots
    }

    /// The newest snapshot: the one that a start loads.
    pub(super) fn newest_snapshot(&self) -> Option<&Snapshot> {
        self.snapshots.last()
    }

    /// Opens the file of a snapshot to write it. Where that is done in place ([`Bug::SnapshotWrittenInPlace`]) a file
    /// of that name is truncated; returns what that means for a start, if the file was durable.
    pub fn open_snapshot(&mut self, label: Zxid, bugs: Bugs) -> Option<Truncated> {
        if !bugs.has(Bug::SnapshotWrittenInPlace) {
            return None;
        }
        let at = self.snapshots.iter().position(|snapshot| snapshot.label == label)?;
        let before = self.last_recoverable();
        let truncated = self.snapshots.remove(at);
        truncated.durable.then(|| Truncated { before, after: self.last_recoverable() })
    }

    /// The last zxid that is sure to be found after a power loss: that of the newest durable snapshot and of the durable
    /// log that follows it without a gap. Where there is no durable snapshot, what the log has from its very first
    /// transaction on counts: a start refuses such a log (rule 6.9.4), but is made to take it by
    /// `zookeeper.snapshot.trust.empty`.
    pub fn last_recoverable(&self) -> Zxid {
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

    /// Adds a snapshot.
    pub fn add_snapshot(&mut self, snapshot: Snapshot, bugs: Bugs) {
        let at = self.snapshots.partition_point(|other| other.label < snapshot.label);
        match self.snapshots.get_mut(at) {
            // A durable one of that label is as good: recovery from either yields the same.
            Some(same) if same.label == snapshot.label => {
                if !same.durable {
                    *same = snapshot;
                }
            }
            _ => self.snapshots.insert(at, snapshot),
        }
        // Older snapshots are of use only where newer ones can be lost or cut away: keep three, as
        // autopurge does, and the first.
        if self.snapshots.len() > 4 {
            self.snapshots.remove(self.to_be_purged(bugs));
        }
    }

    /// The oldest snapshot but the first; the one behind it where a crash could take all newer ones.
    fn to_be_purged(&self, bugs: Bugs) -> usize {
        let is_needed =
            self.snapshots[1].durable && !self.snapshots[2..].iter().any(|it| it.durable);
        if is_needed && !bugs.has(Bug::SnapshotAheadOfLog) { 2 } else { 1 }
    }

    /// A SNAP was taken over: its snapshot, which was fsynced, replaces what was there (see [`Bug::SnapKeepsOldLog`]).
    pub fn replace_by_snapshot(&mut self, snapshot: Snapshot, bugs: Bugs) {
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

    /// A process starts: without any snapshot, and with an empty log, it begins with the database that `setup`
    /// describes (rule 6.9.4).
    ///
    /// # Errors
    /// The sentence with which the server refuses to start: there is a log, and no snapshot that it goes on from.
    pub fn begin_database(&mut self, setup: &Setup, bugs: Bugs) -> Result<(), &'static str> {
        if !self.snapshots.is_empty() {
            return Ok(());
        }
        if !self.log.is_empty() {
            return Err("no snapshot was found, but there is a log");
        }
        self.snapshots.push(Disk::first_snapshot(Arc::new(first_tree(setup, bugs)), bugs));
        Ok(())
    }

    /// The database of a first start, saved.
    pub(super) fn first_snapshot(content: Arc<DataTree>, bugs: Bugs) -> Snapshot {
        let durable = !bugs.has(Bug::FirstSnapshotUnsynced);
        Snapshot { label: Zxid::ZERO, content, durable }
    }

    /// Loads the database: the newest snapshot and every logged transaction above its label, in
    /// order (rule 6.9.3). Returns the tree and where in the log the replay began; nothing without any snapshot. A
    /// torn last record is taken for the end of the file (rule 6.7.5); a start mends that first.
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

    /// Where in the log the replay above a snapshot begins.
    pub(super) fn first_above(&self, label: Zxid) -> usize {
        self.log.partition_point(|txn| txn.zxid <= label)
    }
}

/// The database that every server begins with.
pub(crate) fn first_tree(setup: &Setup, bugs: Bugs) -> DataTree {
    let mut tree = setup.tree();
    if bugs.has(Bug::AclByNumber) {
        tree.number_acls();
    }
    tree
}
