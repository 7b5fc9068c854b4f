use super::*;
use crate::property::testing::{
    Bodies, ONE, SESSION, TWO, Trial, committed, exists, get_children, get_data, path, replied,
    session, txn, z,
};
use crate::vocabulary::op::SessionState;
use crate::world::history::History;
use proptest::prelude::*;

/// Returns a trial with this history: 1:1 /d, 1:2 /d/a "x", 1:3 /d/a "yy", 1:4 a failure, 1:5 /d/b, 2:1 /d/a deleted.
fn trial() -> Trial<PrefixRead> {
    let mut trial = Trial::new(PrefixRead::new());
    trial.create(z(1, 1), "/d", "");
    trial.create(z(1, 2), "/d/a", "x");
    trial.set_data(z(1, 3), "/d/a", "yy");
    trial.commit(z(1, 4), 4, TxnBody::Error(Error::NodeExists));
    trial.create(z(1, 5), "/d/b", "");
    trial.delete(z(2, 1), "/d/a");
    trial
}

/// Returns the tree's result for a read.
fn answer(tree: &DataTree, request: &Request) -> Result<Response, Error> {
    let path = read_path(request).expect("a read");
    let stat = tree.stat(path).ok_or(Error::NoNode)?;
    Ok(match request {
        Request::GetData { .. } => {
            Response::Data(tree.node(path).expect("there").data.clone(), stat)
        }
        Request::GetChildren { .. } => {
            Response::Children(tree.children(path).expect("there"), stat)
        }
        _ => Response::Exists(stat),
    })
}

/// Returns the tree of the prefix up to `zxid`.
fn tree_at(history: &History, zxid: Zxid) -> DataTree {
    let mut tree = DataTree::new();
    for txn in history.txns().iter().take_while(|txn| txn.zxid <= zxid) {
        tree.apply(txn);
    }
    tree
}

/// A quota's statistics change with every write below the quota's path, and a server that loads a snapshot counts
/// them anew. So their content is not judged, but all else about them is (rule 1.10.3).
#[test]
fn what_statistics_say_is_no_part_of_the_history() {
    let mut trial = trial();
    let statistics = "/zookeeper/quota/d/zookeeper_stats";
    trial.create(z(2, 2), "/zookeeper/quota/d", "");
    trial.create(z(2, 3), "/zookeeper/quota/d/zookeeper_limits", "");
    trial.create(z(2, 4), statistics, "");
    trial.create(z(2, 5), "/d/c", "");
    for request in [exists(statistics), get_data(statistics), get_children(statistics)] {
        for zxid in [z(2, 3), z(2, 4), z(2, 5)] {
            let result = answer(&tree_at(&trial.history, zxid), &request);
            trial.accepts(replied(1, zxid, request.clone(), result));
        }
    }
    let mut result = answer(trial.history.tree(), &get_data(statistics));
    let Ok(Response::Data(data, stat)) = &mut result else { panic!("it is there") };
    (*data, stat.data_length) = (Data::from(*b"count=77,bytes=77"), 17);
    trial.accepts(replied(1, z(2, 5), get_data(statistics), result.clone()));
    let Ok(Response::Data(_, stat)) = &mut result else { unreachable!("as before") };
    stat.mzxid = z(2, 5);
    let objection = trial.objects(replied(1, z(2, 5), get_data(statistics), result));
    assert!(objection.contains("mzxid 2:5 instead of 2:4"), "{objection}");
}

#[test]
fn every_prefix_may_answer() {
    let mut trial = trial();
    let prefixes =
        [z(0, 0), z(1, 0), z(1, 1), z(1, 2), z(1, 3), z(1, 4), z(1, 5), z(2, 0), z(2, 1), z(3, 0)];
    for zxid in prefixes {
        let tree = tree_at(&trial.history, zxid);
        for path in ["/", "/d", "/d/a", "/d/b", "/none", "/zookeeper"] {
            for request in [exists(path), get_data(path), get_children(path)] {
                let result = answer(&tree, &request);
                trial.accepts(replied(1, zxid, request, result));
            }
        }
    }
}

#[test]
fn old_data_at_a_newer_zxid() {
    let mut trial = trial();
    let old = answer(&tree_at(&trial.history, z(1, 2)), &get_data("/d/a"));
    assert_eq!(
        trial.objects(replied(6, z(1, 4), get_data("/d/a"), old)),
        "H4 reads are from a prefix: request 6 of session 0x10 (getData /d/a, client 1) was \
         answered at 1:4 with data \"x\" instead of \"yy\", mzxid 1:2 instead of 1:3, version 0 \
         instead of 1, dataLength 1 instead of 2."
    );
}

#[test]
fn newer_data_at_an_older_zxid() {
    let mut trial = trial();
    let new = answer(&tree_at(&trial.history, z(1, 3)), &exists("/d/a"));
    assert_eq!(
        trial.objects(replied(6, z(1, 2), exists("/d/a"), new)),
        "H4 reads are from a prefix: request 6 of session 0x10 (exists /d/a, client 1) was \
         answered at 1:2 with mzxid 1:3 instead of 1:2, version 1 instead of 0, dataLength 2 \
         instead of 1."
    );
}

#[test]
fn a_child_that_is_not_there_yet() {
    let mut trial = trial();
    let mut result = answer(&tree_at(&trial.history, z(1, 4)), &get_children("/d"));
    if let Ok(Response::Children(names, _)) = &mut result {
        names.push(Arc::from("b"));
    }
    assert_eq!(
        trial.objects(replied(6, z(1, 4), get_children("/d"), result)),
        "H4 reads are from a prefix: request 6 of session 0x10 (getChildren /d, client 1) was \
         answered at 1:4 with children [\"a\", \"b\"] instead of [\"a\"]."
    );
}

/// A multi is applied as a whole (H11), so no prefix has a tree with only its first half.
#[test]
fn half_a_multi() {
    let mut trial = trial();
    let halves = ["/d/m", "/d/n"].map(|path| Bodies(&trial.history).create(path, ""));
    let mut half = tree_at(&trial.history, z(2, 1));
    half.apply(&txn(z(2, 2), 7, halves[0].clone()));
    trial.commit(z(2, 2), 7, TxnBody::Multi(halves.into()));
    for request in [get_children("/d"), exists("/d/n")] {
        let whole = answer(&tree_at(&trial.history, z(2, 2)), &request);
        trial.accepts(replied(8, z(2, 2), request.clone(), whole));
        let half = answer(&half, &request);
        let saw = trial.objects(replied(9, z(2, 2), request, half));
        assert!(saw.starts_with("H4"), "{saw}");
    }
}

#[test]
fn a_wrong_parent_stat_alone() {
    let mut trial = trial();
    let mut result = answer(&tree_at(&trial.history, z(2, 1)), &get_children("/d"));
    if let Ok(Response::Children(_, stat)) = &mut result {
        // A replica did not raise the pzxid (ZOOKEEPER-3125).
        stat.pzxid = z(1, 5);
    }
    let saw = trial.objects(replied(6, z(2, 1), get_children("/d"), result));
    assert!(saw.ends_with("was answered at 2:1 with pzxid 1:5 instead of 2:1."), "{saw}");
}

#[test]
fn absence_and_presence_confused() {
    let mut trial = trial();
    let saw = trial.objects(replied(6, z(1, 5), exists("/d/a"), Err(Error::NoNode)));
    assert!(saw.contains("with NoNode instead of Exists(Stat"), "{saw}");
    let found = answer(&tree_at(&trial.history, z(1, 5)), &get_data("/d/a"));
    let saw = trial.objects(replied(6, z(2, 1), get_data("/d/a"), found));
    assert!(saw.ends_with("instead of NoNode."), "{saw}");
    // A result of another kind of request is wrong.
    let data = answer(&tree_at(&trial.history, z(1, 5)), &get_data("/d/a"));
    trial.objects(replied(6, z(1, 5), exists("/d/a"), data));
}

#[test]
fn a_zxid_that_is_not_committed() {
    let mut trial = trial();
    assert_eq!(
        trial.objects(replied(6, z(2, 2), exists("/none"), Err(Error::NoNode))),
        "H4 reads are from a prefix: request 6 of session 0x10 (exists /none, client 1) was \
         answered at 2:2, which is not committed."
    );
}

/// A server has the root under two names: the empty path reads it, and must read it as it is.
#[test]
fn the_empty_path_is_the_root() {
    let mut trial = trial();
    let root = answer(&tree_at(&trial.history, z(1, 5)), &exists("/"));
    trial.accepts(replied(6, z(1, 5), exists(""), root.clone()));
    trial.objects(replied(7, z(1, 5), exists(""), Err(Error::NoNode)));
    trial.objects(replied(8, z(1, 5), exists("/d"), root));
}

#[test]
fn refusals_are_not_evaluated() {
    let mut trial = trial();
    trial.accepts(replied(6, z(2, 1), exists("/d/b"), Err(Error::SessionExpired)));
    trial.accepts(replied(7, z(2, 1), exists("d//b"), Err(Error::BadArguments)));
    trial.accepts(replied(8, z(2, 1), get_data("d//b"), Err(Error::NoNode)));
    // A valid path must be evaluated.
    trial.objects(replied(9, z(2, 1), exists("/d/b"), Err(Error::BadArguments)));
}

#[test]
fn what_a_close_session_does_not_list_is_deleted_all_the_same() {
    let mut trial = Trial::new(PrefixRead::new());
    trial.create_session(z(1, 1));
    let create = Bodies(&trial.history).create_as("/e", "", true);
    trial.commit(z(1, 2), 1, create);
    trial.commit(z(1, 3), 0, TxnBody::CloseSession { ephemerals: Vec::new() });
    trial.accepts(replied(2, z(1, 3), exists("/e"), Err(Error::NoNode)));
    let before = answer(&tree_at(&trial.history, z(1, 2)), &get_children("/"));
    trial.accepts(replied(2, z(1, 2), get_children("/"), before.clone()));
    trial.objects(replied(2, z(1, 3), get_children("/"), before));
}

/// A write that may be impossible; an impossible one becomes an error transaction.
#[derive(Clone, Debug)]
enum Write {
    Create(&'static str, bool),
    SetData(&'static str, u8),
    Delete(&'static str),
    /// Deletes and creates the znode again in one multi, so that the directory has changes but the same names.
    Replace(&'static str),
    CloseSession,
}

const PATHS: [&str; 5] = ["/a", "/b", "/a/a", "/a/b", "/b/a"];

fn write() -> impl Strategy<Value = Write> {
    let path = || prop::sample::select(&PATHS[..]);
    prop_oneof![
        3 => (path(), any::<bool>()).prop_map(|(path, ephemeral)| Write::Create(path, ephemeral)),
        2 => (path(), any::<u8>()).prop_map(|(path, data)| Write::SetData(path, data)),
        2 => path().prop_map(Write::Delete),
        1 => path().prop_map(Write::Replace),
        1 => Just(Write::CloseSession),
    ]
}

/// Returns the transaction that `prep` makes of a write.
fn prepare(history: &History, write: &Write) -> TxnBody {
    let (tree, bodies) = (history.tree(), Bodies(history));
    let exists = |path: &str| tree.node(path).is_some();
    let leaf = |path: &str| exists(path) && tree.children_count(path) == 0;
    let can_be_parent =
        |path: &str| tree.node(path).is_some_and(|node| node.ephemeral_owner().is_none());
    match write {
        Write::Create(name, ephemeral)
            if !exists(name) && parent(name).is_some_and(can_be_parent) =>
        {
            bodies.create_as(name, "", *ephemeral)
        }
        Write::SetData(name, data) if exists(name) => bodies.set_data(name, &data.to_string()),
        Write::Delete(name) if leaf(name) => bodies.delete(name),
        Write::Replace(name) if leaf(name) => {
            TxnBody::Multi(vec![bodies.delete(name), bodies.create(name, "again")])
        }
        Write::CloseSession => {
            TxnBody::CloseSession { ephemerals: tree.ephemerals(SESSION).cloned().collect() }
        }
        _ => TxnBody::Error(Error::NoNode),
    }
}

proptest! {
    /// The recorded versions agree with a tree that is built anew, in every prefix and for every read.
    #[test]
    fn agrees_with_a_fold_of_the_history(writes in prop::collection::vec(write(), 1..25)) {
        let mut trial = Trial::new(PrefixRead::new());
        for (at, write) in writes.iter().enumerate() {
            let body = prepare(&trial.history, write);
            trial.commit(z(1, at as u32 + 1), 0, body);
        }
        for counter in 0..=writes.len() as u32 {
            let zxid = z(1, counter);
            let tree = tree_at(&trial.history, zxid);
            for name in PATHS.into_iter().chain(["/"]) {
                for request in [exists(name), get_data(name), get_children(name)] {
                    let result = answer(&tree, &request);
                    prop_assert_eq!(&trial.monitor.expected(&request, name, zxid), &result);
                    trial.accepts(replied(1, zxid, request, result));
                }
            }
        }
    }
}

#[test]
fn a_commit_reported_again_is_taken_in_once() {
    let mut trial = trial();
    let again = trial.history.get(z(1, 5)).expect("committed").clone();
    trial.accepts(committed(again));
    let result = answer(trial.history.tree(), &get_children("/d"));
    trial.accepts(replied(6, z(2, 1), get_children("/d"), result));
    // A create of a path that exists (a mistake of `prep`) changes only the parent.
    let mut body = Bodies(&trial.history).create("/d/c", "");
    if let TxnBody::Create { path: created, .. } = &mut body {
        *created = path("/d/b");
    }
    trial.accepts(committed(txn(z(2, 2), 9, body)));
    let result = answer(trial.history.tree(), &get_children("/d"));
    trial.accepts(replied(7, z(2, 2), get_children("/d"), result));
}

/// A server without a leader shows what it has logged (rules 2.7 and 6.8.2).
#[test]
fn only_on_a_read_only_connection_a_read_may_stand_where_nothing_is_committed() {
    let read_only = session(SessionState::ConnectedReadOnly, Some(ONE));
    let vanished = replied(1, z(1, 6), exists("/gone"), Ok(Response::Exists(Stat::default())));
    let mut trial = trial();
    trial.clone_and_object(vanished.clone());
    trial.accepts(read_only);
    trial.accepts(vanished.clone());
    // A reply with a committed zxid is judged as usual.
    trial.clone_and_object(replied(2, z(1, 5), exists("/d/b"), Err(Error::NoNode)));
    trial.accepts(replied(2, z(1, 5), exists("/d/c"), Err(Error::NoNode)));
    // The next connection is judged as usual too.
    trial.accepts(session(SessionState::SyncConnected, Some(TWO)));
    trial.objects(vanished);
}
