//! The log thread (`SyncRequestProcessor`): its queue of transactions to append, those to fsync, and the beginning of
//! background snapshots.

use super::context::Context;
use crate::vocabulary::config::Config;
use crate::vocabulary::id::ServerId;
use crate::vocabulary::note::Note;
use crate::vocabulary::step::Step;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The work of the log thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LogThread {
    /// Transactions that the packet thread has queued.
    pub(super) queue: VecDeque<Arc<Txn>>,
    /// Transactions appended, to be acknowledged by the next fsync.
    pub(super) to_ack: Vec<Zxid>,
    /// Transactions logged since the last snapshot.
    pub(super) logged_since_snapshot: u32,
    /// The work of an earlier role's log thread.
    pub(super) left: Left,
}

/// The work of an earlier role's log thread ([`Bug::LogThreadOutlivesRole`](crate::vocabulary::release::Bug)). Without any work, a state is hashed as if
/// there were no such thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    queue: VecDeque<Arc<Txn>>,
    /// True if it has appended something since its last fsync.
    unsynced: bool,
}

impl Hash for Left {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if *self != Left::default() {
            self.queue.hash(state);
            self.unsynced.hash(state);
        }
    }
}

impl LogThread {
    /// Queues a transaction for the log thread.
    pub(super) fn push(&mut self, txn: Arc<Txn>, context: &mut Context<'_>) {
        self.queue.push_back(txn);
        context.effects.due(Step::Append(context.id));
    }

    /// Returns true if there is a transaction to append.
    pub(super) fn can_append(&self) -> bool {
        !self.queue.is_empty() || !self.left.queue.is_empty()
    }

    /// Returns true if the log thread of an earlier role still has work.
    pub(super) fn has_left(&self) -> bool {
        self.left != Left::default()
    }

    /// Returns true if nothing waits to be appended or to be made durable.
    pub(super) fn is_idle(&self) -> bool {
        !self.can_append() && !self.can_fsync()
    }

    /// Returns true if there are appends to make durable.
    pub(super) fn can_fsync(&self) -> bool {
        !self.to_ack.is_empty() || self.left.unsynced
    }

    /// Appends the next transaction; it is not durable yet.
    pub(super) fn append_next(&mut self, context: &mut Context<'_>) {
        if !self.can_fsync() {
            context.effects.due(Step::Fsync(context.id));
        }
        let txn = match self.left.queue.pop_front() {
            Some(txn) => {
                self.left.unsynced = true;
                txn
            }
            None => {
                let txn = self.queue.pop_front().expect("it appends what waits in its queue");
                self.to_ack.push(txn.zxid);
                txn
            }
        };
        context.effects.note(|| Note::Appended { server: context.id, txn: Arc::clone(&txn) });
        context.disk.make_mut().append(txn);
    }

    /// Completes the fsync. Returns the zxids to acknowledge now, in order.
    pub(super) fn fsync(&mut self, context: &mut Context<'_>) -> Vec<Zxid> {
        assert!(self.can_fsync(), "{}: it fsyncs what it has appended", context.id);
        if context.disk.unsynced() > 0 {
            context.disk.make_mut().fsync();
        }
        self.left.unsynced = false;
        std::mem::take(&mut self.to_ack)
    }

    /// Leaves its work to be done after the role ([`Bug::LogThreadOutlivesRole`](crate::vocabulary::release::Bug)); acknowledgements find a closed
    /// connection. If an earlier thread has work left, this is done after it.
    pub(super) fn outlive(&mut self) {
        self.left.unsynced |= !self.to_ack.is_empty();
        self.left.queue.append(&mut self.queue);
        self.to_ack.clear();
        self.logged_since_snapshot = 0;
    }

    /// Ends the thread with its role; the next role has its own. Queued transactions are appended and the log is
    /// fsynced, but nothing is acknowledged (ZOOKEEPER-4712).
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

    /// Ends the thread after a failure: queued transactions are neither appended nor acknowledged.
    pub(super) fn end(&mut self) {
        *self = LogThread::default();
    }

    /// Returns true if the next logged transaction begins a background snapshot, provided that one may begin.
    pub(super) fn is_due_for_snapshot(&self, id: ServerId, config: &Config) -> bool {
        config.snapshot_limit(id).is_some_and(|limit| self.logged_since_snapshot >= limit)
    }

    /// Counts a logged transaction. Returns true if snapCount is reached, so that a background snapshot and a new
    /// file begin; `may_begin` is false if none can begin now.
    pub(super) fn count_for_snapshot(
        &mut self,
        may_begin: bool,
        context: &mut Context<'_>,
    ) -> bool {
        // Without snapshots nothing is counted, so that states are not distinguished by the count.
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
