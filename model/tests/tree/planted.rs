//! Planted faults, each of which the checks of this test must object to; and what a replay meets,
//! told by hand.

use crate::fuzzy::{Plan, Snapshot};
use crate::reference::{Reference, compare};
use std::sync::Arc;
use vivarium_model::acl::AclList;
use vivarium_model::error::Error;
use vivarium_model::id::{SessionId, Xid};
use vivarium_model::op::Data;
use vivarium_model::path::ZnodePath;
use vivarium_model::time::Duration;
use vivarium_model::tree::{DataTree, EphemeralType, Znode};
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::{Epoch, Zxid};

const SESSION: SessionId = SessionId(5);

fn path(path: &str) -> ZnodePath {
    ZnodePath::new(path).expect("valid")
}

fn create(at: &str, parent_cversion: i32) -> TxnBody {
    TxnBody::create(path(at), [7], EphemeralType::Void, parent_cversion)
}

fn delete(at: &str) -> TxnBody {
    TxnBody::Delete { path: path(at) }
}

/// The transactions of epoch 1 with these bodies, in order.
fn txns(bodies: impl IntoIterator<Item = TxnBody>) -> Vec<Arc<Txn>> {
    let txn = |(at, body)| {
        let zxid = Zxid::new(Epoch(1), at as u32 + 1);
        Arc::new(Txn { zxid, session: SESSION, cxid: Xid(1), time: 10 * at as u64, body })
    };
    bodies.into_iter().enumerate().map(txn).collect()
}

fn fold(txns: &[Arc<Txn>]) -> DataTree {
    let mut tree = DataTree::new();
    for txn in txns {
        tree.apply(txn);
    }
    tree
}

fn reference(txns: &[Arc<Txn>]) -> Reference {
    let mut reference = Reference::new();
    for txn in txns {
        let _ = reference.apply(txn);
    }
    reference
}

/// Each of these leaves a trace of its own.
fn every_kind() -> Vec<Arc<Txn>> {
    txns([
        TxnBody::CreateSession { timeout: Duration::from_secs(6) },
        create("/a", 1),
        create("/a/x", 1),
        TxnBody::SetData { path: path("/a"), data: Data::from([8, 9]), version: 1 },
        delete("/a/x"),
        TxnBody::Multi(vec![create("/m", 2), create("/m/x", 1)]),
        TxnBody::create(path("/e"), [], EphemeralType::Normal(SESSION), 3),
    ])
}

#[test]
fn a_skipped_transaction_is_noticed() {
    let txns = every_kind();
    let expected = reference(&txns);
    assert_eq!(compare(&fold(&txns), &expected), Ok(()));
    for skipped in 0..txns.len() {
        let mut rest = txns.clone();
        let txn = rest.remove(skipped);
        let tree = fold(&rest);
        assert!(compare(&tree, &expected).is_err(), "{txn}");
        assert_ne!(tree.digest(), fold(&txns).digest(), "{txn}");
    }
}

#[test]
fn a_transaction_with_another_counter_is_noticed() {
    let wrong = [
        (2, create("/a/x", 2)),
        (3, TxnBody::SetData { path: path("/a"), data: Data::from([8, 9]), version: 2 }),
        (3, TxnBody::SetData { path: path("/a"), data: Data::from([8, 8]), version: 1 }),
        (6, create("/e", 3)),
    ];
    for (at, body) in wrong {
        let mut txns = every_kind();
        let expected = reference(&txns);
        let fault = body.to_string();
        Arc::make_mut(&mut txns[at]).body = body;
        assert!(compare(&fold(&txns), &expected).is_err(), "{fault}");
    }
}

/// A snapshot that is labelled with the zxid of its end has promised transactions that its first
/// pieces do not show.
#[test]
fn a_snapshot_labelled_too_high_is_noticed() {
    let txns = every_kind();
    let plan = Plan { begin: 1, rhythm: vec![(1, 1)] };
    let mut snapshot = Snapshot::take(&txns, &plan);
    assert_eq!(compare(&snapshot.recover(&txns), &reference(&txns)), Ok(()));
    snapshot.label = txns.last().expect("some").zxid;
    assert!(compare(&snapshot.recover(&txns), &reference(&txns)).is_err());
}

/// The child is caught in the snapshot and its parent is not: `/a` came to be when the cursor had
/// passed it, and `/a-` stands between the two.
#[test]
fn a_snapshot_with_a_child_and_no_parent_recovers() {
    let txns = txns([create("/a-", 1), create("/a", 2), create("/a/x", 1)]);
    // The root and `/a-`; then both creates; then the rest.
    let plan = Plan { begin: 1, rhythm: vec![(0, 2), (2, 9)] };
    let recovered = Snapshot::take(&txns, &plan).recover(&txns);
    assert_eq!(compare(&recovered, &reference(&txns)), Ok(()));
}

/// What replay over a snapshot of the future meets: nothing goes back (semantics 1.3 † and ‡).
#[test]
fn an_old_transaction_takes_nothing_back() {
    let txns = txns([create("/p", 1), create("/p/a", 1), create("/p/b", 2), delete("/p/a")]);
    let mut tree = fold(&txns);
    let (parent, last) = (tree.node("/p").cloned(), tree.last_processed());
    tree.apply(&txns[1]);
    assert_eq!(tree.children_count("/p"), 2, "the child itself comes back");
    assert_eq!((tree.node("/p").cloned(), tree.last_processed()), (parent.clone(), last));
    tree.apply(&txns[2]);
    tree.apply(&txns[3]);
    assert_eq!((tree.node("/p").cloned(), tree.last_processed()), (parent, last));
    assert_eq!(compare(&tree, &reference(&txns)), Ok(()));
}

/// A delete whose child is gone already still moves the parent's pzxid (ZOOKEEPER-3125).
#[test]
fn a_delete_of_nothing_touches_the_parent() {
    let txns = txns([create("/p", 1), create("/p/a", 1), delete("/p/a"), delete("/p/a")]);
    let mut tree = fold(&txns[..3]);
    let applied = tree.apply(&txns[3]);
    assert_eq!((applied.result, applied.changes), (Err(Error::NoNode), vec![]));
    assert_eq!(tree.node("/p").expect("there").pzxid, txns[3].zxid);
}

#[test]
fn the_digest_knows_every_field() {
    let with = |change: fn(&mut Znode)| {
        let mut tree = DataTree::new();
        let mut node = Znode::clone(tree.node("/zookeeper").expect("there from the start"));
        change(&mut node);
        tree.load_node(path("/a"), Arc::new(node));
        assert_eq!(tree.digest(), tree.recomputed_digest());
        tree.digest()
    };
    let plain = with(|_| {});
    let changes: [fn(&mut Znode); 13] = [
        |node| node.data = Data::from([1]),
        |node| node.czxid = Zxid(9),
        |node| node.mzxid = Zxid(9),
        |node| node.pzxid = Zxid(9),
        |node| node.ctime = 9,
        |node| node.mtime = 9,
        |node| node.version = 9,
        |node| node.cversion = 9,
        |node| node.aversion = 9,
        |node| node.ephemeral_type = EphemeralType::Normal(SESSION),
        |node| node.ephemeral_type = EphemeralType::Container,
        |node| node.ephemeral_type = EphemeralType::Ttl(Duration::from_secs(9)),
        |node| node.acl = AclList::read_unsafe(),
    ];
    let digests: std::collections::BTreeSet<_> =
        changes.into_iter().map(with).chain([plain]).collect();
    assert_eq!(digests.len(), 14, "no two alike");

    let mut other = DataTree::new();
    other.load_session(SESSION, Duration::from_secs(6));
    assert_ne!(other.digest(), DataTree::new().digest(), "sessions too");
}

#[test]
fn orphans_are_killed_without_a_transaction() {
    let mut tree = fold(&every_kind());
    assert_eq!(tree.kill_orphans(), 0);
    let close = TxnBody::CloseSession { ephemerals: vec![] };
    let mut diverged = DataTree::empty();
    for (path, node) in tree.nodes() {
        diverged.load_node(path.clone(), Arc::clone(node));
    }
    diverged.set_last_processed(tree.last_processed());
    assert_eq!(diverged.kill_orphans(), 1);
    assert!(diverged.node("/e").is_none());
    assert_eq!(diverged.last_processed(), tree.last_processed());
    assert_eq!(diverged.digest(), diverged.recomputed_digest());

    // An ephemeral that the closeSession does not list goes with it all the same.
    let zxid = Zxid::new(Epoch(1), 99);
    let applied = tree.apply(&Txn { zxid, session: SESSION, cxid: Xid(0), time: 0, body: close });
    assert_eq!(applied.changes.len(), 1);
    assert!(tree.node("/e").is_none() && tree.sessions().is_empty());
    assert_eq!(tree.ephemerals(SESSION).count(), 0);
}
