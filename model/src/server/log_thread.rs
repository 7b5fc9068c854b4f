//! The log thread (`SyncRequestProcessor`): transactions wait here to be appended, then to be durable;
//! every so many of them it begins a background snapshot.

use super::context::Context;
use super::disk::Disk;
use super::snapshot::SnapshotInProgress;
use crate::tree::DataTree;
use crate::vocabulary::release::Bug;
use crate::vocabulary::step::Step;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use std::collections::VecDeque;
use std::sync::Arc;

/// What the log thread has to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LogThread {
    /// From the packet thread to the log thread.
    pub(super) queue: VecDeque<Arc<Txn>>,
    /// Appended by the log thread, to be acknowledged by its next fsync.
    pub(super) to_ack: Vec<Zxid>,
    /// Transactions logged since the last snapshot.
    pub(super) logged_since_snapshot: u32,
    snapshot: Option<SnapshotInProgress>,
}

impl LogThread {
    /// Hands a transaction to the log thread.
    pub(super) fn push(&mut self, txn: Arc<Txn>, context: &mut Context<'_>) {
        self.queue.push_back(txn);
        context.effects.due(Step::Append(context.id));
    }

    /// Whether there is something to append.
    pub(super) fn can_append(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether there is something to make durable.
    pub(super) fn can_fsync(&self) -> bool {
        !self.to_ack.is_empty()
    }

    /// Appends the next transaction, not yet durable.
    pub(super) fn append_next(&mut self, context: &mut Context<'_>) {
        let txn = self.queue.pop_front().expect("it appends what waits in its queue");
        if self.to_ack.is_empty() {
            context.effects.due(Step::Fsync(context.id));
        }
        self.to_ack.push(txn.zxid);
        context.effects.note(|| format!("{} appends to its log: {txn}", context.id));
        context.disk.make_mut().append(txn);
    }

    /// The fsync completes. What is to be acknowledged now, in order.
    pub(super) fn fsync(&mut self, context: &mut Context<'_>) -> Vec<Zxid> {
        assert!(self.can_fsync(), "{}: it fsyncs what it has appended", context.id);
        let snapshot_waits = self.snapshot_waits(context.disk);
        if context.disk.unsynced() > 0 {
            context.disk.make_mut().fsync();
        }
        if snapshot_waits && self.can_snapshot(context.disk) {
            context.effects.due(Step::Snapshot(context.id));
        }
        std::mem::take(&mut self.to_ack)
    }

    /// The role ends: what is queued is appended, all is fsynced, nobody is told (ZOOKEEPER-4712). A
    /// snapshot in progress is dropped.
    pub(super) fn finish(&mut self, context: &mut Context<'_>) {
        self.snapshot = None;
        for txn in self.queue.drain(..) {
            context.disk.make_mut().append(txn);
        }
        self.to_ack.clear();
        if context.disk.unsynced() > 0 {
            context.disk.make_mut().fsync();
        }
    }

    /// The thread has ended: what waits for it is neither appended nor acknowledged any more.
    pub(super) fn end(&mut self) {
        self.queue.clear();
        self.to_ack.clear();
    }

    // ---- the background snapshot ----

    /// Counts a logged transaction and begins a snapshot when snapCount is reached. (The real count
    /// is drawn between half of snapCount and all of it, so that servers do not all snapshot at
    /// once; here the server's id staggers them.)
    pub(super) fn count_for_snapshot(
        &mut self,
        is_serving: bool,
        tree: &DataTree,
        context: &mut Context<'_>,
    ) {
        // Never, so that states need not be told apart by how near it is.
        if context.config.snap_count == u32::MAX {
            return;
        }
        self.logged_since_snapshot += 1;
        let half = (context.config.snap_count / 2).max(1);
        let limit = half + half * u32::from(context.id.0) / u32::from(context.config.servers);
        if self.logged_since_snapshot <= limit || self.snapshot.is_some() || !is_serving {
            return;
        }
        self.logged_since_snapshot = 0;
        if context.disk.is_torn() {
            context.disk.make_mut().begin_file();
        }
        self.snapshot = Some(SnapshotInProgress::begin(tree));
        context.effects.due(Step::Snapshot(context.id));
    }

    /// Whether a snapshot has a piece to write, or is written and need not wait any more.
    pub(super) fn can_snapshot(&self, disk: &Disk) -> bool {
        self.snapshot.as_ref().is_some_and(|snapshot| !snapshot.waits(disk))
    }

    /// Whether a snapshot is written and waits for the log.
    fn snapshot_waits(&self, disk: &Disk) -> bool {
        self.snapshot.as_ref().is_some_and(|snapshot| snapshot.waits(disk))
    }

    /// Writes the next piece; behind the last one, and behind the log, the snapshot is there.
    pub(super) fn snapshot_next(&mut self, tree: &DataTree, context: &mut Context<'_>) {
        let snapshot = self.snapshot.as_mut().expect("a snapshot is in progress");
        assert!(!snapshot.waits(context.disk), "{}: its snapshot waits for the log", context.id);
        if !snapshot.is_written() && !snapshot.write_next(tree, context.config.snapshot_piece) {
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
}
