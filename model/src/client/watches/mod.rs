//! The client's watch table (rule 3.3, `ZKWatchManager`).
//!
//! The server has one watch per path, however many calls wait for it, and the client passes its notification to all
//! of them. One-shot watches are removed when they fire; persistent ones stay. A recursive watch fires for its path
//! and all descendants, but not for NodeChildrenChanged: if the server sends one for a descendant, it is meant for a
//! one-shot child watch there.

use crate::vocabulary::id::CallId;
use crate::vocabulary::op::{AddWatchMode, EventType, WatchedEvent, WatcherType};
use crate::vocabulary::packet::ClientPacket;
use crate::vocabulary::path::parent;
use crate::vocabulary::zxid::Zxid;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Length of paths at which a SetWatches packet is full, in bytes (`ClientCnxn.SET_WATCHES_MAX_LENGTH`).
const SET_WATCHES_MAX_LENGTH: usize = 128 * 1024;

/// The map of `ZKWatchManager` that holds a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum WatchKind {
    /// Set by getData, and by exists if the znode exists.
    Data,
    /// Set by exists if the znode does not exist.
    Exist,
    /// Set by getChildren.
    Child,
    /// Set by addWatch; stays after firing.
    Persistent,
    /// Set by addWatch; stays after firing, and fires for all descendants.
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

    /// Returns the kind of watch that addWatch sets in this mode.
    pub(super) fn of(mode: AddWatchMode) -> WatchKind {
        match mode {
            AddWatchMode::Persistent => WatchKind::Persistent,
            AddWatchMode::PersistentRecursive => WatchKind::Recursive,
        }
    }

    /// Returns true if the watch stays after firing.
    pub(super) fn stays(self) -> bool {
        matches!(self, WatchKind::Persistent | WatchKind::Recursive)
    }

    /// Returns true if an event on the watch's path fires a watch of this kind.
    fn hears(self, event: EventType) -> bool {
        match event {
            EventType::NodeCreated | EventType::NodeDataChanged => self != WatchKind::Child,
            EventType::NodeChildrenChanged => {
                matches!(self, WatchKind::Child | WatchKind::Persistent)
            }
            EventType::NodeDeleted => true,
            // The client makes these events itself, see `WatchTable::remove`.
            EventType::DataWatchRemoved
            | EventType::ChildWatchRemoved
            | EventType::PersistentWatchRemoved => false,
        }
    }

    /// Returns true if the type for removeWatches includes this kind.
    fn is_of(self, kind: WatcherType) -> bool {
        match kind {
            WatcherType::Children => self == WatchKind::Child,
            WatcherType::Data => matches!(self, WatchKind::Data | WatchKind::Exist),
            WatcherType::Persistent => self == WatchKind::Persistent,
            WatcherType::PersistentRecursive => self == WatchKind::Recursive,
            WatcherType::Any => true,
        }
    }

    /// Returns the event for the calls of a watch that is removed.
    fn removal(self) -> EventType {
        match self {
            WatchKind::Data | WatchKind::Exist => EventType::DataWatchRemoved,
            WatchKind::Child => EventType::ChildWatchRemoved,
            WatchKind::Persistent | WatchKind::Recursive => EventType::PersistentWatchRemoved,
        }
    }
}

/// The condition under which all one-shot watches of a path fire. Both fields are false for a mixture of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Awaited {
    /// Fires when the znode is created; all watches of the path are exist watches.
    pub(crate) its_creation: bool,
    /// Fires when the znode's data changes or the znode is deleted; all watches of the path are data watches.
    pub(crate) its_change: bool,
}

/// For each path, its watches with their calls, in the order of registration. No path has an empty list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct WatchTable(BTreeMap<Arc<str>, Vec<(WatchKind, CallId)>>);

impl WatchTable {
    /// Registers a watch that the server has set.
    pub(super) fn register(&mut self, path: &Arc<str>, kind: WatchKind, call: CallId) {
        self.0.entry(Arc::clone(path)).or_default().push((kind, call));
    }

    /// Returns the watches that an event fires: those of its path in the order of registration, then the recursive
    /// ones of ancestors, nearest first. Removes the one-shot watches (rule 3.3.2).
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

    /// Returns true if the path has watches of this type.
    pub(super) fn contains(&self, path: &str, kind: WatcherType) -> bool {
        self.0.get(path).is_some_and(|watches| watches.iter().any(|(its, _)| its.is_of(kind)))
    }

    /// Removes watches of this type. Returns their calls and the events for these, in the order of registration.
    pub(super) fn remove(&mut self, path: &str, kind: WatcherType) -> Vec<(EventType, CallId)> {
        let Some(watches) = self.0.get_mut(path) else { return Vec::new() };
        let removed = watches.extract_if(.., |(its, _)| its.is_of(kind));
        let removed = removed.map(|(its, call)| (its.removal(), call)).collect();
        if watches.is_empty() {
            self.0.remove(path);
        }
        removed
    }

    /// Drops the watches of an abandoned call. The server keeps its watch until it fires or the connection ends.
    pub(super) fn forget(&mut self, call: CallId) {
        self.0.retain(|_, watches| {
            watches.retain(|(_, mine)| *mine != call);
            !watches.is_empty()
        });
    }

    /// Empties the table and returns its calls: by path, then in the order of registration.
    pub(super) fn take_all(&mut self) -> Vec<CallId> {
        let watches = std::mem::take(&mut self.0).into_values().flatten();
        watches.map(|(_, call)| call).collect()
    }

    /// Returns the packets that set all watches again at another server (rule 3.4.1). A packet is split when its
    /// paths reach the maximal length; an empty table needs no packet.
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

    /// Describes the watches that calls wait for.
    pub(super) fn in_words(&self) -> Option<String> {
        let paths: Vec<&str> = self.0.keys().map(|path| &**path).collect();
        match paths.as_slice() {
            [] => None,
            [path] => Some(format!("the watch on {path} to fire")),
            paths => Some(format!("one of the watches on {} to fire", paths.join(", "))),
        }
    }

    /// Describes the watches, one per line.
    pub(super) fn lines(&self, lines: &mut Vec<String>) {
        for (path, watches) in &self.0 {
            let lines_of = watches.iter().map(|(kind, _)| match kind {
                WatchKind::Data => format!("data watch on {path}"),
                WatchKind::Exist => format!("exist watch on {path}"),
                WatchKind::Child => format!("child watch on {path}"),
                WatchKind::Persistent => format!("persistent watch on {path}"),
                WatchKind::Recursive => format!("recursive watch on {path}"),
            });
            lines.extend(lines_of);
        }
    }

    /// Returns, for each path, the condition under which its watches fire.
    pub(super) fn awaited(&self) -> impl Iterator<Item = (&Arc<str>, Awaited)> {
        self.0.iter().map(|(path, watches)| {
            let all = |wanted| watches.iter().all(|(kind, _)| *kind == wanted);
            let (its_creation, its_change) = (all(WatchKind::Exist), all(WatchKind::Data));
            (path, Awaited { its_creation, its_change })
        })
    }

    /// Returns the paths with a watch of this kind.
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
