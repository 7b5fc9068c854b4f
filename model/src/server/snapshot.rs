//! The background snapshot: written piece by piece while transactions go on being applied, so that
//! its content may be ahead of its label (rule 6.9.2).
//!
//! What is applied can be ahead of the server's own log as well (rule 4.5.3), so a snapshot that is
//! written waits for the log before it counts (see [`SnapshotAheadOfLog`](crate::vocabulary::release::Bug::SnapshotAheadOfLog)). Its thread writes the database's tree,
//! which it goes on to do when the server has left its role, and when the database has another tree (rule 6.9.12; see
//! [`SnapshotOutlivesRole`](crate::vocabulary::release::Bug::SnapshotOutlivesRole)).

use super::disk::{Disk, Snapshot};
use crate::tree::DataTree;
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

/// A snapshot that is being written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SnapshotInProgress {
    pub(super) label: Zxid,
    /// The tree that is written, if the database has another one by now.
    pub(super) of: Option<Arc<DataTree>>,
    content: DataTree,
    cursor: Option<ZnodePath>,
    /// All is written, and of no transaction above this one: it waits until the log is durable up to
    /// there.
    pub(super) waits_for: Option<Zxid>,
}

impl SnapshotInProgress {
    /// Its label and the sessions are those of this moment.
    pub(super) fn begin(tree: &DataTree) -> SnapshotInProgress {
        let mut content = DataTree::empty();
        content.begin_acls_of(tree);
        for (session, timeout) in tree.sessions() {
            content.load_session(*session, *timeout);
        }
        let label = tree.last_processed();
        SnapshotInProgress { label, of: None, content, cursor: None, waits_for: None }
    }

    /// Whether it is written and waits for the log.
    pub(super) fn waits(&self, disk: &Disk) -> bool {
        self.waits_for.is_some_and(|zxid| zxid > disk.last_durable())
    }

    /// Writes the next piece, of this size, of the tree as it is now. Returns whether it was the last.
    pub(super) fn write_next(&mut self, tree: &DataTree, size: usize) -> bool {
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
    pub(super) fn ended(self, durable: bool) -> Snapshot {
        let SnapshotInProgress { label, mut content, .. } = self;
        content.set_last_processed(label);
        Snapshot { label, content: Arc::new(content), durable }
    }
}
