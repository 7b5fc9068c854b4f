//! The thread that writes a background snapshot ([`super::snapshot`]) concurrently with the database.

use super::context::Context;
use super::database::Database;
use super::disk::Disk;
use super::snapshot::SnapshotInProgress;
use crate::tree::DataTree;
use crate::vocabulary::release::Bug;
use crate::vocabulary::step::Step;
use std::sync::Arc;

impl Database {
    /// Returns true if a background snapshot is in progress.
    pub(super) fn is_writing_snapshot(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Begins a background snapshot.
    pub(super) fn begin_snapshot(&mut self, context: &mut Context<'_>) {
        assert!(!self.is_writing_snapshot(), "{}: one background snapshot at a time", context.id);
        let snapshot = SnapshotInProgress::begin(&self.tree);
        context.open_snapshot(snapshot.label);
        self.snapshot = Some(snapshot);
        context.effects.due(Step::Snapshot(context.id));
    }

    /// Returns true if a snapshot has a piece to write, or is written and need not wait any more.
    pub(super) fn can_snapshot(&self, disk: &Disk) -> bool {
        self.snapshot.as_ref().is_some_and(|snapshot| !snapshot.waits(disk))
    }

    /// Returns true if a snapshot is written and waits for the log.
    pub(super) fn snapshot_waits(&self, disk: &Disk) -> bool {
        self.snapshot.as_ref().is_some_and(|snapshot| snapshot.waits(disk))
    }

    /// Writes the next piece. After the last one, and once the log is durable that far, the snapshot becomes valid.
    pub(super) fn snapshot_next(&mut self, context: &mut Context<'_>) {
        let snapshot = self.snapshot.as_mut().expect("a snapshot is in progress");
        assert!(!snapshot.waits(context.disk), "{}: its snapshot waits for the log", context.id);
        let is_written = snapshot.waits_for.is_some();
        if !is_written && !snapshot.write_next(&self.tree, context.config.snapshot_piece) {
            context.effects.due(Step::Snapshot(context.id));
            return;
        }
        let is_unsynced = context.config.bugs.has(Bug::SnapshotAheadOfLog);
        if is_unsynced || !snapshot.waits(context.disk) {
            let snapshot = self.snapshot.take().expect("it was just written");
            let snapshot = snapshot.ended(!is_unsynced);
            context.disk.make_mut().add_snapshot(snapshot, context.config.bugs);
        }
    }

    /// Waits for the background snapshot to end. The tree does not change meanwhile, so all pieces are written in one
    /// step. A snapshot that would have to wait for the log is discarded, because the log no longer advances.
    pub(super) fn finish_snapshot(&mut self, context: &mut Context<'_>) {
        while self.can_snapshot(context.disk) {
            self.snapshot_next(context);
        }
        self.snapshot = None;
    }

    /// Replaces the tree; a background snapshot continues with the old one.
    pub(super) fn replace_tree(&mut self, tree: DataTree) {
        let replaced = std::mem::replace(&mut self.tree, Arc::new(tree));
        // No client sees what the thread of an earlier role does to the old tree.
        self.rest.take_if(|rest| rest.is_of_a_tree);
        if let Some(snapshot) = &mut self.snapshot
            && snapshot.waits_for.is_none()
        {
            snapshot.of.get_or_insert(replaced);
        }
    }
}
