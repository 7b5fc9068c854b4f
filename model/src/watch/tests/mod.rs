//! Every row of the tables of rules 3.1 and 3.4, as scenarios.

mod staying;

use super::*;
use crate::tree::{DataTree, EphemeralType};
use crate::vocabulary::id::{ClientId, SessionId, Xid};
use crate::vocabulary::op::Data;
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Epoch;
use EventType::{NodeChildrenChanged, NodeCreated, NodeDataChanged, NodeDeleted};

fn connection(client: u8) -> ClientConnection {
    ClientConnection { client: ClientId(client.into()), slot: 0 }
}

fn zxid(counter: u32) -> Zxid {
    Zxid::new(Epoch(1), counter)
}

/// A watch table; its notifications are lines like `1: NodeCreated /a`.
#[derive(Default)]
struct Watched(WatchTable);

impl Watched {
    /// Data watches by `data` and child watches by `child`: pairs of a client's number and a path.
    fn new(data: &[(u8, &str)], child: &[(u8, &str)]) -> Watched {
        let mut table = WatchTable::default();
        for (client, path) in data {
            table.add_data(Arc::from(*path), connection(*client), Bugs::NONE);
        }
        for (client, path) in child {
            table.add_child(Arc::from(*path), connection(*client), Bugs::NONE);
        }
        Watched(table)
    }

    fn trigger(&mut self, kind: EventType, path: &str) -> Vec<String> {
        let mut fired = Vec::new();
        let path = ZnodePath::new(path).expect("valid");
        let (acl, parent_acl) = (AclList::OPEN, AclList::OPEN);
        let change = Change { kind, path, acl, parent_acl };
        self.0.trigger(&change, zxid(7), &|_, _| true, Bugs::NONE, &mut fired);
        let line = |(to, event): (ClientConnection, WatchedEvent)| {
            assert_eq!(event.zxid, zxid(7));
            format!("{}: {:?} {}", to.client.0, event.kind, event.path)
        };
        fired.into_iter().map(line).collect()
    }
}

mod triggers {
    use super::*;

    #[test]
    fn create_tells_the_znodes_then_its_parents() {
        let mut watched = Watched::new(&[(2, "/p/a"), (1, "/p/a")], &[(1, "/p"), (3, "/p")]);
        assert_eq!(
            watched.trigger(NodeCreated, "/p/a"),
            [
                "1: NodeCreated /p/a",
                "2: NodeCreated /p/a",
                "1: NodeChildrenChanged /p",
                "3: NodeChildrenChanged /p",
            ]
        );
        assert!(watched.0.is_empty(), "a fired watch is gone");
    }

    #[test]
    fn create_at_the_top_tells_the_root() {
        let mut watched = Watched::new(&[], &[(1, "/")]);
        assert_eq!(watched.trigger(NodeCreated, "/a"), ["1: NodeChildrenChanged /"]);
    }

    #[test]
    fn create_tells_neither_the_childrens_nor_the_grandparents() {
        let mut watched = Watched::new(&[(1, "/p"), (1, "/p/a/b")], &[(1, "/"), (1, "/p/a")]);
        let before = watched.0.clone();
        assert_eq!(watched.trigger(NodeCreated, "/p/a"), [""; 0]);
        assert_eq!(watched.0, before, "what does not fire stays");
    }

    /// Client 1 watches data and children and gets one notification. Client 2 watches only the children.
    #[test]
    fn delete_tells_each_connection_once_then_the_parents() {
        let mut watched =
            Watched::new(&[(1, "/p/a"), (3, "/p/a")], &[(1, "/p/a"), (2, "/p/a"), (1, "/p")]);
        assert_eq!(
            watched.trigger(NodeDeleted, "/p/a"),
            [
                "1: NodeDeleted /p/a",
                "3: NodeDeleted /p/a",
                "2: NodeDeleted /p/a",
                "1: NodeChildrenChanged /p",
            ]
        );
        assert!(watched.0.is_empty(), "also the child watch that was passed over");
    }

    #[test]
    fn set_data_tells_the_data_watches_alone() {
        let mut watched = Watched::new(&[(1, "/p/a")], &[(1, "/p/a"), (1, "/p")]);
        assert_eq!(watched.trigger(NodeDataChanged, "/p/a"), ["1: NodeDataChanged /p/a"]);
        assert_eq!(watched.0, Watched::new(&[], &[(1, "/p/a"), (1, "/p")]).0);
    }

    #[test]
    fn a_watch_fires_once_however_often_it_was_set() {
        let mut watched = Watched::new(&[(1, "/a"), (1, "/a")], &[]);
        assert_eq!(watched.trigger(NodeDataChanged, "/a"), ["1: NodeDataChanged /a"]);
        assert_eq!(watched.trigger(NodeDataChanged, "/a"), [""; 0]);
    }

    #[test]
    fn a_closed_connection_gets_no_notifications() {
        let mut watched = Watched::new(&[(1, "/a"), (2, "/a"), (1, "/b")], &[(1, "/"), (2, "/")]);
        watched.0.remove_connection(connection(1));
        assert_eq!(watched.0, Watched::new(&[(2, "/a")], &[(2, "/")]).0);
        watched.0.remove_connection(connection(2));
        assert_eq!(watched.0, WatchTable::default());
    }

    /// The order within a transaction is that of the tree's changes: closeSession as a delete for
    /// each ephemeral, multi operation by operation.
    #[test]
    fn a_transaction_fires_change_by_change() {
        let mut tree = DataTree::new();
        apply(&mut tree, 1, create("/e1", true));
        apply(&mut tree, 2, create("/e2", true));
        let mut watched = Watched::new(&[(1, "/e1"), (1, "/e2"), (1, "/m")], &[(1, "/")]);
        let ephemerals = ["/e1", "/e2"].map(|path| ZnodePath::new(path).expect("valid")).to_vec();
        let changes = apply(&mut tree, 3, TxnBody::CloseSession { ephemerals });
        let told = |watched: &mut Watched, changes: Vec<Change>| -> Vec<String> {
            changes.iter().flat_map(|change| watched.trigger(change.kind, &change.path)).collect()
        };
        assert_eq!(
            told(&mut watched, changes),
            ["1: NodeDeleted /e1", "1: NodeChildrenChanged /", "1: NodeDeleted /e2",]
        );
        let set = TxnBody::SetData { path: path("/m"), data: Data::from([]), version: 1 };
        let changes = apply(&mut tree, 4, TxnBody::Multi(vec![create("/m", false), set]));
        assert_eq!(changes.len(), 2);
        assert_eq!(told(&mut watched, changes), ["1: NodeCreated /m"]);

        for (at, body) in [
            TxnBody::Error(crate::vocabulary::error::Error::NoNode),
            TxnBody::FailedMulti(vec![Some(crate::vocabulary::error::Error::NoNode)]),
            TxnBody::CreateSession { timeout: crate::vocabulary::time::Duration::from_secs(6) },
            TxnBody::Multi(vec![TxnBody::Check { path: path("/m") }]),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(apply(&mut tree, 5 + at as u32, body), [], "changes no znode");
        }
    }
}

fn path(path: &str) -> ZnodePath {
    ZnodePath::new(path).expect("valid")
}

fn create(at: &str, ephemeral: bool) -> TxnBody {
    let owned = EphemeralType::Normal(SessionId(1));
    TxnBody::create(path(at), [], if ephemeral { owned } else { EphemeralType::Void }, 9)
}

fn apply(tree: &mut DataTree, counter: u32, body: TxnBody) -> Vec<Change> {
    let txn = Txn { zxid: zxid(counter), session: SessionId(1), cxid: Xid(1), time: 0, body };
    tree.apply(&txn).changes
}

mod set_watches {
    use super::*;

    /// `/old` was made at 1, its data changed at 4, its child `/old/x` created at 6; `/e` is at 2.
    fn tree() -> DataTree {
        let mut tree = DataTree::new();
        apply(&mut tree, 1, create("/old", false));
        apply(&mut tree, 2, create("/e", false));
        let set = TxnBody::SetData { path: path("/old"), data: Data::from([1]), version: 1 };
        apply(&mut tree, 4, set);
        let create = TxnBody::create(path("/old/x"), [], EphemeralType::Void, 1);
        apply(&mut tree, 6, create);
        tree
    }

    /// Sets one watch of each list at `at` with the relative zxid `seen`, and returns the events and whether the
    /// watch was set as a data or a child watch.
    fn set(list: &str, at: &str, seen: u32) -> (Vec<EventType>, &'static str) {
        let mut table = WatchTable::default();
        let paths = [Arc::from(at)];
        let of = |name| if list == name { &paths[..] } else { &[] };
        let tree = tree();
        let rearming = Rearming {
            relative_zxid: zxid(seen),
            data: of("data"),
            exist: of("exist"),
            child: of("child"),
            persistent: &[],
            recursive: &[],
        };
        let events = table.set_watches(&tree, connection(1), rearming, Bugs::NONE);
        for event in &events {
            assert_eq!((&*event.path, event.zxid), (at, tree.last_processed()));
        }
        let armed = match () {
            () if table == Watched::new(&[(1, at)], &[]).0 => "data",
            () if table == Watched::new(&[], &[(1, at)]).0 => "child",
            () if table.is_empty() => "nothing",
            () => panic!("an odd table: {table:?}"),
        };
        (events.into_iter().map(|event| event.kind).collect(), armed)
    }

    #[test]
    fn data() {
        assert_eq!(set("data", "/gone", 9), (vec![NodeDeleted], "nothing"));
        assert_eq!(set("data", "/old", 3), (vec![NodeDataChanged], "nothing"));
        assert_eq!(set("data", "/old", 4), (vec![], "data"), "the change at 4 was seen");
        assert_eq!(set("data", "/old", 5), (vec![], "data"), "a child's creation is no change");
        assert_eq!(
            set("data", "/e", 1),
            (vec![NodeDataChanged], "nothing"),
            "deleted and recreated"
        );
    }

    #[test]
    fn exist() {
        assert_eq!(set("exist", "/e", 1), (vec![NodeCreated], "nothing"));
        assert_eq!(set("exist", "/e", 9), (vec![NodeCreated], "nothing"), "no zxid is asked");
        assert_eq!(set("exist", "/gone", 1), (vec![], "data"), "created and deleted is lost");
    }

    #[test]
    fn child() {
        assert_eq!(set("child", "/gone", 9), (vec![NodeDeleted], "nothing"));
        assert_eq!(set("child", "/old", 5), (vec![NodeChildrenChanged], "nothing"));
        assert_eq!(set("child", "/old", 6), (vec![], "child"), "the change at 6 was seen");
        assert_eq!(set("child", "/e", 2), (vec![], "child"));
    }

    #[test]
    fn all_lists_in_one_step_and_in_order() {
        let list = |paths: &[&str]| paths.iter().map(|path| Arc::from(*path)).collect::<Vec<_>>();
        let mut table = WatchTable::default();
        let rearming = Rearming {
            relative_zxid: zxid(5),
            data: &list(&["/old", "/gone"]),
            exist: &list(&["/e", "/none"]),
            child: &list(&["/old", "/e", "/none"]),
            persistent: &[],
            recursive: &[],
        };
        let events = table.set_watches(&tree(), connection(1), rearming, Bugs::NONE);
        let lines: Vec<_> = events.iter().map(|event| (event.kind, &*event.path)).collect();
        assert_eq!(
            lines,
            [
                (NodeDeleted, "/gone"),
                (NodeCreated, "/e"),
                (NodeChildrenChanged, "/old"),
                (NodeDeleted, "/none"),
            ]
        );
        assert_eq!(table, Watched::new(&[(1, "/old"), (1, "/none")], &[(1, "/e")]).0);
    }
}
