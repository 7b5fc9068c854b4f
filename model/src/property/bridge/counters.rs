//! Counters of creates past their end.
//!
//! Past 2147483647 a counter goes on in what is outstanding at the leader, and stays where it was in every tree
//! (rule 1.4.3). So what a create comes to depends on whether the last one below the same parent is still
//! outstanding, which the log does not say. It may be either, each parent for itself, and nothing else: a
//! request whose znodes have other numbers is objected to.

use crate::tree::DataTree;
use crate::vocabulary::op::{Op, Request};
use crate::vocabulary::path::{ZnodePath, parent};
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Epoch;
use std::collections::{BTreeMap, BTreeSet};

/// Below so many parents past their end one request creates at most; below others, the last create is taken for
/// committed. Twice as many trees are tried for each.
const MOST_PARENTS: usize = 4;

/// The counters that are past their end, as the last create left them in what was outstanding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Counters {
    epoch: Epoch,
    outstanding: BTreeMap<ZnodePath, i32>,
}

impl Counters {
    /// A transaction was committed.
    pub(super) fn committed(&mut self, txn: &Txn) {
        if txn.zxid.epoch() != self.epoch {
            // What a leader has outstanding ends with it.
            *self = Counters { epoch: txn.zxid.epoch(), outstanding: BTreeMap::new() };
        }
        self.note(&txn.body);
    }

    fn note(&mut self, body: &TxnBody) {
        match body {
            TxnBody::Create { path, parent_cversion, .. } => {
                let Some(parent) = path.parent().and_then(|parent| ZnodePath::new(parent).ok())
                else {
                    return;
                };
                match *parent_cversion < 0 {
                    true => _ = self.outstanding.insert(parent, *parent_cversion),
                    false => _ = self.outstanding.remove(&parent),
                }
            }
            TxnBody::Multi(parts) => parts.iter().for_each(|part| self.note(part)),
            _ => {}
        }
    }

    /// The databases that the leader may have had before it when it decided about this request, beside the
    /// one in the log.
    pub(super) fn databases(&self, tree: &DataTree, request: &Request) -> Vec<DataTree> {
        let parents: Vec<(&str, i32)> = created_below(request)
            .into_iter()
            .filter(|parent| tree.node(parent).is_some_and(|it| it.cversion == i32::MAX))
            .filter_map(|parent| {
                Some((parent, *self.outstanding.get(&ZnodePath::new(parent).ok()?)?))
            })
            .take(MOST_PARENTS)
            .collect();
        let chosen = 1..1_usize << parents.len();
        let database = |chosen: usize| {
            let mut tree = tree.clone();
            for (at, (parent, counter)) in parents.iter().enumerate() {
                if chosen & 1 << at != 0 {
                    tree.set_counter(parent, *counter);
                }
            }
            tree
        };
        chosen.map(database).collect()
    }
}

/// The parents of what a request creates.
fn created_below(request: &Request) -> BTreeSet<&str> {
    let ops = match request {
        Request::Write(op) => std::slice::from_ref(op),
        Request::Multi(ops) => ops,
        _ => &[],
    };
    let below = ops.iter().filter_map(|op| match op {
        Op::Create { path, .. } => parent(path),
        _ => None,
    });
    below.collect()
}
