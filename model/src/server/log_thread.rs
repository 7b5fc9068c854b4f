//! The log thread (`SyncRequestProcessor`): transactions wait here to be appended, then to be durable;
//! every so many of them it begins a background snapshot.

use super::context::Context;
use crate::vocabulary::config::Config;
use crate::vocabulary::id::ServerId;
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
        if context.disk.unsynced() > 0 {
            context.disk.make_mut().fsync();
        }
        std::mem::take(&mut self.to_ack)
    }

    /// The role ends, and the next one has a log thread of its own: what is queued is appended, and the log is fsynced;
    /// nothing is acknowledged (ZOOKEEPER-4712).
    pub(super) fn finish(&mut self, context: &mut Context<'_>) {
        for txn in self.queue.drain(..) {
            context.disk.make_mut().append(txn);
        }
        self.to_ack.clear();
        self.logged_since_snapshot = 0;
        if context.disk.unsynced() > 0 {
            context.disk.make_mut().fsync();
        }
    }

    /// The thread has ended: what waits for it is neither appended nor acknowledged any more.
    pub(super) fn end(&mut self) {
        self.queue.clear();
        self.to_ack.clear();
        self.logged_since_snapshot = 0;
    }

    /// Whether the next transaction that is logged is the one for which a background snapshot begins, if it may.
    pub(super) fn is_due_for_snapshot(&self, id: ServerId, config: &Config) -> bool {
        config.snapshot_limit(id).is_some_and(|limit| self.logged_since_snapshot >= limit)
    }

    /// Counts a logged transaction. Returns whether snapCount is reached, for which a background snapshot begins, and a
    /// new file; `may_begin` is false where none can begin now.
    pub(super) fn count_for_snapshot(
        &mut self,
        may_begin: bool,
        context: &mut Context<'_>,
    ) -> bool {
        // Never, so that states need not be told apart by how near it is.
        if !context.config.takes_snapshots() {
            return false;
        }
        let is_due = self.is_due_for_snapshot(context.id, context.config);
        self.logged_since_snapshot += 1;
        if !is_due || !may_begin {
            return false;
        }
        self.logged_since_snapshot = 0;
        if context.disk.is_torn() {
            context.disk.make_mut().begin_file();
        }
        true
    }
}
