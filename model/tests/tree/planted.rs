//! Planted faults, which the checks of this test must detect, and special cases of a replay, written by hand.

use crate::compare::{compare, compare_recovered};
use crate::fuzzy::{AT_ONCE, Rhythm, Snapshot};
use crate::reference::Reference;
use std::sync::Arc;
use vivarium_model::acl::AclList;
use vivarium_model::error::Error;
use vivarium_model::fingerprint::Fingerprint;
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

fn set_acl(at: &str, acl: AclList, aversion: i32) -> TxnBody {
    TxnBody::SetAcl { path: path(at), acl, aversion }
}

/// Returns the transactions of epoch 1 with these bodies, in order.
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
    Reference::of(txns)
}

/// Returns the snapshot that begins after this number of transactions.
fn snapshot(txns: &[Arc<Txn>], begin: usize, rhythm: &[(usize, usize)]) -> Snapshot {
    Snapshot::take(&fold(&txns[..begin]), &txns[begin..], rhythm)
}

/// Returns transactions of every kind, each with an effect of its own.
fn every_kind() -> Vec<Arc<Txn>> {
    txns([
        TxnBody::CreateSession { timeout: Duration::from_secs(6) },
        create("/a", 1),
        create("/a/x", 1),
        TxnBody::SetData { path: path("/a"), data: Data::from([8, 9]), version: 1 },
        delete("/a/x"),
        TxnBody::Multi(vec![create("/m", 2), create("/m/x", 1)]),
        TxnBody::create(path("/e"), [], EphemeralType::Normal(SESSION), 3),
        TxnBody::create(path("/c"), [], EphemeralType::Container, 4),
        set_acl("/m", AclList::read_unsafe(), 1),
        TxnBody::create(path("/t"), [], EphemeralType::Ttl(Duration::from_secs(9)), 5),
        TxnBody::DeleteContainer { path: path("/t") },
        create("/zookeeper/quota/m", 1),
        create("/zookeeper/quota/m/zookeeper_limits", 1),
        create("/zookeeper/quota/m/zookeeper_stats", 2),
        create("/m/y", 2),
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
        (7, create("/c", 4)),
        (7, TxnBody::create(path("/c"), [], EphemeralType::Ttl(Duration::from_secs(9)), 4)),
        (8, set_acl("/m", AclList::read_unsafe(), 2)),
        (8, set_acl("/m", AclList::creator_all(), 1)),
    ];
    for (at, body) in wrong {
        let mut txns = every_kind();
        let expected = reference(&txns);
        let fault = body.to_string();
        Arc::make_mut(&mut txns[at]).body = body;
        assert!(compare(&fold(&txns), &expected).is_err(), "{fault}");
    }
}

/// A snapshot that is labelled with the zxid of its end claims transactions that its first pieces do not contain.
#[test]
fn a_snapshot_labelled_too_high_is_noticed() {
    let txns = every_kind();
    let mut snapshot = snapshot(&txns, 1, &[(1, 1)]);
    assert_eq!(compare(&snapshot.recover(&txns), &reference(&txns)), Ok(()));
    snapshot.label = txns.last().expect("some").zxid;
    assert!(compare(&snapshot.recover(&txns), &reference(&txns)).is_err());
}

/// The snapshot contains a child without its parent: `/a` was created after the cursor had passed its place, and
/// `/a-` is between the two.
#[test]
fn a_snapshot_with_a_child_and_no_parent_recovers() {
    let txns = txns([create("/a-", 1), create("/a", 2), create("/a/x", 1)]);
    // The root and `/a-`; then both creates; then the rest.
    let recovered = snapshot(&txns, 1, &[(0, 2), (2, 9)]).recover(&txns);
    assert_eq!(compare(&recovered, &reference(&txns)), Ok(()));
}

/// Replay over a snapshot of a later state undoes nothing (rules 1.3.2 and 1.3.3).
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

/// A delete of a child that is already gone still changes the parent's pzxid (ZOOKEEPER-3125).
#[test]
fn a_delete_of_nothing_touches_the_parent() {
    let txns = txns([create("/p", 1), create("/p/a", 1), delete("/p/a"), delete("/p/a")]);
    let mut tree = fold(&txns[..3]);
    let applied = tree.apply(&txns[3]);
    assert_eq!((applied.result, applied.changes), (Err(Error::NoNode), vec![]));
    assert_eq!(tree.node("/p").expect("there").pzxid, txns[3].zxid);
}

/// A snapshot that lacks one field of one znode.
#[test]
fn a_field_that_a_snapshot_loses_is_noticed() {
    let txns = every_kind();
    let whole = snapshot(&txns, txns.len(), &[AT_ONCE]);
    let expected = reference(&txns);
    let label = whole.label;
    assert_eq!(compare_recovered(&whole.load(), &expected, label), Ok(()));
    type Loss = (&'static str, fn(&mut Znode));
    let losses: [Loss; 5] = [
        ("/m", |node| node.acl = AclList::OPEN),
        ("/m", |node| node.aversion = 0),
        ("/c", |node| node.ephemeral_type = EphemeralType::Void),
        ("/e", |node| node.ephemeral_type = EphemeralType::Void),
        ("/a", |node| node.version = 0),
    ];
    for (at, lose) in losses {
        let mut snapshot = whole.clone();
        let (_, node) = snapshot.znodes.iter_mut().find(|(path, _)| **path == *at).expect("there");
        lose(Arc::make_mut(node));
        assert!(compare_recovered(&snapshot.load(), &expected, label).is_err(), "{at}");
        let mut lost = whole.clone();
        lost.znodes.retain(|(path, _)| **path != *at);
        assert!(compare_recovered(&lost.load(), &expected, label).is_err(), "no {at}");
    }
}

/// The list of containers and TTL znodes is compared separately from the marks in the znodes.
#[test]
fn a_list_of_containers_that_lacks_one_is_noticed() {
    let txns = every_kind();
    let mut expected = reference(&txns);
    let container = expected.znodes.get_mut("/c").expect("there");
    container.ephemeral_type = EphemeralType::Void;
    let objection = compare(&fold(&txns), &expected).expect_err("a container too many");
    assert!(objection.starts_with("ephemeral type of /c"), "{objection}");
    assert_eq!(expected.reaped(), [""; 0]);
    assert_eq!(fold(&txns).reaped().map(ToString::to_string).collect::<Vec<_>>(), ["/c"]);
}

/// Two changes of an ACL, replayed in the wrong order or once too often at the end.
#[test]
fn acls_replayed_in_another_order_are_noticed() {
    let (read, all) = (AclList::read_unsafe(), AclList::creator_all());
    let txns = txns([create("/a", 1), set_acl("/a", read, 1), set_acl("/a", all, 2)]);
    let expected = reference(&txns);
    // From a snapshot of a later state: the create resets the ACL, and the changes set it again.
    let snapshot = snapshot(&txns, 0, &[(3, 1)]);
    assert_eq!(snapshot.label, Zxid::ZERO);
    let label = snapshot.label;
    assert_eq!(compare_recovered(&snapshot.recover(&txns), &expected, label), Ok(()));
    let swapped = [0, 2, 1].map(|at: usize| Arc::clone(&txns[at]));
    assert!(compare_recovered(&snapshot.recover(&swapped), &expected, label).is_err());
    let lost = [0, 2].map(|at: usize| Arc::clone(&txns[at]));
    assert_eq!(snapshot.recover(&lost), snapshot.recover(&txns), "aversions are absolute");
    let mut relative = txns.to_vec();
    Arc::make_mut(&mut relative[2]).body = set_acl("/a", AclList::creator_all(), 1 + 2);
    assert!(compare_recovered(&snapshot.recover(&relative), &expected, label).is_err());
}

/// `/a/x` is created when the cursor has passed `/a` but not the statistics: these count a znode that the snapshot
/// does not contain, and the replay creates it.
#[test]
fn statistics_counted_twice_are_noticed() {
    let txns = txns([
        create("/a", 1),
        create("/zookeeper/quota/a", 1),
        create("/zookeeper/quota/a/zookeeper_limits", 1),
        create("/zookeeper/quota/a/zookeeper_stats", 2),
        create("/a/x", 1),
    ]);
    let (expected, rhythm): (_, Rhythm) = (reference(&txns), vec![(0, 3), (1, 9)]);
    let mut snapshot = snapshot(&txns, 4, &rhythm);
    let said = |tree: &DataTree| {
        let node = tree.node("/zookeeper/quota/a/zookeeper_stats").expect("there");
        String::from_utf8_lossy(&node.data).into_owned()
    };
    assert_eq!(said(&snapshot.load()), "count=1,bytes=1");
    let right = snapshot.recover(&txns);
    assert_eq!(said(&right), "count=2,bytes=2");
    assert_eq!(compare_recovered(&right, &expected, snapshot.label), Ok(()));

    snapshot.counted_anew = false;
    let wrong = snapshot.recover(&txns);
    assert_eq!(said(&wrong), "count=3,bytes=3");
    let objection =
        compare_recovered(&wrong, &expected, snapshot.label).expect_err("counted twice");
    assert!(objection.starts_with("data of /zookeeper/quota/a/zookeeper_stats"), "{objection}");
    assert_eq!(wrong.digest(), right.digest(), "statistics are no part of the history");
    assert_ne!(wrong, right, "but they decide what is refused");
    assert_ne!(Fingerprint::of(&wrong), Fingerprint::of(&right));
}

#[test]
fn a_change_that_tells_the_wrong_people_is_noticed() {
    let bodies = [create("/a", 1), set_acl("/a", AclList::read_unsafe(), 1), create("/a/x", 1)];
    let txns = txns(bodies);
    let mut others = txns.clone();
    Arc::make_mut(&mut others[1]).body = set_acl("/a", AclList::creator_all(), 1);
    let told = |txns: &[Arc<Txn>]| fold(&txns[..2]).apply(&txns[2]).changes;
    let expected = reference(&txns[..2]).apply(&txns[2]).1;
    assert_eq!(told(&txns), expected);
    assert_eq!(expected[0].parent_acl, AclList::read_unsafe());
    assert_ne!(told(&others), expected);
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

    // An ephemeral that the closeSession does not list is deleted all the same.
    let zxid = Zxid::new(Epoch(1), 99);
    let applied = tree.apply(&Txn { zxid, session: SESSION, cxid: Xid(0), time: 0, body: close });
    assert_eq!(applied.changes.len(), 1);
    assert!(tree.node("/e").is_none() && tree.sessions().is_empty());
    assert_eq!(tree.ephemerals(SESSION).count(), 0);
}
