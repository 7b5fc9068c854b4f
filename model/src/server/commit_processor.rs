//! The CommitProcessor, as far as it keeps commits apart from their application (rule 4.5.8).
//!
//! Whoever learns that a transaction is committed (a leader by its quorum's last ack, a learner by COMMIT)
//! puts it into `committedRequests` and goes on; another thread takes it from there and applies it. In
//! between the leader has sent its COMMITs, learners have applied them and their clients have been
//! answered, while this server still reads, answers, synchronises learners and checks requests with the
//! tree from before. SYNCs go through the same queue, so none of them overtakes a commit.
//!
//! A leader calls the same queue `toBeApplied` where it synchronises learners.

use super::context::Context;
use crate::vocabulary::id::{SessionId, Xid};
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::step::Step;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use std::collections::VecDeque;
use std::sync::Arc;

/// What is committed here and not applied yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct CommitProcessor {
    committed: VecDeque<Committed>,
    /// It has missed that there is something, and sleeps until it is woken (ZOOKEEPER-4537; only under
    /// [`Bug::MissedWakeUp`]).
    sleeps: bool,
}

/// An entry of `committedRequests`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Committed {
    /// A transaction, to be applied.
    Txn(Arc<Txn>),
    /// A sync of this server's own client, to be answered.
    Sync(SessionId, Xid),
}

impl CommitProcessor {
    /// Puts one behind the others.
    pub(super) fn push(&mut self, committed: Committed, context: &mut Context<'_>) {
        self.committed.push_back(committed);
        if self.committed.len() == 1 {
            self.next_is_due(context);
        } else {
            self.wake(context);
        }
    }

    /// A request comes to it, or one more commit: if it has slept, it sees what is there.
    pub(super) fn wake(&mut self, context: &mut Context<'_>) {
        if std::mem::take(&mut self.sleeps) {
            self.next_is_due(context);
        }
    }

    /// It looks into its queues and finds nothing; then something comes, whose wake-up falls before it waits for one.
    pub(super) fn miss_wake_up(&mut self) {
        self.sleeps = true;
    }

    /// Whether a transaction or a sync is its next thing to do.
    pub(super) fn can_apply(&self) -> bool {
        !self.is_empty() && !self.sleeps
    }

    /// Whether it may have looked just before what is there now came. (It does not fall asleep with something left.)
    pub(super) fn can_miss_wake_up(&self, bugs: Bugs) -> bool {
        bugs.has(Bug::MissedWakeUp) && self.committed.len() == 1 && !self.sleeps
    }

    /// The transaction that its thread is about to apply, or has begun to.
    pub(super) fn under_way(&self) -> Option<&Arc<Txn>> {
        match self.committed.front() {
            Some(Committed::Txn(txn)) if !self.sleeps => Some(txn),
            _ => None,
        }
    }

    /// Takes the oldest one.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn take(&mut self, context: &mut Context<'_>) -> Committed {
        let oldest = self.committed.pop_front().expect("it applies what is committed");
        if !self.committed.is_empty() {
            self.next_is_due(context);
        }
        oldest
    }

    /// The thread turns to the oldest one, unless that is no step of its own.
    fn next_is_due(&self, context: &mut Context<'_>) {
        if !context.config.applies_at_once {
            context.effects.due(Step::Apply(context.id));
        }
    }

    /// Whether there is nothing left to apply.
    pub(super) fn is_empty(&self) -> bool {
        self.committed.is_empty()
    }

    /// toBeApplied.
    pub(super) fn to_be_applied(&self) -> impl Iterator<Item = &Arc<Txn>> {
        self.committed.iter().filter_map(|committed| match committed {
            Committed::Txn(txn) => Some(txn),
            Committed::Sync(..) => None,
        })
    }

    /// The last transaction that is committed here and not applied.
    pub(super) fn last(&self) -> Option<Zxid> {
        self.to_be_applied().last().map(|txn| txn.zxid)
    }

    /// The role ends, and the thread with it: what is left is applied from the log, or by a later leader
    /// (rule 6.8.1).
    pub(super) fn end(&mut self) {
        self.committed.clear();
        self.sleeps = false;
    }
}
