//! The client's table of watches (semantics 3.3, `ZKWatchManager`).
//!
//! A path's watch is set once at the server, however many calls wait for it, and its one
//! notification is handed to all of them. Every watch here is one-shot.

use crate::id::CallId;
use crate::op::{EventType, WatchedEvent};
use crate::packet::ClientPacket;
use crate::zxid::Zxid;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of paths after which a SetWatches packet is full (`ClientCnxn.SET_WATCHES_MAX_LENGTH`).
const SET_WATCHES_MAX_LENGTH: usize = 128 * 1024;

/// Which of the three maps of `ZKWatchManager` a watch is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum WatchKind {
    /// Set by getData, and by exists where the znode exists.
    Data,
    /// Set by exists where the znode is absent.
    Exist,
    /// Set by getChildren.
    Child,
}

impl WatchKind {
    /// Whether an event takes a watch of this kind away.
    fn fires_on(self, event: EventType) -> bool {
        match event {
            EventType::NodeCreated | EventType::NodeDataChanged => self != WatchKind::Child,
            EventType::NodeChildrenChanged => self == WatchKind::Child,
            EventType::NodeDeleted => true,
            EventType::DataWatchRemoved => self != WatchKind::Child,
            EventType::ChildWatchRemoved => self == WatchKind::Child,
            EventType::PersistentWatchRemoved => false,
        }
    }
}

/// Per path the watches with the call that each is for, in the order of registration. No path is
/// without one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct WatchTable(BTreeMap<Arc<str>, Vec<(WatchKind, CallId)>>);

impl WatchTable {
    /// The server has set a watch.
    pub fn register(&mut self, path: &Arc<str>, kind: WatchKind, call: CallId) {
        self.0.entry(Arc::clone(path)).or_default().push((kind, call));
    }

    /// Takes away what an event fires.
    pub fn fire(&mut self, event: &WatchedEvent) -> Vec<CallId> {
        let Some(watches) = self.0.get_mut(&event.path) else { return Vec::new() };
        let fired = watches.extract_if(.., |(kind, _)| kind.fires_on(event.kind));
        let calls = fired.map(|(_, call)| call).collect();
        if watches.is_empty() {
            self.0.remove(&event.path);
        }
        calls
    }

    /// The call is not interested any more. Its watch stays at the server until it fires or the
    /// connection ends.
    pub fn forget(&mut self, call: CallId) {
        self.0.retain(|_, watches| {
            watches.retain(|(_, mine)| *mine != call);
            !watches.is_empty()
        });
    }

    /// Empties the table: by path, then in the order of registration.
    pub fn take_all(&mut self) -> Vec<CallId> {
        let watches = std::mem::take(&mut self.0).into_values().flatten();
        watches.map(|(_, call)| call).collect()
    }

    /// The packets that set all watches again at another server (3.4): none for an empty table, one
    /// until the paths fill it.
    pub fn set_watches(&self, relative_zxid: Zxid) -> Vec<ClientPacket> {
        let mut packets = Vec::new();
        let (mut lists, mut length) = ([const { Vec::new() }; 3], 0);
        for kind in [WatchKind::Data, WatchKind::Exist, WatchKind::Child] {
            for path in self.paths(kind) {
                length += path.len();
                lists[kind as usize].push(Arc::clone(path));
                if length >= SET_WATCHES_MAX_LENGTH {
                    packets.push(packet(relative_zxid, std::mem::take(&mut lists)));
                    length = 0;
                }
            }
        }
        if length > 0 {
            packets.push(packet(relative_zxid, lists));
        }
        packets
    }

    /// What its calls wait for, in words.
    pub fn in_words(&self) -> Option<String> {
        let paths: Vec<&str> = self.0.keys().map(|path| &**path).collect();
        match paths.as_slice() {
            [] => None,
            [path] => Some(format!("the watch on {path} to fire")),
            paths => Some(format!("one of the watches on {} to fire", paths.join(", "))),
        }
    }

    /// The paths with a watch of this kind.
    fn paths(&self, kind: WatchKind) -> impl Iterator<Item = &Arc<str>> {
        let has_kind = move |watches: &[(WatchKind, CallId)]| {
            watches.iter().any(|(its_kind, _)| *its_kind == kind)
        };
        self.0.iter().filter(move |(_, watches)| has_kind(watches)).map(|(path, _)| path)
    }
}

/// A SetWatches packet of the three lists.
fn packet(relative_zxid: Zxid, lists: [Vec<Arc<str>>; 3]) -> ClientPacket {
    let [data, exist, child] = lists;
    ClientPacket::SetWatches {
        relative_zxid,
        data,
        exist,
        child,
        persistent: Vec::new(),
        recursive: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(watches: &[(&str, WatchKind, u16)]) -> WatchTable {
        let mut table = WatchTable::default();
        for (path, kind, call) in watches {
            table.register(&Arc::from(*path), *kind, CallId(*call));
        }
        table
    }

    fn fire(table: &mut WatchTable, kind: EventType, path: &str) -> Vec<u16> {
        let event = WatchedEvent { kind, path: path.into(), zxid: Zxid(1) };
        table.fire(&event).into_iter().map(|call| call.0).collect()
    }

    #[test]
    fn each_event_type_takes_its_kinds_and_leaves_the_rest() {
        use EventType::*;
        let cases: [(EventType, &[u16]); 4] = [
            (NodeCreated, &[2, 3]),
            (NodeDataChanged, &[2, 3]),
            (NodeChildrenChanged, &[1]),
            (NodeDeleted, &[1, 2, 3]),
        ];
        let all = [
            ("/a", WatchKind::Child, 1),
            ("/a", WatchKind::Exist, 2),
            ("/a", WatchKind::Data, 3),
            ("/a/b", WatchKind::Data, 4),
        ];
        for (kind, expected) in cases {
            let mut table = table(&all);
            assert_eq!(fire(&mut table, kind, "/a"), expected, "{kind:?}");
            assert_eq!(fire(&mut table, kind, "/a"), [] as [u16; 0], "{kind:?} is one-shot");
            assert!(table.take_all().contains(&CallId(4)), "{kind:?} is of /a only");
        }
    }

    #[test]
    fn a_path_without_watches_leaves_no_trace() {
        let mut watched = table(&[("/a", WatchKind::Data, 1), ("/b", WatchKind::Child, 2)]);
        watched.forget(CallId(1));
        assert_eq!(watched, table(&[("/b", WatchKind::Child, 2)]));
        assert_eq!(fire(&mut watched, EventType::NodeDeleted, "/b"), [2]);
        assert_eq!(watched, WatchTable::default());
        assert!(watched.set_watches(Zxid(9)).is_empty());
    }

    #[test]
    fn set_watches_lists_each_path_once_per_kind() {
        let table = table(&[
            ("/b", WatchKind::Data, 1),
            ("/b", WatchKind::Data, 2),
            ("/b", WatchKind::Child, 3),
            ("/a", WatchKind::Exist, 4),
        ]);
        let expected = packet(Zxid(7), [vec!["/b".into()], vec!["/a".into()], vec!["/b".into()]]);
        assert_eq!(table.set_watches(Zxid(7)), [expected]);
    }

    #[test]
    fn long_lists_are_split_and_nothing_is_lost() {
        let long = |at: u16| format!("/{at:05}{}", "x".repeat(50_000));
        let paths: Vec<String> = (0..7).map(long).collect();
        let watches: Vec<_> = paths
            .iter()
            .zip(0..)
            .map(|(path, at)| {
                (&**path, if at < 4 { WatchKind::Data } else { WatchKind::Child }, at)
            })
            .collect();
        let packets = table(&watches).set_watches(Zxid(7));
        assert_eq!(packets.len(), 3);
        let mut sent = Vec::new();
        for packet in packets {
            let ClientPacket::SetWatches { relative_zxid: Zxid(7), data, exist, child, .. } =
                packet
            else {
                panic!("not a SetWatches of zxid 7");
            };
            sent.extend([data, exist, child].concat());
        }
        let expected: Vec<Arc<str>> = paths.iter().map(|path| path.as_str().into()).collect();
        assert_eq!(sent, expected);
    }
}
