//! Renames of new epoch files over old ones, which a power loss may undo (rule 6.9.14).
//!
//! The rename of a SNAP's snapshot need not be tracked: a start also reads the file under its temporary name.

use super::Disk;
use crate::vocabulary::event::EpochFile;
use crate::vocabulary::file_system::{FileSystem, Metadata};
use crate::vocabulary::step::OldEpochs;
use crate::vocabulary::zxid::Epoch;

/// The last rename of each file that is not durable yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Renames {
    /// The epoch in the older `acceptedEpoch`, which a power loss may restore.
    accepted_epoch: Option<Epoch>,
    /// The epoch in the older `currentEpoch`, which a power loss may restore.
    current_epoch: Option<Epoch>,
}

/// An epoch file that a power loss has restored to its older contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The restored file.
    pub file: EpochFile,
    /// The epoch that the server had written.
    pub written: Epoch,
    /// The older epoch, which the next start reads.
    pub found: Epoch,
}

impl Disk {
    /// Returns the disk with this file system.
    pub(crate) fn with_file_system(mut self, file_system: FileSystem) -> Disk {
        self.file_system = file_system;
        self
    }

    /// Returns true if a power loss may restore the older `acceptedEpoch`.
    pub fn may_undo_accepted_epoch(&self) -> bool {
        self.renames.accepted_epoch.is_some()
    }

    /// Returns true if a power loss may restore the older `currentEpoch`.
    pub fn may_undo_current_epoch(&self) -> bool {
        self.renames.current_epoch.is_some()
    }

    /// Fsyncs a file with its metadata. On a file system with ordered metadata, this also makes all earlier renames,
    /// truncations and deletions durable. (The log is fsynced by fdatasync, which does not.)
    pub(super) fn fsyncs_a_file(&mut self) {
        if self.file_system.metadata == Metadata::Unordered {
            return;
        }
        self.cut.clear();
        self.renames = Renames::default();
    }

    /// Replaces `acceptedEpoch`: writes and fsyncs a temporary file, and renames it.
    pub(crate) fn write_accepted_epoch(&mut self, epoch: Epoch) {
        self.fsyncs_a_file();
        if !self.file_system.directories_synced && self.accepted_epoch != epoch {
            self.renames.accepted_epoch = Some(self.accepted_epoch);
        }
        self.accepted_epoch = epoch;
    }

    /// Writes and fsyncs `currentEpoch.tmp`.
    pub(crate) fn write_current_epoch_tmp(&mut self, epoch: Epoch) {
        self.fsyncs_a_file();
        self.current_epoch_tmp = Some(epoch);
    }

    /// Renames `currentEpoch.tmp` to `currentEpoch`.
    pub(crate) fn rename_current_epoch(&mut self) {
        let epoch = self.current_epoch_tmp.take().expect("the tmp file was written");
        if !self.file_system.directories_synced && self.current_epoch != epoch {
            self.renames.current_epoch = Some(self.current_epoch);
        }
        self.current_epoch = epoch;
    }

    /// Applies a power loss: undoes the selected renames that are not durable. Returns the files that the next start
    /// cannot repair: it adopts a restored `currentEpoch.tmp` if the log has a transaction of that epoch, and never
    /// reads `acceptedEpoch.tmp`. The caller must have cut the log with [`Disk::crash`] before.
    pub fn undo_renames(&mut self, which: OldEpochs) -> Vec<Undone> {
        let Renames { accepted_epoch, current_epoch } = std::mem::take(&mut self.renames);
        let mut undone = Vec::new();
        if let Some(found) = accepted_epoch.filter(|_| which.has_accepted()) {
            let written = std::mem::replace(&mut self.accepted_epoch, found);
            undone.push(Undone { file: EpochFile::AcceptedEpoch, written, found });
        }
        if let Some(found) = current_epoch.filter(|_| which.has_current()) {
            let written = std::mem::replace(&mut self.current_epoch, found);
            self.current_epoch_tmp = Some(written);
            if self.last_logged().epoch() < written {
                undone.push(Undone { file: EpochFile::CurrentEpoch, written, found });
            }
        }
        undone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::disk::Snapshot;
    use crate::tree::DataTree;
    use crate::vocabulary::config::Config;
    use crate::vocabulary::error::Error;
    use crate::vocabulary::id::{SessionId, Xid};
    use crate::vocabulary::release::{Bug, Bugs};
    use crate::vocabulary::txn::{Txn, TxnBody};
    use crate::vocabulary::zxid::Zxid;
    use std::sync::Arc;

    impl Disk {
        fn rename_again(&mut self, epoch: Epoch) {
            self.write_current_epoch_tmp(epoch);
            self.rename_current_epoch();
        }
    }

    fn txn(epoch: Epoch, counter: u32) -> Arc<Txn> {
        let (zxid, body) = (Zxid::new(epoch, counter), TxnBody::Error(Error::NoNode));
        Arc::new(Txn { zxid, session: SessionId(1), cxid: Xid(1), time: 0, body })
    }

    /// Returns the disk of a server that has accepted epochs 1 and 2, and whose current epoch is 2.
    fn renamed(metadata: Metadata, directories_synced: bool) -> Disk {
        let mut disk = Disk::new(Arc::new(DataTree::new()), Bugs::NONE)
            .with_file_system(FileSystem { metadata, directories_synced });
        for epoch in [1, 2].map(Epoch) {
            disk.write_accepted_epoch(epoch);
            disk.write_current_epoch_tmp(epoch);
            disk.rename_current_epoch();
        }
        disk
    }

    #[test]
    fn a_power_loss_undoes_what_was_renamed_last() {
        for (which, accepted, current) in [
            (OldEpochs::Neither, 2, 2),
            (OldEpochs::Accepted, 1, 2),
            (OldEpochs::Current, 2, 1),
            (OldEpochs::Both, 1, 1),
        ] {
            let mut disk = renamed(Metadata::Unordered, false);
            assert!(disk.may_undo_accepted_epoch() && disk.may_undo_current_epoch());
            // An fsync of the log does not make the renames durable.
            disk.append(txn(Epoch(2), 1));
            disk.fsync();
            let undone = disk.undo_renames(which);
            // A start adopts currentEpoch.tmp, since the log has a transaction of epoch 2.
            let files: Vec<EpochFile> = undone.iter().map(|it| it.file).collect();
            let accepted_file = which.has_accepted().then_some(EpochFile::AcceptedEpoch);
            assert_eq!(files, Vec::from_iter(accepted_file), "{which:?}");
            assert_eq!(
                (disk.accepted_epoch().0, disk.current_epoch().0),
                (accepted, current),
                "{which:?}"
            );
            assert_eq!(disk.current_epoch_tmp(), which.has_current().then_some(Epoch(2)));
            assert!(
                disk.undo_renames(OldEpochs::Both).is_empty(),
                "a power loss decides it for good"
            );
        }
    }

    #[test]
    fn metadata_in_their_order_are_durable_with_the_next_fsync_of_a_whole_file() {
        let mut disk = renamed(Metadata::Ordered, false);
        // The fsync of currentEpoch.tmp came after the rename of acceptedEpoch.
        assert!(!disk.may_undo_accepted_epoch() && disk.may_undo_current_epoch());
        disk.append(txn(Epoch(2), 1));
        disk.fsync();
        assert!(disk.may_undo_current_epoch(), "the log's fsync is one of data only");
        disk.write_accepted_epoch(Epoch(3));
        assert!(disk.may_undo_accepted_epoch() && !disk.may_undo_current_epoch());
        let snapshot = Snapshot {
            label: Zxid::new(Epoch(2), 1),
            content: Arc::new(DataTree::new()),
            durable: true,
        };
        disk.replace_by_snapshot(snapshot, Bugs::NONE);
        assert!(!disk.may_undo_accepted_epoch(), "that of a SNAP is fsynced as a whole");
        assert!(disk.undo_renames(OldEpochs::Both).is_empty());
    }

    #[test]
    fn an_epoch_without_a_transaction_is_forgotten() {
        let mut disk = renamed(Metadata::Unordered, false);
        disk.rename_again(Epoch(2));
        let undone = disk.undo_renames(OldEpochs::Current);
        let found = Undone { file: EpochFile::CurrentEpoch, written: Epoch(2), found: Epoch(1) };
        assert_eq!(undone, [found], "to write the same again changes nothing");
    }

    #[test]
    fn where_directories_are_fsynced_no_rename_is_undone() {
        for metadata in [Metadata::Unordered, Metadata::Ordered] {
            let mut disk = renamed(metadata, true);
            assert!(disk.undo_renames(OldEpochs::Both).is_empty());
            assert_eq!((disk.accepted_epoch(), disk.current_epoch()), (Epoch(2), Epoch(2)));
        }
    }

    #[test]
    fn metadata_in_their_order_make_a_cut_durable_with_the_next_fsync() {
        let bugs = Bugs::NONE.with(Bug::TruncUnsynced);
        let mut disk = Disk::new(Arc::new(DataTree::new()), Bugs::NONE)
            .with_file_system(FileSystem { metadata: Metadata::Ordered, directories_synced: true });
        for counter in 1..=3 {
            disk.append(txn(Epoch(1), counter));
        }
        disk.fsync();
        assert!(disk.truncate(Zxid::new(Epoch(1), 1), &Config { bugs, ..Config::new(1, 0) }));
        assert!(disk.may_undo_cuts());
        disk.write_current_epoch_tmp(Epoch(2));
        assert!(!disk.may_undo_cuts());
    }
}
