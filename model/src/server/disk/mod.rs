//! One server's disk: the transaction log with its unsynced tail, snapshots, and the two epoch
//! files (rules 6.2 and 6.9).
//!
//! Append and fsync are apart: what was appended is there for a reader of this process, but a crash
//! keeps only what was fsynced, and of the rest whatever prefix happened to reach the platter.

mod renames;
mod snapshots;

pub use renames::Undone;
pub(crate) use snapshots::first_tree;
pub use snapshots::{Snapshot, Truncated};

use super::committed_log::is_gap;
use crate::tree::DataTree;
use crate::vocabulary::file_system::FileSystem;
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::setup::Setup;
use crate::vocabulary::step::{Tail, Unwritten};
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::{Epoch, Zxid};
use renames::Renames;
use std::sync::Arc;

/// The disk. Its hash reads whole transactions: in different runs one zxid can name different transactions, and the
/// states of a search come from different runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Disk {
    /// What a reader finds: not what was appended behind a half-written record.
    log: Vec<Arc<Txn>>,
    /// How many of the log's transactions are durable.
    durable: usize,
    /// A half-written record stands behind the log. A reader takes it for the end of the file, so what is
    /// appended behind it is lost at once (rule 6.9.8; only under [`Bug::TornRecordHidesLog`]).
    torn: bool,
    /// What a failed write has left in the buffer of the file: the next one brings it along (rule 6.9.9; only under
    /// [`Bug::FailedWriteComesLater`]).
    buffered: Vec<Arc<Txn>>,
    /// What a TRUNC has cut out of the durable log, as long as nobody makes that durable: a crash may bring it back
    /// (rule 6.9.10; only under [`Bug::TruncUnsynced`]).
    cut: Vec<Arc<Txn>>,
    /// By label, oldest first. The first one is the empty database of the first start, or the last
    /// SNAP taken over, and the log reaches back to it, unless its file was written anew
    /// ([`Bug::SnapshotWrittenInPlace`]).
    snapshots: Vec<Snapshot>,
    accepted_epoch: Epoch,
    current_epoch: Epoch,
    /// `currentEpoch.tmp`, written but not yet renamed (ZOOKEEPER-1653).
    current_epoch_tmp: Option<Epoch>,
    /// What a power loss may undo (only under [`Bug::RenameUnsynced`]).
    renames: Renames,
    /// What becomes durable when.
    file_system: FileSystem,
    /// How often a process has started on this disk; the model's stand-in for the boot time inside
    /// session ids (rule 2.2.1).
    starts: u16,
}

impl Disk {
    /// A disk as the first start leaves it: the database that it begins with, saved (rule 6.9.4).
    /// Whether that is on the disk, see [`Bug::FirstSnapshotUnsynced`].
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
        }
    }

    /// The epoch that this server has promised to follow.
    pub fn accepted_epoch(&self) -> Epoch {
        self.accepted_epoch
    }

    /// The epoch whose history this server has taken over.
    pub fn current_epoch(&self) -> Epoch {
        self.current_epoch
    }

    /// `currentEpoch.tmp`, while it has not been renamed.
    pub fn current_epoch_tmp(&self) -> Option<Epoch> {
        self.current_epoch_tmp
    }

    /// The whole log, unsynced tail included.
    pub fn log(&self) -> &[Arc<Txn>] {
        &self.log
    }

    /// What a reader of the files sees of the log: what was appended and not fsynced is still buffered
    /// (`FileTxnLog.commit` flushes).
    pub fn flushed_log(&self) -> &[Arc<Txn>] {
        &self.log[..self.durable]
    }

    /// The zxid of the last record, durable or not; the newest snapshot's label for an empty log.
    pub fn last_logged(&self) -> Zxid {
        let snapshot = self.snapshots.last().map_or(Zxid::ZERO, |snapshot| snapshot.label);
        self.log.last().map_or(snapshot, |txn| txn.zxid.max(snapshot))
    }

    /// The last zxid that survives any crash: by the log's durable part or a durable snapshot.
    pub fn last_durable(&self) -> Zxid {
        let logged = self.durable.checked_sub(1).map_or(Zxid::ZERO, |at| self.log[at].zxid);
        let snapshots = self.snapshots.iter().filter(|snapshot| snapshot.durable);
        snapshots.map(|snapshot| snapshot.label).fold(logged, Zxid::max)
    }

    /// Whether a start after any crash would find a committed transaction: in a durable snapshot that was begun after
    /// it, or in the durable log, replayed above an older durable snapshot. A log without any snapshot is refused
    /// (rule 6.9.4). Whether the log has a gap between the two is asked apart (S7).
    pub fn holds(&self, zxid: Zxid) -> bool {
        let mut durable = self.snapshots.iter().filter(|snapshot| snapshot.durable).peekable();
        durable.peek().is_some() && self.logs(zxid) || durable.any(|it| it.label >= zxid)
    }

    /// Whether the durable log has this transaction, whatever a start would make of the log.
    pub fn logs(&self, zxid: Zxid) -> bool {
        self.log[..self.durable].binary_search_by_key(&zxid, |txn| txn.zxid).is_ok()
    }

    /// How many transactions were appended but not fsynced.
    pub fn unsynced(&self) -> usize {
        self.log.len() - self.durable
    }

    /// Appends a record, buffered (rule 6.9.1). One whose zxid the log has already (proposed again after a
    /// synchronisation by SNAP) is left out, where a real log has it twice and a start applies it twice (rule 6.9.13):
    /// that does no harm (rules 1.3.2, 1.3.3 and 1.3.5).
    pub fn append(&mut self, txn: Arc<Txn>) {
        for txn in std::mem::take(&mut self.buffered).into_iter().chain([txn]) {
            let is_new = self.log.last().is_none_or(|last| last.zxid < txn.zxid);
            if is_new && !self.torn {
                self.log.push(txn);
            }
        }
    }

    /// Everything appended is durable from now on.
    pub fn fsync(&mut self) {
        self.durable = self.log.len();
    }

    /// Cuts everything after `zxid` out of the log (rule 6.9.6); `setup` is what the first database
    /// had. Returns `false`, and changes
    /// nothing, where the history up to `zxid` cannot be rebuilt from what would remain.
    #[must_use]
    pub fn truncate(&mut self, zxid: Zxid, setup: &Setup, bugs: Bugs) -> bool {
        if self.snapshots.first().is_none_or(|first| first.label > zxid) {
            if zxid > Zxid::ZERO {
                return false;
            }
            // The first database needs nothing to be rebuilt from. (To ask its leader, who has no
            // more than that, for a snapshot would bring an empty DIFF.)
            self.snapshots =
                vec![Disk::first_snapshot(Arc::new(first_tree(setup, bugs)), Bugs::NONE)];
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
            // HEAD goes to the first record at or above the target and cuts behind it.
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

    /// The process died: of the unsynced tail only a part remains. Returns how many transactions
    /// were lost.
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

    /// The file that a TRUNC has shortened is as long as before, and files that it has deleted are there. What was
    /// logged since is in files behind them, so a start reads both.
    fn bring_back_what_was_cut(&mut self) {
        for txn in std::mem::take(&mut self.cut) {
            let at = self.log.partition_point(|other| other.zxid < txn.zxid);
            if self.log.get(at).is_none_or(|other| other.zxid != txn.zxid) {
                self.log.insert(at, txn);
            }
        }
        self.durable = self.log.len();
    }

    /// Whether a crash may bring back what a TRUNC has cut.
    pub fn may_undo_cuts(&self) -> bool {
        !self.cut.is_empty()
    }

    /// Whether a half-written record stands behind the log.
    pub fn is_torn(&self) -> bool {
        self.torn
    }

    /// A write or an fsync fails: of the unsynced tail only so many transactions are on the disk. Returns how many
    /// are not. What becomes of those under a defect that the server does not have, does not come to pass.
    pub fn fail_to_fsync(&mut self, survive: u8, rest: Unwritten, bugs: Bugs) -> usize {
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

    /// What comes goes to a new file (`rollLog`, a TRUNC, a start): a half-written record is the end of one that
    /// nobody appends to any more, and the buffer of that goes with it.
    pub fn begin_file(&mut self) {
        self.torn = false;
        self.buffered.clear();
    }

    /// Whether a transaction is missing in the log from its record `from` on. What is missing between
    /// the snapshot and that record is not seen: nobody asks (rule 6.9.5).
    pub fn has_gap(&self, from: usize) -> bool {
        has_gap(&self.log[from..])
    }

    /// A process starts: the checks of rules 6.2.2 and 6.2.3 against the loaded database's last zxid.
    ///
    /// # Errors
    /// The sentence with which the server refuses to start.
    pub fn check_epochs(&mut self, last: Zxid, bugs: Bugs) -> Result<(), &'static str> {
        if last.epoch() > self.current_epoch {
            match self.current_epoch_tmp.take() {
                // A tmp file can be older than this: a crash before its renaming leaves it behind where
                // the log had not reached a new epoch yet, and nobody asks for it until it has.
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
    pub fn count_start(&mut self) -> u16 {
        self.starts += 1;
        self.starts
    }
}

fn has_gap(records: &[Arc<Txn>]) -> bool {
    records.windows(2).any(|pair| is_gap(pair[0].zxid, pair[1].zxid))
}

#[cfg(test)]
mod tests;
