//! The background snapshot: written piece by piece while transactions go on being applied, so that
//! its content may be ahead of its label (semantics 6.9).
//!
//! What is applied can be ahead of the server's own log as well (semantics 4.5), so a snapshot that is
//! written waits for the log before it counts (see [`Bug::SnapshotAheadOfLog`]).

use super::disk::{Disk, Snapshot};
use super::{Context, Server};
use crate::tree::DataTree;
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::release::Bug;
use crate::vocabulary::step::Step;
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

/// A snapshot that is being written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SnapshotInProgress {
    label: Zxid,
    content: DataTree,
    cursor: Option<ZnodePath>,
    /// All is written, and of no transaction above this one: it waits until the log is durable up to
    /// there.
    waits_for: Option<Zxid>,
}

impl Server {
    /// Counts a logged transaction and begins a snapshot when snapCount is reached. (The real count
    /// is drawn between half of snapCount and all of it, so that servers do not all snapshot at
    /// once; here the server's id staggers them.)
    pub(super) fn count_for_snapshot(&mut self, context: &mut Context<'_>) {
        // Never, so that states need not be told apart by how near it is.
        if context.config.snap_count == u32::MAX {
            return;
        }
        self.logged_since_snapshot += 1;
        let half = (context.config.snap_count / 2).max(1);
        let limit = half + half * u32::from(self.id.0) / u32::from(context.config.servers);
        if self.logged_since_snapshot <= limit || self.snapshot.is_some() || !self.is_serving() {
            return;
        }
        self.logged_since_snapshot = 0;
        let mut content = DataTree::empty();
        for (session, timeout) in self.tree.sessions() {
            content.load_session(*session, *timeout);
        }
        let label = self.tree.last_processed();
        self.snapshot = Some(SnapshotInProgress { label, content, cursor: None, waits_for: None });
        context.effects.due(Step::Snapshot(self.id));
    }

    /// Whether a snapshot has a piece to write, or is written and need not wait any more.
    pub fn can_snapshot(&self, disk: &Disk) -> bool {
        self.snapshot.is_some() && !self.snapshot_waits(disk)
    }

    /// Whether a snapshot is written and waits for the log.
    pub(super) fn snapshot_waits(&self, disk: &Disk) -> bool {
        let waits_for = self.snapshot.as_ref().and_then(|snapshot| snapshot.waits_for);
        waits_for.is_some_and(|zxid| zxid > disk.last_durable())
    }

    /// Writes the next piece; behind the last one, and behind the log, the snapshot is there.
    pub fn snapshot_next(&mut self, context: &mut Context<'_>) -> bool {
        if !self.can_snapshot(context.disk) {
            return false;
        }
        let Some(snapshot) = &mut self.snapshot else { return false };
        if snapshot.waits_for.is_none() {
            let size = context.config.snapshot_piece;
            let piece = self.tree.nodes_after(snapshot.cursor.as_ref(), size);
            let is_last = piece.len() < size;
            for (path, node) in piece {
                snapshot.cursor = Some(path.clone());
                snapshot.content.load_node(path, node);
            }
            if !is_last {
                context.effects.due(Step::Snapshot(self.id));
                return true;
            }
            snapshot.waits_for = Some(self.tree.last_processed());
        }
        let is_unsynced = context.config.bugs.has(Bug::SnapshotAheadOfLog);
        if is_unsynced || !self.snapshot_waits(context.disk) {
            self.end_snapshot(!is_unsynced, context);
        }
        true
    }

    fn end_snapshot(&mut self, durable: bool, context: &mut Context<'_>) {
        let snapshot = self.snapshot.take().expect("it was just written");
        let SnapshotInProgress { label, mut content, .. } = snapshot;
        content.set_last_processed(label);
        let snapshot = Snapshot { label, content: Arc::new(content), durable };
        context.disk.make_mut().add_snapshot(snapshot, context.config.bugs);
    }

    /// A snapshot of the present tree in one piece, while nothing is applied.
    pub(super) fn whole_snapshot(&self, durable: bool) -> Snapshot {
        let content = Arc::clone(&self.tree);
        Snapshot { label: self.tree.last_processed(), content, durable }
    }
}
