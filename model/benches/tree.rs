//! How fast a tree applies and answers, by its size: `cargo bench -p vivarium-zk-model --bench tree`.
//!
//! A tree of so many znodes is ten directories with the same number of children each; the items are
//! spread over all of it. `SAMPLES` items make one measurement; divan tells items per second.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use std::sync::Arc;
use vivarium_model::acl::AclList;
use vivarium_model::config::Config;
use vivarium_model::id::{SessionId, Xid};
use vivarium_model::op::{Data, Request};
use vivarium_model::path::ZnodePath;
use vivarium_model::server::read::Reader;
use vivarium_model::tree::{DataTree, EphemeralType, Znode};
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::{Epoch, Zxid};

const SIZES: [usize; 3] = [10, 1_000, 100_000];
const SAMPLES: usize = 100;
const DIRECTORIES: usize = 10;

fn main() {
    divan::main();
}

fn directory(at: usize) -> String {
    format!("/directory-{}", at % DIRECTORIES)
}

/// The child number `at` of all children.
fn child(at: usize) -> String {
    format!("{}/child-{:07}", directory(at), at / DIRECTORIES)
}

fn path(path: String) -> ZnodePath {
    ZnodePath::new(path).expect("valid")
}

fn children(size: usize) -> usize {
    size.saturating_sub(DIRECTORIES).max(DIRECTORIES)
}

fn tree(size: usize) -> DataTree {
    let mut tree = DataTree::new();
    let znode = |at: usize| {
        let (zxid, data) = (Zxid::new(Epoch(1), at as u32 + 1), Data::from([7; 16]));
        Arc::new(Znode::created(zxid, 0, data, EphemeralType::Void, AclList::OPEN))
    };
    for at in 0..DIRECTORIES {
        tree.load_node(path(directory(at)), znode(at));
    }
    for at in 0..children(size) {
        tree.load_node(path(child(at)), znode(DIRECTORIES + at));
    }
    tree
}

/// Children all over the tree.
fn picked(size: usize) -> impl Iterator<Item = String> {
    (0..SAMPLES).map(move |at| child(at * 7_919 % children(size)))
}

/// Transactions with these bodies, above all that the tree holds.
fn txns(bodies: impl Iterator<Item = TxnBody>) -> Vec<Txn> {
    let txn = |(at, body)| {
        let zxid = Zxid::new(Epoch(2), at as u32 + 1);
        Txn { zxid, session: SessionId(1), cxid: Xid(1), time: 0, body }
    };
    bodies.enumerate().map(txn).collect()
}

fn create(at: usize) -> TxnBody {
    let new = path(format!("{}/new-{at:07}", directory(at)));
    TxnBody::create(new, [7; 16], EphemeralType::Void, i32::MAX - SAMPLES as i32 + at as i32)
}

fn set_data(at: String) -> TxnBody {
    TxnBody::SetData { path: path(at), data: Data::from([8; 16]), version: 1 }
}

/// Applies to a tree that nobody else holds, as a server does.
fn apply(bencher: Bencher, size: usize, bodies: impl Iterator<Item = TxnBody>) {
    let (tree, txns) = (tree(size), txns(bodies));
    bencher.counter(ItemsCount::new(txns.len())).with_inputs(|| tree.clone()).bench_local_values(
        |mut tree| {
            for txn in &txns {
                black_box(tree.apply(txn));
            }
            tree
        },
    );
}

#[divan::bench(args = SIZES)]
fn apply_create(bencher: Bencher, size: usize) {
    apply(bencher, size, (0..SAMPLES).map(create));
}

#[divan::bench(args = SIZES)]
fn apply_set_data(bencher: Bencher, size: usize) {
    apply(bencher, size, picked(size).map(set_data));
}

#[divan::bench(args = SIZES)]
fn apply_set_acl(bencher: Bencher, size: usize) {
    let set_acl = |at| TxnBody::SetAcl { path: path(at), acl: AclList::read_unsafe(), aversion: 1 };
    apply(bencher, size, picked(size).map(set_acl));
}

/// A create and a delete, so that there is always something to delete.
#[divan::bench(args = SIZES)]
fn apply_create_and_delete(bencher: Bencher, size: usize) {
    let pair = |at| {
        let delete = path(format!("{}/new-{at:07}", directory(at)));
        [create(at), TxnBody::Delete { path: delete }]
    };
    apply(bencher, size, (0..SAMPLES).flat_map(pair));
}

/// A check, a create and a setData in one transaction.
#[divan::bench(args = SIZES)]
fn apply_multi(bencher: Bencher, size: usize) {
    let multi = |(at, picked): (usize, String)| {
        let check = TxnBody::Check { path: path(picked.clone()) };
        TxnBody::Multi(vec![check, create(at), set_data(picked)])
    };
    apply(bencher, size, picked(size).enumerate().map(multi));
}

/// A setData where a quota counts.
#[divan::bench(args = SIZES)]
fn apply_set_data_under_quota(bencher: Bencher, size: usize) {
    let mut limited = tree(size);
    let quota = ["", "/zookeeper_limits", "/zookeeper_stats"];
    let above = txns(quota.iter().map(|name| {
        let path = path(format!("/zookeeper/quota/directory-0{name}"));
        TxnBody::create(path, [], EphemeralType::Void, 1)
    }));
    for txn in &above {
        assert!(limited.apply(txn).result.is_ok());
    }
    let within = (0..SAMPLES).map(|at| set_data(child(at * DIRECTORIES % children(size))));
    let txns = txns(within);
    bencher.counter(ItemsCount::new(SAMPLES)).with_inputs(|| limited.clone()).bench_local_values(
        |mut tree| {
            for txn in &txns {
                black_box(tree.apply(txn));
            }
            tree
        },
    );
}

fn read(bencher: Bencher, size: usize, requests: impl Iterator<Item = Request>) {
    let (tree, config) = (tree(size), Config::new(1, 1));
    let requests: Vec<Request> = requests.collect();
    let reader = Reader { session: SessionId(1), auth: &[], config: &config };
    bencher.counter(ItemsCount::new(requests.len())).bench_local(|| {
        for request in &requests {
            let answer = reader.answer(&tree, black_box(request));
            assert!(answer.is_ok());
            black_box(answer).ok();
        }
    });
}

#[divan::bench(args = SIZES)]
fn exists(bencher: Bencher, size: usize) {
    read(bencher, size, picked(size).map(|at| Request::Exists { path: at.into(), watch: false }));
}

#[divan::bench(args = SIZES)]
fn get_data(bencher: Bencher, size: usize) {
    read(bencher, size, picked(size).map(|at| Request::GetData { path: at.into(), watch: false }));
}

/// Of a child, which has none.
#[divan::bench(args = SIZES)]
fn get_no_children(bencher: Bencher, size: usize) {
    let children = |at: String| Request::GetChildren { path: at.into(), watch: false };
    read(bencher, size, picked(size).map(children));
}

/// Of a directory, which has a tenth of all.
#[divan::bench(args = SIZES)]
fn get_children(bencher: Bencher, size: usize) {
    let children = |at| Request::GetChildren { path: directory(at).into(), watch: false };
    read(bencher, size, (0..DIRECTORIES).map(children));
}

/// Of a directory likewise.
#[divan::bench(args = SIZES)]
fn get_all_children_number(bencher: Bencher, size: usize) {
    let count = |at| Request::GetAllChildrenNumber { path: directory(at).into() };
    read(bencher, size, (0..DIRECTORIES).map(count));
}
