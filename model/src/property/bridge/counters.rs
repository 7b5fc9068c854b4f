//! Counters of sequential names past their end.
//!
//! Past 2147483647 a parent's counter goes on among the outstanding changes of the leader, but stays as it was in
//! every tree (rule 1.4.3). So the number of a created znode depends on whether the last create below the same parent
//! is still outstanding, which the log does not show. Both numbers are allowed, independently for each parent; any
//! other number violates the property.

use crate::tree::DataTree;
use crate::vocabulary::op::{Op, Request};
use crate::vocabulary::path::{ZnodePath, parent};
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Epoch;
use std::collections::{BTreeMap, BTreeSet};

/// Bound on the parents of one request whose counters are past their end: each doubles the number of trees to try.
/// For further parents, the last create is taken as committed.
const MOST_PARENTS: usize = 4;

/// The counters past their end, as the last create left them among the outstanding changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Counters {
    epoch: Epoch,
    outstanding: BTreeMap<ZnodePath, i32>,
}

impl Counters {
    /// Records a committed transaction.
    pub(super) fn committed(&mut self, txn: &Txn) {
        if txn.zxid.epoch() != self.epoch {
            // A leader's outstanding changes end with its epoch.
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

    /// Returns the databases that the leader of this epoch may have decided this request over, besides the tree in
    /// the log.
    pub(super) fn databases(
        &self,
        epoch: Epoch,
        tree: &DataTree,
        request: &Request,
    ) -> Vec<DataTree> {
        if epoch != self.epoch {
            return Vec::new();
        }
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

/// Returns the parents of the znodes that a request creates.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::acl::AclList;
    use crate::vocabulary::id::{SessionId, Xid};
    use crate::vocabulary::op::CreateMode;
    use crate::vocabulary::setup::Setup;
    use crate::vocabulary::znode::EphemeralType;
    use crate::vocabulary::zxid::Zxid;

    /// Returns counters that have recorded a create past the end below each of these directories.
    fn past_their_end(parents: &[&str]) -> Counters {
        let mut counters = Counters::default();
        for (at, parent) in (1..).zip(parents) {
            let body = TxnBody::Create {
                path: ZnodePath::new(format!("{parent}/x")).expect("it is a path"),
                data: Default::default(),
                ephemeral_type: EphemeralType::Void,
                acl: AclList::OPEN,
                parent_cversion: i32::MIN,
            };
            let zxid = Zxid::new(Epoch(0), at);
            counters.committed(&Txn { zxid, session: SessionId(1), cxid: Xid(at), time: 0, body });
        }
        counters
    }

    fn tree(creates: i32) -> DataTree {
        let setup = Setup::NONE.containers(["/a", "/b"]).expect("they are znodes");
        setup.with_creates(creates).tree()
    }

    fn creates(paths: &[&str]) -> Request {
        let create = |path: &&str| Op::create(*path, *b"", CreateMode::PersistentSequential);
        Request::Multi(paths.iter().map(create).collect())
    }

    #[test]
    fn each_parent_may_be_outstanding_or_not() {
        let counters = past_their_end(&["/a", "/b"]);
        let stand = |request: &Request| {
            let trees = counters.databases(Epoch(0), &tree(i32::MAX), request);
            let of = |tree: &DataTree, path| tree.node(path).map(|it| it.cversion);
            trees.iter().map(|tree| (of(tree, "/a"), of(tree, "/b"))).collect::<Vec<_>>()
        };
        let (end, beyond) = (Some(i32::MAX), Some(i32::MIN));
        assert_eq!(stand(&creates(&["/a/-"])), [(beyond, end)]);
        let both = [(beyond, end), (end, beyond), (beyond, beyond)];
        assert_eq!(stand(&creates(&["/a/-", "/b/-", "/a/x"])), both);
        assert_eq!(stand(&creates(&["/c/-"])), []);
    }

    /// The directory was deleted and created again, so its counter has started again.
    #[test]
    fn a_directory_that_is_not_at_its_end_has_no_other_counter() {
        assert!(
            past_their_end(&["/a"]).databases(Epoch(0), &tree(0), &creates(&["/a/-"])).is_empty()
        );
    }

    #[test]
    fn a_new_leader_has_nothing_outstanding() {
        let (counters, request) = (past_their_end(&["/a"]), creates(&["/a/-"]));
        assert_eq!(counters.databases(Epoch(0), &tree(i32::MAX), &request).len(), 1);
        assert_eq!(counters.databases(Epoch(1), &tree(i32::MAX), &request).len(), 0);
    }
}
