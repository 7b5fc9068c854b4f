//! A server's database in memory (`ZKDatabase`): the tree, and the last transactions applied to it.

use super::apply_rest::Rest;
use super::committed_log::CommittedLog;
use super::context::Context;
use super::disk::Snapshot;
use super::snapshot::SnapshotInProgress;
use crate::tree::{Applied, Change, DataTree};
use crate::vocabulary::release::Bug;
use crate::vocabulary::step::Step;
use crate::vocabulary::txn::Txn;
use crate::wire::txn::can_read;
use std::sync::Arc;

/// The reason why a server exits after it could not find an ACL by its number (see [`Bug::AclByNumber`]).
pub(super) const ACL_MISSED: &str = "the number of a znode's ACL stands for none";

/// The tree and committedLog.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Database {
    pub(super) tree: Arc<DataTree>,
    pub(super) committed_log: CommittedLog,
    /// The background snapshot that is being written.
    pub(super) snapshot: Option<SnapshotInProgress>,
    /// The rest of a transaction that the thread of an earlier role still has to apply.
    pub(super) rest: Option<Rest>,
}

impl Database {
    /// Returns the database of a disk: this tree, loaded from a snapshot and the log, with the log from index `from`
    /// on as committedLog.
    pub(super) fn of_disk((tree, from): (DataTree, usize), context: &Context<'_>) -> Database {
        let mut committed_log = CommittedLog::default();
        for txn in &context.disk.log()[from..] {
            committed_log.add(Arc::clone(txn), context.config);
        }
        Database { tree: Arc::new(tree), committed_log, snapshot: None, rest: None }
    }

    /// Reloads the database from disk and drops the memory's content.
    ///
    /// # Errors
    /// The sentence with which the process exits, as for [`load`].
    pub(super) fn reload(&mut self, context: &mut Context<'_>) -> Result<(), &'static str> {
        let Database { tree, committed_log, .. } = Database::of_disk(load(context)?, context);
        self.replace_tree(Arc::unwrap_or_clone(tree));
        self.committed_log = committed_log;
        Ok(())
    }

    /// Applies to memory everything that the log has beyond it (fastForwardDataBase).
    ///
    /// # Errors
    /// The sentence with which the process exits, if it cannot read its log. (In HEAD the server then drops the
    /// database, and fails to load it from the same log for as long as the process lives, in
    /// `QuorumPeer.getLastLoggedZxid`.)
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

    /// Applies a transaction without a reply.
    pub(super) fn apply(&mut self, txn: Arc<Txn>, context: &Context<'_>) {
        self.tree_mut().apply(&txn);
        self.committed_log.add(txn, context.config);
    }

    /// Applies a committed transaction. Returns the reply for its client and the changes for the watches.
    pub(super) fn commit(&mut self, txn: &Arc<Txn>, context: &Context<'_>) -> Applied {
        let applied = self.tree_mut().apply_with(txn, context.config.bugs);
        self.committed_log.add(Arc::clone(txn), context.config);
        applied
    }

    /// Handles the end of a role while its CommitProcessor applies this transaction: unless the server waits for that
    /// thread, the rest of the transaction is applied later. (Of two such threads, only the first is kept.)
    pub(super) fn leave_rest_of(&mut self, txn: &Txn, context: &mut Context<'_>) {
        if !context.config.bugs.has(Bug::ApplyOutlivesRole) || self.has_rest() {
            return;
        }
        self.rest = Rest::of(txn);
        if self.has_rest() {
            context.effects.due(Step::ApplyRest(context.id));
        }
    }

    /// Returns true if the thread of an earlier role has the rest of a transaction to apply.
    pub(super) fn has_rest(&self) -> bool {
        self.rest.is_some()
    }

    /// Applies that rest to the present tree.
    pub(super) fn apply_rest(&mut self) -> (Arc<Txn>, Vec<Change>) {
        let Rest { txn, .. } = self.rest.take().expect("there is a rest");
        let Applied { changes, .. } = self.tree_mut().apply(&txn);
        (txn, changes)
    }

    /// Returns the tree, for changes.
    pub(super) fn tree_mut(&mut self) -> &mut DataTree {
        Arc::make_mut(&mut self.tree)
    }

    /// Returns a snapshot of the present tree in one piece.
    pub(super) fn whole_snapshot(&self, durable: bool) -> Snapshot {
        let content = Arc::clone(&self.tree);
        Snapshot { label: self.tree.last_processed(), content, durable }
    }
}

/// Loads the tree from the disk. Returns it with the index in the log where its replay began. An empty disk first
/// gets the initial database (rule 6.9.4).
///
/// # Errors
/// The sentence with which the process exits: there is a log but no snapshot to begin with, or the log is unreadable.
pub(super) fn load(context: &mut Context<'_>) -> Result<(DataTree, usize), &'static str> {
    if context.disk.snapshots().is_empty() {
        context.disk.make_mut().begin_database(context.config)?;
    }
    let (tree, from) = context.disk.load().expect("there is a snapshot");
    check_lengths(&context.disk.log()[from..], context)?;
    if tree.missed_acl().is_some() {
        return Err(ACL_MISSED);
    }
    Ok((tree, from))
}

/// Checks that all these records can be read (see
/// [`Bug::LongRecordUnreadable`](crate::vocabulary::release::Bug::LongRecordUnreadable)).
fn check_lengths(records: &[Arc<Txn>], context: &Context<'_>) -> Result<(), &'static str> {
    match records.iter().all(|txn| can_read(context.config, txn)) {
        true => Ok(()),
        false => Err("a record of its log is longer than it reads"),
    }
}
