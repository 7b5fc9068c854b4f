//! A snapshot taken piece by piece while transactions are applied (semantics 6.9): each piece shows
//! the tree of its own moment, and the label that of the beginning.

use proptest::prelude::*;
use std::sync::Arc;
use vivarium_model::id::SessionId;
use vivarium_model::path::ZnodePath;
use vivarium_model::time::Duration;
use vivarium_model::tree::{DataTree, Znode};
use vivarium_model::txn::Txn;
use vivarium_model::zxid::Zxid;

/// When a snapshot begins and how it goes on.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Transactions applied before it begins.
    pub begin: usize,
    /// Again and again: so many transactions are applied, then so many znodes taken.
    pub rhythm: Vec<(usize, usize)>,
}

/// Several, to make the most of one history.
pub fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let rhythm = prop::collection::vec((0_usize..12, 1_usize..4), 1..8);
    let plan = (0_usize..60, rhythm).prop_map(|(begin, rhythm)| Plan { begin, rhythm });
    prop::collection::vec(plan, 10)
}

/// A whole snapshot.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub label: Zxid,
    sessions: Vec<(SessionId, Duration)>,
    znodes: Vec<(ZnodePath, Arc<Znode>)>,
}

impl Snapshot {
    pub fn take(txns: &[Arc<Txn>], plan: &Plan) -> Snapshot {
        let mut tree = DataTree::new();
        let mut coming = txns.iter();
        let mut apply = |tree: &mut DataTree, count: usize| {
            for txn in coming.by_ref().take(count) {
                tree.apply(txn);
            }
        };
        apply(&mut tree, plan.begin);
        let label = tree.last_processed();
        let sessions = tree.sessions().iter().map(|(session, timeout)| (*session, *timeout));
        let mut snapshot = Snapshot { label, sessions: sessions.collect(), znodes: Vec::new() };
        for (between, piece) in plan.rhythm.iter().cycle() {
            apply(&mut tree, *between);
            let cursor = snapshot.znodes.last().map(|(path, _)| path);
            let piece = tree.nodes_after(cursor, *piece);
            if piece.is_empty() {
                break;
            }
            snapshot.znodes.extend(piece);
        }
        snapshot
    }

    /// The tree of this snapshot after all transactions above its label.
    pub fn recover(&self, txns: &[Arc<Txn>]) -> DataTree {
        let mut tree = DataTree::empty();
        for (session, timeout) in &self.sessions {
            tree.load_session(*session, *timeout);
        }
        for (path, node) in &self.znodes {
            tree.load_node(path.clone(), Arc::clone(node));
        }
        tree.set_last_processed(self.label);
        for txn in txns.iter().filter(|txn| txn.zxid > self.label) {
            tree.apply(txn);
        }
        tree
    }
}
