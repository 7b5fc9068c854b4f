//! The background snapshot: written piece by piece while transactions go on being applied, so that
//! its content may be ahead of its label (semantics 6.9).

use super::disk::Snapshot;
use super::{Context, Server};
use crate::path::ZnodePath;
use crate::step::Step;
use crate::tree::DataTree;
use crate::zxid::Zxid;
use std::sync::Arc;

/// A snapshot that is being written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SnapshotInProgress {
    label: Zxid,
    content: DataTree,
    cursor: Option<ZnodePath>,
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
        self.snapshot = Some(SnapshotInProgress { label, content, cursor: None });
        context.effects.due(Step::Snapshot(self.id));
    }

    /// Whether a snapshot is being written.
    pub fn is_snapshotting(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Writes the next piece.
    pub fn snapshot_next(&mut self, context: &mut Context<'_>) -> bool {
        let Some(mut snapshot) = self.snapshot.take() else { return false };
        let size = context.config.snapshot_piece;
        let piece = self.tree.nodes_after(snapshot.cursor.as_ref(), size);
        let is_last = piece.len() < size;
        for (path, node) in piece {
            snapshot.cursor = Some(path.clone());
            snapshot.content.load_node(path, node);
        }
        if is_last {
            let SnapshotInProgress { label, mut content, .. } = snapshot;
            content.set_last_processed(label);
            let content = Arc::new(content);
            context.disk.make_mut().add_snapshot(Snapshot { label, content, durable: false });
        } else {
            self.snapshot = Some(snapshot);
            context.effects.due(Step::Snapshot(self.id));
        }
        true
    }

    /// A snapshot of the present tree in one piece, while nothing is applied.
    pub(super) fn whole_snapshot(&self, durable: bool) -> Snapshot {
        let content = Arc::clone(&self.tree);
        Snapshot { label: self.tree.last_processed(), content, durable }
    }
}
