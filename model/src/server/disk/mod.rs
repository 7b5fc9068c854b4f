//! One server's disk: the transaction log with its unsynced tail, snapshots, and the two epoch files (rules 6.2 and
//! 6.9).
//!
//! Append and fsync are separate: a reader in the same process sees what was appended, but a crash keeps only what
//! was fsynced, and any prefix of the rest.

mod configurations;
mod renames;
mod snapshots;

pub use configurations::Configurations;
pub use renames::Undone;
pub(crate) use snapshots::first_tree;
pub use snapshots::{Snapshot, Truncated};

use super::committed_log::is_gap;
use crate::tree::DataTree;
use crate::vocabulary::config::Config;
use crate::vocabulary::file_system::FileSystem;
use crate::vocabulary::quorum::Attached;
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::step::{Tail, Unwritten};
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::{Epoch, Zxid};
use renames::Renames;
use std::sync::Arc;

/// A server's disk. Its hash covers whole transactions: one zxid can name different transactions in different runs,
/// and a search compares states of different runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Disk {
    /// The records that a reader finds, without those appended after a torn record.
    log: Vec<Arc<Txn>>,
    /// Number of durable transactions at the log's beginning.
    durable: usize,
    /// True if a half-written record follows the log. A reader takes it for the end of the file, so whatever is
    /// appended after it is lost at once (rule 6.9.8; only under [`Bug::TornRecordHidesLog`]).
    torn: bool,
    /// Records that a failed write has left in the file's buffer; the next write also writes them (rule 6.9.9; only
    /// under [`Bug::FailedWriteComesLater`]).
    buffered: Vec<Arc<Txn>>,
    /// Records that a TRUNC has cut out of the durable log, until the cut is durable: a crash may restore them (rule
    /// 6.9.10; only under [`Bug::TruncUnsynced`]).
    cut: Vec<Arc<Txn>>,
    /// By label, oldest first. The first one is the database of the first start or the last SNAP, and the log
    /// continues from it, unless its file was written again in place ([`Bug::SnapshotWrittenInPlace`]).
    snapshots: Vec<Snapshot>,
    accepted_epoch: Epoch,
    current_epoch: Epoch,
    /// Contents of `currentEpoch.tmp`, if it is written but not yet renamed (ZOOKEEPER-1653).
    current_epoch_tmp: Option<Epoch>,
    /// The renames that a power loss may undo (only under [`Bug::RenameUnsynced`]).
    renames: Renames,
    /// Determines when changes of files become durable.
    file_system: FileSystem,
    /// Number of processes that have started on this disk, used in session ids instead of the boot time (rule 2.2.1).
    starts: u16,
    /// The files of the configurations, once one of them has changed.
    configurations: Attached<Configurations>,
}

impl Disk {
    /// Returns a disk after a first start, which has saved its database (rule 6.9.4). The snapshot is not durable
    /// under [`Bug::FirstSnapshotUnsynced`].
    pub fn new(content: Arc<DataTree>, bugs: Bugs) -> Disk {
        Disk {
            log: Vec::new(),
            durable: 0,
            torn: false,
            buffered: Vec::new(),
            cut: Vec::new(),
            snapshots: vec![Disk::first_snapshot(content, bugs)],
            accepted_epoch: Epoch(0),
            current_epoch: Epoch(0),
            current_epoch_tmp: None,
            renames: Renames::default(),
            file_system: FileSystem::default(),
            starts: 0,
            configurations: Attached::default(),
        }
    }

    /// Returns the newest epoch that this server has promised to follow.
    pub fn accepted_epoch(&self) -> Epoch {
        self.accepted_epoch
    }

    /// Returns the epoch whose history this server has taken over.
    pub fn current_epoch(&self) -> Epoch {
        self.current_epoch
    }

    /// Returns the epoch in `currentEpoch.tmp`, if that file is not yet renamed.
    pub fn current_epoch_tmp(&self) -> Option<Epoch> {
        self.current_epoch_tmp
    }

    /// Returns the whole log, including the unsynced tail.
    pub fn log(&self) -> &[Arc<Txn>] {
        &self.log
    }

    /// Returns the log that a reader of the files sees: records that were not fsynced are still in the process's
    /// buffer (`FileTxnLog.commit` flushes).
    pub(crate) fn flushed_log(&self) -> &[Arc<Txn>] {
        &self.log[..self.durable]
    }

    /// Returns the zxid of the last record or the newest snapshot's label, whichever is higher, durable or not.
    pub(crate) fn last_logged(&self) -> Zxid {
        let snapshot = self.snapshots.last().map_or(Zxid::ZERO, |snapshot| snapshot.label);
        self.log.last().map_or(snapshot, |txn| txn.zxid.max(snapshot))
    }

    /// Returns the last zxid that survives any crash, in the log's durable part or a durable snapshot.
    pub(crate) fn last_durable(&self) -> Zxid {
        let logged = self.durable.checked_sub(1).map_or(Zxid::ZERO, |at| self.log[at].zxid);
        let snapshots = self.snapshots.iter().filter(|snapshot| snapshot.durable);
        snapshots.map(|snapshot| snapshot.label).fold(logged, Zxid::max)
    }

    /// Returns true if a start after any crash would load this committed transaction: from a durable snapshot that
    /// was begun after it, or from the durable log, which is replayed above an older durable snapshot. A start
    /// refuses a log without any snapshot (rule 6.9.4). S7 checks that the log has no gap above the snapshot.
    pub fn holds(&self, zxid: Zxid) -> bool {
        let mut durable = self.snapshots.iter().filter(|snapshot| snapshot.durable).peekable();
        durable.peek().is_some() && self.logs(zxid) || durable.any(|it| it.label >= zxid)
    }

    /// Returns true if the durable log has this transaction, even if a start would refuse the log.
    pub fn logs(&self, zxid: Zxid) -> bool {
        self.log[..self.durable].binary_search_by_key(&zxid, |txn| txn.zxid).is_ok()
    }

    /// Returns the number of transactions that were appended but not fsynced.
    pub fn unsynced(&self) -> usize {
        self.log.len() - self.durable
    }

    /// Appends a record to the buffer (rule 6.9.1). A record whose zxid the log already has, proposed again after a
    /// SNAP, is left out. A real log has it twice and a start applies it twice (rule 6.9.13), which does no harm
    /// (rules 1.3.2, 1.3.3 and 1.3.5).
    pub fn append(&mut self, txn: Arc<Txn>) {
        for txn in std::mem::take(&mut self.buffered).into_iter().chain([txn]) {
            let is_new = self.log.last().is_none_or(|last| last.zxid < txn.zxid);
            if is_new && !self.torn {
                self.log.push(txn);
            }
        }
    }

    /// Makes everything appended durable.
    pub fn fsync(&mut self) {
        self.durable = self.log.len();
    }

    /// Cuts everything after `zxid` out of the log (rule 6.9.6); `config` describes the first database. Returns
    /// `false` and changes nothing if the history up to `zxid` cannot be rebuilt from what would remain.
    #[must_use]
    pub fn truncate(&mut self, zxid: Zxid, config: &Config) -> bool {
        let bugs = config.bugs;
        if self.snapshots.first().is_none_or(|first| first.label > zxid) {
            if zxid > Zxid::ZERO {
                return false;
            }
            // The first database can be rebuilt without a snapshot. (A request for a SNAP would only bring an empty
            // DIFF, since the leader has no more than that database.)
            self.snapshots = vec![Disk::first_snapshot(Arc::new(first_tree(config)), Bugs::NONE)];
        }
        let mut keep = self.log.partition_point(|txn| txn.zxid <= zxid);
        let newest = self.snapshots.iter().rfind(|snapshot| snapshot.label <= zxid);
        let from = newest.map_or(0, |snapshot| self.first_above(snapshot.label));
        if has_gap(&self.log[from..keep]) && !bugs.has(Bug::SnapKeepsOldLog) {
            return false;
        }
        if bugs.has(Bug::TruncKeepsRecordBeyond)
            && self.log[..keep].last().is_none_or(|last| last.zxid < zxid)
        {
            // HEAD goes to the first record at or above the target and cuts after it.
            keep = (keep + 1).min(self.log.len());
        }
        let cut = self.log.split_off(keep);
        if bugs.has(Bug::TruncUnsynced) {
            self.cut.extend(cut.into_iter().take(self.durable.saturating_sub(keep)));
        }
        self.durable = self.durable.min(keep);
        self.begin_file();
        if !bugs.has(Bug::TruncKeepsNewerSnapshot) {
            self.snapshots.retain(|snapshot| snapshot.label <= zxid);
        }
        true
    }

    /// Applies a crash: only part of the unsynced tail remains. Returns the number of lost transactions.
    pub fn crash(&mut self, tail: Tail) -> usize {
        let lost = self.fail_to_fsync(tail.survive, Unwritten::Lost, Bugs::NONE);
        self.buffered.clear();
        self.torn = tail.torn && lost > 0;
        if tail.cuts {
            self.bring_back_what_was_cut();
        }
        self.cut.clear();
        if !tail.snapshots {
            self.snapshots.retain(|snapshot| snapshot.durable);
        }
        for snapshot in &mut self.snapshots {
            snapshot.durable = true;
        }
        lost
    }

    /// Restores the file that a TRUNC has shortened, and the files that it has deleted. Later records are in files
    /// after them, so a start reads both.
    fn bring_back_what_was_cut(&mut self) {
        for txn in std::mem::take(&mut self.cut) {
            let at = self.log.partition_point(|other| other.zxid < txn.zxid);
            if self.log.get(at).is_none_or(|other| other.zxid != txn.zxid) {
                self.log.insert(at, txn);
            }
        }
        self.durable = self.log.len();
    }

    /// Returns true if a crash may restore records that a TRUNC has cut.
    pub fn may_undo_cuts(&self) -> bool {
        !self.cut.is_empty()
    }

    /// Returns true if a half-written record follows the log.
    pub fn is_torn(&self) -> bool {
        self.torn
    }

    /// Applies a failed write or fsync: only `survive` transactions of the unsynced tail reach the disk. Returns the
    /// number of the others. `rest` has an effect on those only under the bug that it belongs to.
    pub(crate) fn fail_to_fsync(&mut self, survive: u8, rest: Unwritten, bugs: Bugs) -> usize {
        let keep = self.durable + usize::from(survive).min(self.unsynced());
        let unwritten = self.log.split_off(keep);
        self.durable = keep;
        match rest {
            Unwritten::Torn if bugs.has(Bug::TornRecordHidesLog) => {
                self.torn |= !unwritten.is_empty();
            }
            Unwritten::Buffered if bugs.has(Bug::FailedWriteComesLater) => {
                self.buffered.extend(unwritten.iter().cloned());
            }
            Unwritten::Lost | Unwritten::Torn | Unwritten::Buffered => {}
        }
        unwritten.len()
    }

    /// Begins a new file (`rollLog`, a TRUNC, a start): a torn record stays at the end of the old file, and the old
    /// file's buffer is dropped.
    pub(crate) fn begin_file(&mut self) {
        self.torn = false;
        self.buffered.clear();
    }

    /// Returns true if a transaction is missing in the log from its record `from` on. A gap between the snapshot and
    /// that record is not detected: servers do not check for it (rule 6.9.5).
    pub(crate) fn has_gap(&self, from: usize) -> bool {
        has_gap(&self.log[from..])
    }

    /// Makes the checks of rules 6.2.2 and 6.2.3 at a start, against the loaded database's last zxid.
    ///
    /// # Errors
    /// The reason why the server refuses to start.
    pub(crate) fn check_epochs(&mut self, last: Zxid, bugs: Bugs) -> Result<(), &'static str> {
        if last.epoch() > self.current_epoch {
            match self.current_epoch_tmp.take() {
                // A tmp file can be older than the log. A crash before its rename leaves the file; no start reads it
                // until the log has reached a new epoch.
                Some(_) if bugs.has(Bug::EpochFileNotCompleted) => {
                    return Err("the current epoch is older than the last zxid");
                }
                Some(epoch) if bugs.has(Bug::RefuseNewerZxid) => self.current_epoch = epoch,
                Some(epoch) => self.current_epoch = epoch.max(last.epoch()),
                None if bugs.has(Bug::RefuseNewerZxid) => {
                    return Err("the current epoch is older than the last zxid");
                }
                None => self.current_epoch = last.epoch(),
            }
        }
        if self.accepted_epoch < self.current_epoch {
            return Err("the accepted epoch is less than the current epoch");
        }
        Ok(())
    }

    /// Counts a start and returns its number.
    pub(crate) fn count_start(&mut self) -> u16 {
        self.starts += 1;
        self.starts
    }
}

fn has_gap(records: &[Arc<Txn>]) -> bool {
    records.windows(2).any(|pair| is_gap(pair[0].zxid, pair[1].zxid))
}

#[cfg(test)]
mod tests;
