//! A server's database in memory (`ZKDatabase`): the tree, and the last transactions that it applied.

use super::committed_log::CommittedLog;
use super::context::Context;
use super::disk::Snapshot;
use super::rest::Rest;
use super::snapshot::SnapshotInProgress;
use crate::tree::{Applied, Change, DataTree};
use crate::vocabulary::release::Bug;
use crate::vocabulary::step::Step;
use crate::vocabulary::txn::Txn;
use crate::wire::txn::can_read;
use std::sync::Arc;

/// Why a server gives up that has looked up an ACL in vain (see [`Bug::AclByNumber`]).
pub(super) const ACL_MISSED: &str = "the number of a znode's ACL stands for none";

/// The tree and committedLog.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Database {
    pub(super) tree: Arc<DataTree>,
    pub(super) committed_log: CommittedLog,
    /// The background snapshot, while its thread writes.
    pub(super) snapshot: Option<SnapshotInProgress>,
    /// What the thread of an older role has left of a transaction.
    pub(super) rest: Option<Rest>,
}

impl Database {
    /// What a disk holds: this tree, of a snapshot and the log behind it; the log from this place on is
    /// what committedLog can have.
    pub(super) fn of_disk((tree, from): (DataTree, usize), context: &Context<'_>) -> Database {
        let mut committed_log = CommittedLog::default();
        for txn in &context.disk.log()[from..] {
            committed_log.add(Arc::clone(txn), context.config);
        }
        Database { tree: Arc::new(tree), committed_log, snapshot: None, rest: None }
    }

    /// Loads the database from disk: drops what memory had.
    ///
    /// # Errors
    /// The sentence with which the process gives up, as for [`load`].
    pub(super) fn reload(&mut self, context: &mut Context<'_>) -> Result<(), &'static str> {
        let Database { tree, committed_log, .. } = Database::of_disk(load(context)?, context);
        self.replace_tree(Arc::unwrap_or_clone(tree));
        self.committed_log = committed_log;
        Ok(())
    }

    /// fastForwardDataBase: applies to memory all that the log has beyond it.
    ///
    /// # Errors
    /// The sentence with which the process gives up: it cannot read its log. (HEAD drops the database then, and fails to
    /// load it from the same log for as long as the process lives, in `QuorumPeer.getLastLoggedZxid`.)
    pub(super) fn fast_forward(&mut self, context: &Context<'_>) -> Result<(), &'static str> {
        let last = self.tree.last_processed();
        let from = context.disk.log().partition_point(|txn| txn.zxid <= last);
        let records = &context.disk.log()[from..];
        check_lengths(records, context)?;
        for txn in records {
            self.apply(Arc::clone(txn), context);
        }
        Ok(())
    }

    /// Applies a transaction for which nobody waits.
    pub(super) fn apply(&mut self, txn: Arc<Txn>, context: &Context<'_>) {
        self.tree_mut().apply(&txn);
        self.committed_log.add(txn, context.config);
    }

    /// Applies a committed transaction: the answer for its client and the changes for the watches.
    pub(super) fn commit(&mut self, txn: &Arc<Txn>, context: &Context<'_>) -> Applied {
        let applied = self.tree_mut().apply_with(txn, context.config.bugs);
        self.committed_log.add(Arc::clone(txn), context.config);
        applied
    }

    /// The role ends while its CommitProcessor applies this transaction, whose rest comes later, unless the thread is waited
    /// for. (Of two such threads only the first one is kept.)
    pub(super) fn leave_rest_of(&mut self, txn: &Txn, context: &mut Context<'_>) {
        if !context.config.bugs.has(Bug::ApplyOutlivesRole) || self.has_rest() {
            return;
        }
        self.rest = Rest::of(txn);
        if self.has_rest() {
            context.effects.due(Step::ApplyRest(context.id));
        }
    }

    /// Whether a thread of an older role has something left to apply.
    pub(super) fn has_rest(&self) -> bool {
        self.rest.is_some()
    }

    /// Applies it, to the tree as it is now.
    pub(super) fn apply_rest(&mut self) -> (Arc<Txn>, Vec<Change>) {
        let Rest { txn, .. } = self.rest.take().expect("there is a rest");
        let Applied { changes, .. } = self.tree_mut().apply(&txn);
        (txn, changes)
    }

    /// The tree, to change it.
    pub(super) fn tree_mut(&mut self) -> &mut DataTree {
        Arc::make_mut(&mut self.tree)
    }

    /// A snapshot of the present tree in one piece.
    pub(super) fn whole_snapshot(&self, durable: bool) -> Snapshot {
        let content = Arc::clone(&self.tree);
        Snapshot { label: self.tree.last_processed(), content, durable }
    }
}

/// What the disk holds, and where in the log its replay begins; a disk without anything holds the first database then
/// (rule 6.9.4).
///
/// # Errors
/// The sentence with which the process gives up: there is a log, and no snapshot that it goes on from, or it cannot read
/// the log.
pub(super) fn load(context: &mut Context<'_>) -> Result<(DataTree, usize), &'static str> {
    if context.disk.snapshots().is_empty() {
        context.disk.make_mut().begin_database(&context.config.setup, context.config.bugs)?;
    }
    let (tree, from) = context.disk.load().expect("there is a snapshot");
    check_lengths(&context.disk.log()[from..], context)?;
    if tree.missed_acl().is_some() {
        return Err(ACL_MISSED);
    }
    Ok((tree, from))
}

/// Whether all these records can be read (see
/// [`Bug::LongRecordUnreadable`](crate::vocabulary::release::Bug::LongRecordUnreadable)).
fn check_lengths(records: &[Arc<Txn>], context: &Context<'_>) -> Result<(), &'static str> {
    match records.iter().all(|txn| can_read(context.config, txn)) {
        true => Ok(()),
        false => Err("a record of its log is longer than it reads"),
    }
}
