//! The CommitProcessor, as far as it separates commits from their application (rule 4.5.8).
//!
//! The thread that learns of a commit (on a leader by the quorum's last ack, on a learner by COMMIT) puts the
//! transaction into `committedRequests`; another thread takes it from there and applies it. In between, the leader
//! has sent its COMMITs, and learners may have applied them and answered clients, while this server still reads,
//! replies, synchronises learners and checks requests with the old tree. SYNCs use the same queue, so they never
//! overtake a commit.
//!
//! When it synchronises learners, a leader calls the same queue `toBeApplied`.

use super::context::Context;
use crate::vocabulary::id::{SessionId, Xid};
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::step::Step;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use std::collections::VecDeque;
use std::sync::Arc;

/// Transactions that are committed here and not applied yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct CommitProcessor {
    committed: VecDeque<Committed>,
    /// True if it missed a wake-up and sleeps although its queue has entries (ZOOKEEPER-4537; only under
    /// [`Bug::MissedWakeUp`]).
    sleeps: bool,
}

/// An entry of `committedRequests`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Committed {
    /// A transaction to apply.
    Txn(Arc<Txn>),
    /// A sync of this server's own client, to be answered.
    Sync(SessionId, Xid),
}

impl CommitProcessor {
    /// Appends an entry to the queue.
    pub(super) fn push(&mut self, committed: Committed, context: &mut Context<'_>) {
        self.committed.push_back(committed);
        if self.committed.len() == 1 {
            self.next_is_due(context);
        } else {
            self.wake(context);
        }
    }

    /// Queues a sync of this server's own client after the first `place` entries; there are more than none.
    pub(super) fn insert_sync(&mut self, place: usize, session: SessionId, xid: Xid) {
        debug_assert!(0 < place && place < self.committed.len(), "it goes between two entries");
        self.committed.insert(place, Committed::Sync(session, xid));
    }

    /// Returns the number of entries before the first transaction that fits, or of all entries.
    pub(super) fn before(&self, fits: impl Fn(&Txn) -> bool) -> usize {
        let fits = |entry: &Committed| matches!(entry, Committed::Txn(txn) if fits(txn));
        self.committed.iter().position(fits).unwrap_or(self.committed.len())
    }

    /// Returns the entries, oldest first.
    pub(super) fn queue(&self) -> impl Iterator<Item = &Committed> {
        self.committed.iter()
    }

    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.committed.len()
    }

    /// Wakes the processor after a request or a commit; if it was sleeping, it now sees its queue.
    pub(super) fn wake(&mut self, context: &mut Context<'_>) {
        if std::mem::take(&mut self.sleeps) {
            self.next_is_due(context);
        }
    }

    /// Lets the processor miss a wake-up: it found its queues empty, and the entry arrived before it began to wait.
    pub(super) fn miss_wake_up(&mut self) {
        self.sleeps = true;
    }

    /// Returns true if the processor can handle its oldest entry.
    pub(super) fn can_apply(&self) -> bool {
        !self.is_empty() && !self.sleeps
    }

    /// Returns true if its last check may predate the only queue entry (a missed wake-up). It does not fall asleep
    /// with older entries in the queue.
    pub(super) fn can_miss_wake_up(&self, bugs: Bugs) -> bool {
        bugs.has(Bug::MissedWakeUp) && self.committed.len() == 1 && !self.sleeps
    }

    /// Returns the transaction that its thread is applying or will apply next.
    pub(super) fn under_way(&self) -> Option<&Arc<Txn>> {
        match self.committed.front() {
            Some(Committed::Txn(txn)) if !self.sleeps => Some(txn),
            _ => None,
        }
    }

    /// Removes the oldest entry.
    ///
    /// # Panics
    /// If the queue is empty.
    pub(super) fn take(&mut self, context: &mut Context<'_>) -> Committed {
        let oldest = self.committed.pop_front().expect("it applies what is committed");
        if !self.committed.is_empty() {
            self.next_is_due(context);
        }
        oldest
    }

    /// Makes the step for the oldest entry due, if application is a step of its own.
    fn next_is_due(&self, context: &mut Context<'_>) {
        if !context.config.applies_at_once {
            context.effects.due(Step::Apply(context.id));
        }
    }

    /// Returns true if nothing is left to apply.
    pub(super) fn is_empty(&self) -> bool {
        self.committed.is_empty()
    }

    /// Returns toBeApplied.
    pub(super) fn to_be_applied(&self) -> impl Iterator<Item = &Arc<Txn>> {
        self.committed.iter().filter_map(|committed| match committed {
            Committed::Txn(txn) => Some(txn),
            Committed::Sync(..) => None,
        })
    }

    /// Returns the last transaction that is committed here and not applied.
    pub(super) fn last(&self) -> Option<Zxid> {
        self.to_be_applied().last().map(|txn| txn.zxid)
    }

    /// Ends the processor with its role: the remaining entries are applied from the log, or by a later leader (rule
    /// 6.8.1).
    pub(super) fn end(&mut self) {
        self.committed.clear();
        self.sleeps = false;
    }
}
