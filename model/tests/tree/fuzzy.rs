//! A snapshot taken piece by piece while transactions are applied (rule 6.9.2): each piece shows the tree of its own
//! moment, and the label is that of the beginning.

use proptest::prelude::*;
use std::sync::Arc;
use vivarium_model::id::SessionId;
use vivarium_model::path::ZnodePath;
use vivarium_model::time::Duration;
use vivarium_model::tree::{DataTree, Znode};
use vivarium_model::txn::Txn;
use vivarium_model::zxid::Zxid;

/// The rhythm of a snapshot: repeatedly, a number of transactions to apply, then a number of znodes to take.
pub(crate) type Rhythm = Vec<(usize, usize)>;

/// No transaction is applied during the snapshot.
pub(crate) const AT_ONCE: (usize, usize) = (0, 1_000);

pub(crate) fn rhythm() -> impl Strategy<Value = Rhythm> {
    prop::collection::vec((0_usize..12, 1_usize..4), 1..8)
}

/// A whole snapshot.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub label: Zxid,
    sessions: Vec<(SessionId, Duration)>,
    pub znodes: Vec<(ZnodePath, Arc<Znode>)>,
    /// Whether a server that loads it counts quotas anew.
    pub counted_anew: bool,
}

impl Snapshot {
    /// Takes the snapshot that begins with this tree, while `coming` is applied.
    pub(crate) fn take(
        tree: &DataTree,
        coming: &[Arc<Txn>],
        rhythm: &[(usize, usize)],
    ) -> Snapshot {
        let mut tree = tree.clone();
        let mut coming = coming.iter();
        let sessions = tree.sessions().iter().map(|(session, timeout)| (*session, *timeout));
        let mut snapshot = Snapshot {
            label: tree.last_processed(),
            sessions: sessions.collect(),
            znodes: Vec::new(),
            counted_anew: true,
        };
        for (between, piece) in rhythm.iter().cycle() {
            for txn in coming.by_ref().take(*between) {
                tree.apply(txn);
            }
            let cursor = snapshot.znodes.last().map(|(path, _)| path);
            let piece = tree.nodes_after(cursor, *piece);
            if piece.is_empty() {
                break;
            }
            snapshot.znodes.extend(piece);
        }
        snapshot
    }

    /// Returns the tree as a server loads it, before it replays transactions.
    pub(crate) fn load(&self) -> DataTree {
        let mut tree = DataTree::empty();
        for (session, timeout) in &self.sessions {
            tree.load_session(*session, *timeout);
        }
        for (path, node) in &self.znodes {
            tree.load_node(path.clone(), Arc::clone(node));
        }
        tree.set_last_processed(self.label);
        if self.counted_anew {
            tree.count_quotas_anew();
        }
        tree
    }

    /// Returns the tree of this snapshot after those of the transactions that are above its label.
    pub(crate) fn recover(&self, txns: &[Arc<Txn>]) -> DataTree {
        let mut tree = self.load();
        for txn in txns.iter().filter(|txn| txn.zxid > self.label) {
            tree.apply(txn);
        }
        tree
    }
}
