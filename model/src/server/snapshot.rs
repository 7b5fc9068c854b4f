//! The background snapshot: written piece by piece while transactions are applied, so its content may be newer than
//! its zxid (rule 6.9.2).
//!
//! The applied transactions can be ahead of the server's own log as well (rule 4.5.3), so a written snapshot waits
//! for the log before it is valid (see [`SnapshotAheadOfLog`](crate::vocabulary::release::Bug::SnapshotAheadOfLog)).
//! Its thread writes the tree of the database, and continues when the server has left its role, and when the database
//! has another tree (rule 6.9.12; see
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
    /// The tree that is being written, if it is no longer that of the database.
    pub(super) of: Option<Arc<DataTree>>,
    content: DataTree,
    cursor: Option<ZnodePath>,
    /// Set after the last piece to the last zxid in the snapshot, which waits until the log is durable up to there.
    pub(super) waits_for: Option<Zxid>,
}

impl SnapshotInProgress {
    /// Begins a snapshot, with the zxid and the sessions of this moment.
    pub(super) fn begin(tree: &DataTree) -> SnapshotInProgress {
        let mut content = DataTree::empty();
        content.begin_acls_of(tree);
        for (session, timeout) in tree.sessions() {
            content.load_session(*session, *timeout);
        }
        let label = tree.last_processed();
        SnapshotInProgress { label, of: None, content, cursor: None, waits_for: None }
    }

    /// Returns true if it is completely written and waits for the log.
    pub(super) fn waits(&self, disk: &Disk) -> bool {
        self.waits_for.is_some_and(|zxid| zxid > disk.last_durable())
    }

    /// Writes the next piece, of this size, of the tree in its present state. Returns true if it was the last.
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

    /// Returns the snapshot as it is on disk now.
    pub(super) fn ended(self, durable: bool) -> Snapshot {
        let SnapshotInProgress { label, mut content, .. } = self;
        content.set_last_processed(label);
        Snapshot { label, content: Arc::new(content), durable }
    }
}
