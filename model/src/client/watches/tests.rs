//! The rules of the client's watch table.

use super::*;

use EventType::{NodeChildrenChanged, NodeCreated, NodeDataChanged, NodeDeleted};
use WatchKind::{Child, Data, Exist, Persistent, Recursive};

fn table(watches: &[(&str, WatchKind, u32)]) -> WatchTable {
    let mut table = WatchTable::default();
    for (path, kind, call) in watches {
        table.register(&Arc::from(*path), *kind, CallId(*call));
    }
    table
}

fn fire(table: &mut WatchTable, kind: EventType, path: &str) -> Vec<u32> {
    let event = WatchedEvent { kind, path: path.into(), zxid: Zxid(1) };
    table.fire(&event).into_iter().map(|(_, call)| call.0).collect()
}

#[test]
fn each_event_type_takes_its_kinds_and_leaves_the_rest() {
    // The first and the second time: persistent watches stay.
    let cases: [(EventType, &[u32], &[u32]); 4] = [
        (NodeCreated, &[2, 3, 5, 6], &[5, 6]),
        (NodeDataChanged, &[2, 3, 5, 6], &[5, 6]),
        (NodeChildrenChanged, &[1, 5], &[5]),
        (NodeDeleted, &[1, 2, 3, 5, 6], &[5, 6]),
    ];
    let all = [
        ("/a", Child, 1),
        ("/a", Exist, 2),
        ("/a", Data, 3),
        ("/a/b", Data, 4),
        ("/a", Persistent, 5),
        ("/a", Recursive, 6),
    ];
    for (kind, first, second) in cases {
        let mut table = table(&all);
        assert_eq!(fire(&mut table, kind, "/a"), first, "{kind:?}");
        assert_eq!(fire(&mut table, kind, "/a"), second, "{kind:?} again");
        assert!(table.take_all().contains(&CallId(4)), "{kind:?} is of /a only");
    }
}

#[test]
fn recursive_watches_fire_for_all_descendants_but_not_for_changed_children() {
    let mut table = table(&[
        ("/", Recursive, 1),
        ("/a", Recursive, 2),
        ("/a", Persistent, 3),
        ("/a/b", Child, 4),
        ("/ab", Recursive, 5),
    ]);
    for kind in [NodeCreated, NodeDataChanged] {
        assert_eq!(fire(&mut table, kind, "/a/b"), [2, 1], "{kind:?}");
    }
    // The server sends it because of the one-shot watch below; no other watch fires.
    assert_eq!(fire(&mut table, NodeChildrenChanged, "/a/b"), [4]);
    assert_eq!(fire(&mut table, NodeDeleted, "/a/b"), [2, 1]);
    assert_eq!(fire(&mut table, NodeDeleted, "/a"), [2, 3, 1]);
}

#[test]
fn a_path_without_watches_leaves_no_trace() {
    let mut watched = table(&[("/a", Data, 1), ("/b", Child, 2), ("/c", Recursive, 3)]);
    watched.forget(CallId(1));
    assert_eq!(watched, table(&[("/b", Child, 2), ("/c", Recursive, 3)]));
    assert_eq!(fire(&mut watched, NodeDeleted, "/b"), [2]);
    watched.remove("/c", WatcherType::Any);
    assert_eq!(watched, WatchTable::default());
    assert!(watched.set_watches(Zxid(9)).is_empty());
}

#[test]
fn each_type_removes_its_kinds_and_says_which() {
    use EventType::{ChildWatchRemoved, DataWatchRemoved, PersistentWatchRemoved};
    let all = [
        ("/a", Persistent, 1),
        ("/a", Child, 2),
        ("/a", Exist, 3),
        ("/a", Recursive, 4),
        ("/a", Data, 5),
        ("/a/b", Data, 6),
    ];
    let cases: [(WatcherType, &[(EventType, u32)]); 5] = [
        (WatcherType::Children, &[(ChildWatchRemoved, 2)]),
        (WatcherType::Data, &[(DataWatchRemoved, 3), (DataWatchRemoved, 5)]),
        (WatcherType::Persistent, &[(PersistentWatchRemoved, 1)]),
        (WatcherType::PersistentRecursive, &[(PersistentWatchRemoved, 4)]),
        (
            WatcherType::Any,
            &[
                (PersistentWatchRemoved, 1),
                (ChildWatchRemoved, 2),
                (DataWatchRemoved, 3),
                (PersistentWatchRemoved, 4),
                (DataWatchRemoved, 5),
            ],
        ),
    ];
    for (kind, expected) in cases {
        let mut table = table(&all);
        assert!(table.contains("/a", kind), "{kind:?}");
        let removed: Vec<_> =
            table.remove("/a", kind).into_iter().map(|(event, call)| (event, call.0)).collect();
        assert_eq!(removed, expected, "{kind:?}");
        assert!(!table.contains("/a", kind), "{kind:?}");
        assert!(table.contains("/a/b", WatcherType::Data), "{kind:?} of /a only");
        assert_eq!(table.take_all().len(), all.len() - expected.len());
    }
    assert!(!table(&all).contains("/b", WatcherType::Any));
}

#[test]
fn set_watches_lists_each_path_once_per_kind() {
    let table = table(&[
        ("/b", Data, 1),
        ("/b", Data, 2),
        ("/b", Child, 3),
        ("/a", Exist, 4),
        ("/a", Persistent, 5),
        ("/c", Recursive, 6),
        ("/c", Recursive, 7),
    ]);
    let lists = ["/b", "/a", "/b", "/a", "/c"].map(|path| vec![Arc::from(path)]);
    assert_eq!(table.set_watches(Zxid(7)), [packet(Zxid(7), lists)]);
}

#[test]
fn long_lists_are_split_and_nothing_is_lost() {
    let long = |at: u32| format!("/{at:05}{}", "x".repeat(50_000));
    let paths: Vec<String> = (0..9).map(long).collect();
    let kinds = [Data, Data, Data, Data, Child, Child, Persistent, Persistent, Recursive];
    let watches: Vec<_> =
        paths.iter().zip(kinds).zip(0..).map(|((path, kind), at)| (&**path, kind, at)).collect();
    let packets = table(&watches).set_watches(Zxid(7));
    assert_eq!(packets.len(), 3);
    let mut sent = Vec::new();
    for packet in packets {
        let ClientPacket::SetWatches {
            relative_zxid: Zxid(7),
            data,
            exist,
            child,
            persistent,
            recursive,
        } = packet
        else {
            panic!("not a SetWatches of zxid 7");
        };
        sent.extend([data, exist, child, persistent, recursive].concat());
    }
    let expected: Vec<Arc<str>> = paths.iter().map(|path| path.as_str().into()).collect();
    assert_eq!(sent, expected);
}
