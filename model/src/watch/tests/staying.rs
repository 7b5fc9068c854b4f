//! Watches of addWatch, which stay set after firing, and the removal of watches (rules 3.1 and 3.3).

use super::*;
use AddWatchMode::{Persistent, PersistentRecursive};

const NOTHING: [&str; 0] = [];

impl Watched {
    /// Adds a watch of client 1.
    fn with(self, path: &str, mode: AddWatchMode) -> Watched {
        self.with_bugs(path, mode, Bugs::NONE)
    }

    fn with_bugs(mut self, path: &str, mode: AddWatchMode, bugs: Bugs) -> Watched {
        self.0.add(&Arc::from(path), connection(1), mode, bugs);
        self
    }

    fn remove(&mut self, path: &str, kind: WatcherType) -> bool {
        let contained = self.0.contains(path, connection(1), kind, Bugs::NONE);
        let removed = self.0.remove(path, connection(1), kind, Bugs::NONE);
        assert_eq!(contained, removed, "checkWatches and removeWatches agree");
        removed
    }
}

fn nothing() -> Watched {
    Watched::new(&[], &[])
}

mod triggers {
    use super::*;

    #[test]
    fn a_persistent_watch_fires_repeatedly_for_the_znode_and_its_children() {
        let mut watched = nothing().with("/p", Persistent);
        let before = watched.0.clone();
        for _ in 0..2 {
            assert_eq!(watched.trigger(NodeCreated, "/p"), ["1: NodeCreated /p"]);
            assert_eq!(watched.trigger(NodeDataChanged, "/p"), ["1: NodeDataChanged /p"]);
            assert_eq!(watched.trigger(NodeCreated, "/p/a"), ["1: NodeChildrenChanged /p"]);
            assert_eq!(watched.trigger(NodeDataChanged, "/p/a"), NOTHING);
            assert_eq!(watched.trigger(NodeCreated, "/p/a/b"), NOTHING);
            assert_eq!(watched.trigger(NodeDeleted, "/p/a"), ["1: NodeChildrenChanged /p"]);
            assert_eq!(
                watched.trigger(NodeDeleted, "/p"),
                ["1: NodeDeleted /p"],
                "once, not twice"
            );
        }
        assert_eq!(watched.0, before);
    }

    #[test]
    fn a_recursive_watch_fires_for_all_descendants_but_not_for_changed_children() {
        for root in ["/p", "/"] {
            let mut watched = nothing().with(root, PersistentRecursive);
            let before = watched.0.clone();
            for path in ["/p", "/p/a", "/p/a/b"] {
                for kind in [NodeCreated, NodeDataChanged, NodeDeleted] {
                    assert_eq!(watched.trigger(kind, path), [format!("1: {kind:?} {path}")]);
                }
            }
            let beside = watched.trigger(NodeCreated, "/pp");
            assert_eq!(beside.is_empty(), root == "/p", "{beside:?}");
            assert_eq!(watched.0, before);
        }
    }

    /// However many of its watches fire, a connection gets one notification per event.
    #[test]
    fn all_ways_at_once_tell_once() {
        let one_shot = Watched::new(&[(1, "/p")], &[(1, "/p")]);
        let mut watched = one_shot.with("/p", Persistent).with("/p", PersistentRecursive);
        watched = watched.with("/", PersistentRecursive);
        let staying = nothing().with("/p", Persistent).with("/p", PersistentRecursive);
        let staying = staying.with("/", PersistentRecursive);
        assert_eq!(
            watched.trigger(NodeCreated, "/p/a"),
            ["1: NodeCreated /p/a", "1: NodeChildrenChanged /p"]
        );
        assert_eq!(watched.trigger(NodeDataChanged, "/p"), ["1: NodeDataChanged /p"]);
        assert_eq!(watched.0, staying.0, "what was one-shot is gone");
        assert_eq!(watched.trigger(NodeDeleted, "/p"), ["1: NodeDeleted /p"]);
    }

    /// A one-shot watch on an ancestor does not fire for a change below.
    #[test]
    fn only_recursive_watches_above_hear() {
        let mut watched = Watched::new(&[(2, "/p")], &[(2, "/")]).with("/p", PersistentRecursive);
        assert_eq!(watched.trigger(NodeDataChanged, "/p/a"), ["1: NodeDataChanged /p/a"]);
        assert_eq!(
            watched.trigger(NodeDataChanged, "/p"),
            ["1: NodeDataChanged /p", "2: NodeDataChanged /p"]
        );
    }

    #[test]
    fn a_closed_connection_takes_its_recursive_watches_along() {
        let mut watched = nothing().with("/p", PersistentRecursive).with("/p", Persistent);
        watched.0.remove_connection(connection(1));
        assert_eq!(watched.0, WatchTable::default());
        assert_eq!(watched.trigger(NodeCreated, "/p/a"), NOTHING);
    }

    /// `fires` is called before anything is applied, and must not miss a watch that `trigger` then fires.
    #[test]
    fn fires_predicts_trigger() {
        let tables = [
            Watched::new(&[(1, "/p")], &[]),
            Watched::new(&[], &[(1, "/p")]),
            nothing().with("/p", Persistent),
            nothing().with("/p", PersistentRecursive),
            nothing().with("/", PersistentRecursive),
            nothing(),
        ];
        for table in tables {
            for path in ["/p", "/p/a", "/p/a/b", "/q"] {
                for kind in [NodeCreated, NodeDataChanged, NodeDeleted] {
                    let acl = || AclList::OPEN;
                    let change =
                        Change { kind, path: super::path(path), acl: acl(), parent_acl: acl() };
                    let told = Watched(table.0.clone()).trigger(kind, path);
                    assert_eq!(table.0.fires(&change), !told.is_empty(), "{kind:?} {path}");
                }
            }
        }
    }
}

mod removing {
    use super::*;
    use WatcherType::{Any, Children, Data, Persistent as OfPersistent};

    const TYPES: [WatcherType; 5] =
        [Children, Data, Any, OfPersistent, WatcherType::PersistentRecursive];

    /// Returns the types for which removeWatches finds and removes the only watch.
    fn found_by(watched: &Watched) -> Vec<WatcherType> {
        let removes = |kind: &WatcherType| {
            let mut left = Watched(watched.0.clone());
            let removed = left.remove("/p", *kind);
            assert_eq!(left.0.is_empty(), removed || watched.0.is_empty(), "{kind:?}");
            assert_eq!(removed, left.0 != watched.0, "{kind:?}");
            removed
        };
        TYPES.into_iter().filter(removes).collect()
    }

    #[test]
    fn each_watch_is_found_by_its_own_type_and_by_any() {
        assert_eq!(found_by(&Watched::new(&[(1, "/p")], &[])), [Data, Any]);
        assert_eq!(found_by(&Watched::new(&[], &[(1, "/p")])), [Children, Any]);
        let persistent = nothing().with("/p", Persistent);
        assert_eq!(found_by(&persistent), [Any, OfPersistent]);
        let recursive = nothing().with("/p", PersistentRecursive);
        assert_eq!(found_by(&recursive), [Any, WatcherType::PersistentRecursive]);
        assert_eq!(found_by(&nothing()), []);
        assert_eq!(found_by(&Watched::new(&[(2, "/p"), (1, "/q")], &[(2, "/p")])), []);
    }

    #[test]
    fn the_others_on_the_path_stay() {
        let all = || {
            let one_shot = Watched::new(&[(1, "/p")], &[(1, "/p")]);
            one_shot.with("/p", Persistent).with("/p", PersistentRecursive)
        };
        for removed in TYPES {
            let mut watched = all();
            assert!(watched.remove("/p", removed));
            assert!(!watched.remove("/p", removed), "{removed:?} is gone");
            for other in TYPES.into_iter().filter(|other| *other != removed) {
                let stays = removed != Any;
                assert_eq!(
                    watched.0.contains("/p", connection(1), other, Bugs::NONE),
                    stays,
                    "{other:?}"
                );
            }
        }
        let mut watched = all();
        watched.remove("/p", WatcherType::PersistentRecursive);
        assert_eq!(watched.trigger(NodeDataChanged, "/p/a"), NOTHING);
        watched.remove("/p", OfPersistent);
        assert_eq!(watched.0, Watched::new(&[(1, "/p")], &[(1, "/p")]).0);
    }
}

mod old_releases {
    use super::*;

    /// ZOOKEEPER-4466: the newer watch replaces the older one.
    #[test]
    fn one_way_to_watch_per_path() {
        let bugs = Bugs::NONE.with(Bug::OneWatchModePerPath);
        let one_shot = || Watched::new(&[(1, "/p")], &[(1, "/p")]);
        let mut watched = one_shot().with_bugs("/p", PersistentRecursive, bugs);
        assert_eq!(watched.trigger(NodeDataChanged, "/p"), ["1: NodeDataChanged /p"]);
        assert_eq!(watched.trigger(NodeDataChanged, "/p"), ["1: NodeDataChanged /p"]);
        assert!(!watched.remove("/p", WatcherType::Data), "the one-shot data watch was lost");
        assert!(watched.remove("/p", WatcherType::Children), "the other table is another");

        // And vice versa: a read with a watch ends the persistent watch.
        let mut watched = nothing().with_bugs("/p", PersistentRecursive, bugs);
        watched.0.add_data(Arc::from("/p"), connection(1), bugs);
        assert_eq!(watched.trigger(NodeDataChanged, "/p/a"), NOTHING);
        assert_eq!(watched.trigger(NodeDataChanged, "/p"), ["1: NodeDataChanged /p"]);
        assert!(watched.0.is_empty());

        let mut watched = one_shot().with("/p", PersistentRecursive);
        assert!(watched.remove("/p", WatcherType::Data), "today they are apart");
    }

    /// ZOOKEEPER-4475: a recursive watch in the child table does not fire for NodeChildrenChanged there either, but
    /// it replaces a child watch, and remains when a data watch replaces it in the data table.
    #[test]
    fn a_recursive_watch_among_the_child_watches() {
        let bugs = Bugs::NONE.with(Bug::RecursiveWatchIsChildWatch);
        let mut watched = nothing().with_bugs("/p", PersistentRecursive, bugs);
        assert_ne!(watched.0, nothing().with("/p", PersistentRecursive).0);
        assert_eq!(watched.trigger(NodeCreated, "/p/a"), ["1: NodeCreated /p/a"]);
        assert_eq!(watched.trigger(NodeDeleted, "/p/a"), ["1: NodeDeleted /p/a"]);

        let bugs = bugs.with(Bug::OneWatchModePerPath);
        let child = Watched::new(&[], &[(1, "/p")]);
        let mut watched = child.with_bugs("/p", PersistentRecursive, bugs);
        assert_eq!(watched.trigger(NodeCreated, "/p/a"), ["1: NodeCreated /p/a"]);
        watched.0.add_data(Arc::from("/p"), connection(1), bugs);
        assert_eq!(watched.trigger(NodeCreated, "/p/b"), NOTHING);
        assert_eq!(watched.trigger(NodeDeleted, "/p/b"), ["1: NodeDeleted /p/b"]);
    }
}

/// ZOOKEEPER-4799: a connection without READ gets no notification.
mod acls {
    use super::*;
    use crate::vocabulary::acl::{Acl, Id, Permissions};

    /// Fires a change of `/p/a` with these ACLs for `/p/a` and `/p`. Connections 1 and 2 may read everything,
    /// connection 3 only what is open.
    fn told(
        watched: &mut Watched,
        kind: EventType,
        acl: &AclList,
        parent_acl: &AclList,
    ) -> Vec<String> {
        let (acl, parent_acl) = (acl.clone(), parent_acl.clone());
        let change = Change { kind, path: path("/p/a"), acl, parent_acl };
        let may_read = |to: ClientConnection, acl: &AclList| to != connection(3) || acl.is_open();
        let mut fired = Vec::new();
        watched.0.trigger(&change, zxid(7), &may_read, Bugs::NONE, &mut fired);
        let line = |(to, event): (ClientConnection, WatchedEvent)| {
            format!("{}: {:?} {}", to.client.0, event.kind, event.path)
        };
        fired.into_iter().map(line).collect()
    }

    fn closed() -> AclList {
        AclList::new([Acl::new(Permissions::WRITE, Id::ANYONE)])
    }

    /// The znode's own ACL decides about its data events, the parent's about its child events.
    #[test]
    fn each_event_asks_its_own_acl() {
        let all = || Watched::new(&[(2, "/p/a"), (3, "/p/a")], &[(2, "/p"), (3, "/p")]);
        let (open, closed) = (AclList::OPEN, closed());
        let (own, parents) = ("NodeCreated /p/a", "NodeChildrenChanged /p");
        let lines = |of: &[(u8, &str)]| of.iter().map(|it| format!("{}: {}", it.0, it.1)).collect();
        let cases: [(&AclList, &AclList, Vec<String>); 3] = [
            (&open, &open, lines(&[(2, own), (3, own), (2, parents), (3, parents)])),
            (&closed, &open, lines(&[(2, own), (2, parents), (3, parents)])),
            (&open, &closed, lines(&[(2, own), (3, own), (2, parents)])),
        ];
        for (acl, parent_acl, expected) in cases {
            let mut watched = all();
            assert_eq!(told(&mut watched, NodeCreated, acl, parent_acl), expected);
            assert!(watched.0.is_empty(), "who is not told has lost its watch all the same");
        }
    }

    /// The data watch would fire but the ACL forbids it; the child watch on the same path does not replace it.
    #[test]
    fn a_forbidden_delete_is_not_reported_by_another_watch() {
        let mut watched = Watched::new(&[(3, "/p/a")], &[(3, "/p/a"), (2, "/p/a")]);
        let lines = told(&mut watched, NodeDeleted, &closed(), &AclList::OPEN);
        assert_eq!(lines, ["2: NodeDeleted /p/a"]);
        assert!(watched.0.is_empty());
    }

    #[test]
    fn a_persistent_watch_fires_again_for_permitted_events() {
        let mut watched = nothing();
        watched.0.add(&Arc::from("/p"), connection(3), PersistentRecursive, Bugs::NONE);
        let open = AclList::OPEN;
        assert_eq!(told(&mut watched, NodeDataChanged, &closed(), &open), NOTHING);
        assert_eq!(told(&mut watched, NodeDataChanged, &open, &open), ["3: NodeDataChanged /p/a"]);
    }
}

/// SetWatches sets persistent watches without notifications, whatever happened meanwhile (rule 3.2.5).
#[test]
fn set_watches_sends_nothing_for_persistent_watches() {
    let list = |paths: &[&str]| paths.iter().map(|path| Arc::from(*path)).collect::<Vec<_>>();
    let mut tree = DataTree::new();
    apply(&mut tree, 1, create("/p", false));
    let mut table = WatchTable::default();
    let rearming = Rearming {
        relative_zxid: zxid(0),
        data: &[],
        exist: &[],
        child: &[],
        persistent: &list(&["/p", "/none"]),
        recursive: &list(&["/p"]),
    };
    assert_eq!(table.set_watches(&tree, connection(1), rearming, Bugs::NONE), []);
    let expected = nothing().with("/p", Persistent).with("/none", Persistent);
    assert_eq!(table, expected.with("/p", PersistentRecursive).0);
}
