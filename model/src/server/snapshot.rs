//! The background snapshot: written piece by piece while transactions go on being applied, so that
//! its content may be ahead of its label (rule 6.9.2).
//!
//! What is applied can be ahead of the server's own log as well (rule 4.5.3), so a snapshot that is
//! written waits for the log before it counts (see [`Bug::SnapshotAheadOfLog`]). Its thread writes the database's tree,
//! which it goes on to do when the server has left its role, and when the database has another tree (rule 6.9.12; see
//! [`Bug::SnapshotOutlivesRole`]).

use super::context::Context;
use super::database::Database;
use super::disk::{Disk, Snapshot};
use crate::tree::DataTree;
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::release::Bug;
use crate::vocabulary::step::Step;
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

/// A snapshot that is being written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SnapshotInProgress {
    label: Zxid,
    /// The tree that is written, if the database has another one by now.
    of: Option<Arc<DataTree>>,
    content: DataTree,
    cursor: Option<ZnodePath>,
    /// All is written, and of no transaction above this one: it waits until the log is durable up to
    /// there.
    waits_for: Option<Zxid>,
}

impl SnapshotInProgress {
    /// Its label and the sessions are those of this moment.
    fn begin(tree: &DataTree) -> SnapshotInProgress {
        let mut content = DataTree::empty();
        content.begin_acls_of(tree);
        for (session, timeout) in tree.sessions() {
            content.load_session(*session, *timeout);
        }
        let label = tree.last_processed();
        SnapshotInProgress { label, of: None, content, cursor: None, waits_for: None }
    }

    /// Whether it is written and waits for the log.
    fn waits(&self, disk: &Disk) -> bool {
        self.waits_for.is_some_and(|zxid| zxid > disk.last_durable())
    }

    /// Writes the next piece, of this size, of the tree as it is now. Returns whether it was the last.
    fn write_next(&mut self, tree: &DataTree, size: usize) -> bool {
        let of = self.of.take();
        let tree = of.as_deref().unwrap_or(tree);
        let piece = tree.nodes_after(self.cursor.as_ref(), size);
        let is_last = piece.len() < size;
        for (path, node) in piece {
            self.cursor = Some(path.clone());
            self.content.load_acl_of(&path, tree);
            self.content.load_node(path, node);
        }
        if is_last {
            self.waits_for = Some(tree.last_processed());
        } else {
            self.of = of;
        }
        is_last
    }

    /// What is on disk now.
    fn ended(self, durable: bool) -> Snapshot {
        let SnapshotInProgress { label, mut content, .. } = self;
        content.set_last_processed(label);
        Snapshot { label, content: Arc::new(content), durable }
    }
}

impl Database {
    /// Whether a background snapshot is in progress.
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

    /// Whether a snapshot has a piece to write, or is written and need not wait any more.
    pub(super) fn can_snapshot(&self, disk: &Disk) -> bool {
        self.snapshot.as_ref().is_some_and(|snapshot| !snapshot.waits(disk))
    }

    /// Whether a snapshot is written and waits for the log.
    pub(super) fn snapshot_waits(&self, disk: &Disk) -> bool {
        self.snapshot.as_ref().is_some_and(|snapshot| snapshot.waits(disk))
    }

    /// Writes the next piece; after the last one, and once the log is as far, the snapshot is there.
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

    /// Waits for the background snapshot to end. The tree does not change meanwhile, so all pieces are written at once.
    /// What must wait for a log that goes no further is given up.
    pub(super) fn finish_snapshot(&mut self, context: &mut Context<'_>) {
        while self.can_snapshot(context.disk) {
            self.snapshot_next(context);
        }
        self.snapshot = None;
    }

    /// Another tree takes the place of this one, which a background snapshot goes on with.
    pub(super) fn replace_tree(&mut self, tree: DataTree) {
        let replaced = std::mem::replace(&mut self.tree, Arc::new(tree));
        // What a thread of an older role does to that one, no client sees.
        self.rest.take_if(|rest| rest.is_of_a_tree);
        if let Some(snapshot) = &mut self.snapshot
            && snapshot.waits_for.is_none()
        {
            snapshot.of.get_or_insert(replaced);
        }
    }
}
