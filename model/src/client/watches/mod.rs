//! The client's table of watches (rule 3.3, `ZKWatchManager`).
//!
//! A path's watch is set once at the server, however many calls wait for it, and its one
//! notification is handed to all of them. One-shot watches go when they fire; persistent ones stay.
//! A recursive one hears of its path and all below it, but of no NodeChildrenChanged: where a
//! one-shot child watch lies below it, the server sends one that is not meant for it.

use crate::vocabulary::id::CallId;
use crate::vocabulary::op::{AddWatchMode, EventType, WatchedEvent, WatcherType};
use crate::vocabulary::packet::ClientPacket;
use crate::vocabulary::path::parent;
use crate::vocabulary::zxid::Zxid;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of paths after which a SetWatches packet is full (`ClientCnxn.SET_WATCHES_MAX_LENGTH`).
const SET_WATCHES_MAX_LENGTH: usize = 128 * 1024;

/// Which of the maps of `ZKWatchManager` a watch is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum WatchKind {
    /// Set by getData, and by exists where the znode exists.
    Data,
    /// Set by exists where the znode is absent.
    Exist,
    /// Set by getChildren.
    Child,
    /// Set by addWatch; stays.
    Persistent,
    /// Set by addWatch; stays, and hears of everything below.
    Recursive,
}

impl WatchKind {
    const ALL: [WatchKind; 5] = [
        WatchKind::Data,
        WatchKind::Exist,
        WatchKind::Child,
        WatchKind::Persistent,
        WatchKind::Recursive,
    ];

    /// What addWatch sets.
    pub(super) fn of(mode: AddWatchMode) -> WatchKind {
        match mode {
            AddWatchMode::Persistent => WatchKind::Persistent,
            AddWatchMode::PersistentRecursive => WatchKind::Recursive,
        }
    }

    /// Whether it stays when it fires.
    pub(super) fn stays(self) -> bool {
        matches!(self, WatchKind::Persistent | WatchKind::Recursive)
    }

    /// Whether a notification of the path is for a watch of this kind.
    fn hears(self, event: EventType) -> bool {
        match event {
            EventType::NodeCreated | EventType::NodeDataChanged => self != WatchKind::Child,
            EventType::NodeChildrenChanged => {
                matches!(self, WatchKind::Child | WatchKind::Persistent)
            }
            EventType::NodeDeleted => true,
            // The client makes these itself, see `WatchTable::remove`.
            EventType::DataWatchRemoved
            | EventType::ChildWatchRemoved
            | EventType::PersistentWatchRemoved => false,
        }
    }

    /// Whether a type of watches includes this kind.
    fn is_of(self, kind: WatcherType) -> bool {
        match kind {
            WatcherType::Children => self == WatchKind::Child,
            WatcherType::Data => matches!(self, WatchKind::Data | WatchKind::Exist),
            WatcherType::Persistent => self == WatchKind::Persistent,
            WatcherType::PersistentRecursive => self == WatchKind::Recursive,
            WatcherType::Any => true,
        }
    }

    /// What its calls are told when it is taken away.
    fn removal(self) -> EventType {
        match self {
            WatchKind::Data | WatchKind::Exist => EventType::DataWatchRemoved,
            WatchKind::Child => EventType::ChildWatchRemoved,
            WatchKind::Persistent | WatchKind::Recursive => EventType::PersistentWatchRemoved,
        }
    }
}

/// What the one-shot watches of a path wait for; neither, where there are others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Awaited {
    /// That the znode is created: all of them are exist watches.
    pub(crate) its_creation: bool,
    /// That the znode is changed or deleted: all of them are data watches.
    pub(crate) its_change: bool,
}

/// Per path the watches with the call that each is for, in the order of registration. No path is
/// without one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct WatchTable(BTreeMap<Arc<str>, Vec<(WatchKind, CallId)>>);

impl WatchTable {
    /// The server has set a watch.
    pub(super) fn register(&mut self, path: &Arc<str>, kind: WatchKind, call: CallId) {
        self.0.entry(Arc::clone(path)).or_default().push((kind, call));
    }

    /// Who hears of a notification: the watches of its path in the order of registration, then the
    /// recursive ones above it, the nearest first. Takes the one-shot ones away (rule 3.3.2).
    pub(super) fn fire(&mut self, event: &WatchedEvent) -> Vec<(WatchKind, CallId)> {
        let mut fired = Vec::new();
        if let Some(watches) = self.0.get_mut(&event.path) {
            let hears = |(kind, _): &&(WatchKind, CallId)| kind.hears(event.kind);
            fired.extend(watches.iter().filter(hears));
            watches.retain(|(kind, _)| kind.stays() || !kind.hears(event.kind));
            if watches.is_empty() {
                self.0.remove(&event.path);
            }
        }
        if WatchKind::Recursive.hears(event.kind) {
            let above = std::iter::successors(parent(&event.path), |path| parent(path));
            let watches = above.filter_map(|path| self.0.get(path)).flatten();
            fired.extend(watches.filter(|(kind, _)| *kind == WatchKind::Recursive));
        }
        fired
    }

    /// Whether there are such watches on the path.
    pub(super) fn contains(&self, path: &str, kind: WatcherType) -> bool {
        self.0.get(path).is_some_and(|watches| watches.iter().any(|(its, _)| its.is_of(kind)))
    }

    /// Takes such watches away: whom they were for, and what it is to be told, in the order of
    /// registration.
    pub(super) fn remove(&mut self, path: &str, kind: WatcherType) -> Vec<(EventType, CallId)> {
        let Some(watches) = self.0.get_mut(path) else { return Vec::new() };
        let removed = watches.extract_if(.., |(its, _)| its.is_of(kind));
        let removed = removed.map(|(its, call)| (its.removal(), call)).collect();
        if watches.is_empty() {
            self.0.remove(path);
        }
        removed
    }

    /// The call is not interested any more. Its watch stays at the server until it fires or the
    /// connection ends.
    pub(super) fn forget(&mut self, call: CallId) {
        self.0.retain(|_, watches| {
            watches.retain(|(_, mine)| *mine != call);
            !watches.is_empty()
        });
    }

    /// Empties the table: by path, then in the order of registration.
    pub(super) fn take_all(&mut self) -> Vec<CallId> {
        let watches = std::mem::take(&mut self.0).into_values().flatten();
        watches.map(|(_, call)| call).collect()
    }

    /// The packets that set all watches again at another server (rule 3.4.1): none for an empty table, one
    /// until the paths fill it.
    pub(super) fn set_watches(&self, relative_zxid: Zxid) -> Vec<ClientPacket> {
        let mut packets = Vec::new();
        let (mut lists, mut length) = (Lists::default(), 0);
        for kind in WatchKind::ALL {
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
    pub(super) fn in_words(&self) -> Option<String> {
        let paths: Vec<&str> = self.0.keys().map(|path| &**path).collect();
        match paths.as_slice() {
            [] => None,
            [path] => Some(format!("the watch on {path} to fire")),
            paths => Some(format!("one of the watches on {} to fire", paths.join(", "))),
        }
    }

    /// What its calls wait for, by path.
    pub(super) fn awaited(&self) -> impl Iterator<Item = (&Arc<str>, Awaited)> {
        self.0.iter().map(|(path, watches)| {
            let all = |wanted| watches.iter().all(|(kind, _)| *kind == wanted);
            let (its_creation, its_change) = (all(WatchKind::Exist), all(WatchKind::Data));
            (path, Awaited { its_creation, its_change })
        })
    }

    /// The paths with a watch of this kind.
    fn paths(&self, kind: WatchKind) -> impl Iterator<Item = &Arc<str>> {
        let has_kind = move |watches: &[(WatchKind, CallId)]| {
            watches.iter().any(|(its_kind, _)| *its_kind == kind)
        };
        self.0.iter().filter(move |(_, watches)| has_kind(watches)).map(|(path, _)| path)
    }
}

/// The lists of a SetWatches packet, by kind.
type Lists = [Vec<Arc<str>>; 5];

fn packet(relative_zxid: Zxid, lists: Lists) -> ClientPacket {
    let [data, exist, child, persistent, recursive] = lists;
    ClientPacket::SetWatches { relative_zxid, data, exist, child, persistent, recursive }
}

#[cfg(test)]
mod tests;
