//! One of the two watch tables: which connection watches which path, in which modes.

use crate::vocabulary::id::ClientConnection;
use crate::vocabulary::op::EventType;
use crate::vocabulary::path::parent;
use crate::vocabulary::release::{Bug, Bugs};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A mode of a watch (`WatcherMode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Fires once.
    Standard = 1,
    /// Stays set after firing.
    Persistent = 2,
    /// Stays set after firing, and fires for all descendants.
    Recursive = 4,
}

/// The modes of one connection's watches on one path (`WatchStats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Modes(u8);

impl Modes {
    pub(super) const ALL: Modes = Modes(7);

    pub(super) fn of(mode: Mode) -> Modes {
        Modes(mode as u8)
    }

    pub(super) fn intersects(self, other: Modes) -> bool {
        self.0 & other.0 != 0
    }
}

/// The connections that watch each path. No path has an empty map, and no connection has an empty set of modes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Table {
    watches: BTreeMap<Arc<str>, BTreeMap<ClientConnection, Modes>>,
    /// Number of recursive watches; ancestors are searched only if there are any. Derived from `watches`.
    recursive: usize,
}

impl Table {
    /// Adds a mode to a watch; under [`Bug::OneWatchModePerPath`], replaces its modes.
    pub(super) fn add(
        &mut self,
        path: Arc<str>,
        connection: ClientConnection,
        mode: Mode,
        bugs: Bugs,
    ) {
        let modes = self.watches.entry(path).or_default().entry(connection).or_default();
        let before = *modes;
        let kept = if bugs.has(Bug::OneWatchModePerPath) { 0 } else { before.0 };
        *modes = Modes(kept | mode as u8);
        self.recursive += usize::from(is_recursive(*modes));
        self.recursive -= usize::from(is_recursive(before));
    }

    /// Returns the modes of a connection's watches on a path.
    pub(super) fn modes(&self, path: &str, connection: ClientConnection) -> Modes {
        let watches = self.watches.get(path);
        watches.and_then(|watches| watches.get(&connection)).copied().unwrap_or_default()
    }

    /// Returns each path with each connection that watches it.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, ClientConnection)> {
        self.watches
            .iter()
            .flat_map(|(path, connections)| connections.keys().map(move |of| (path, *of)))
    }

    /// Returns true if any connection watches the path.
    pub(super) fn has_any(&self, path: &str) -> bool {
        self.watches.contains_key(path)
    }

    /// Removes modes; returns false if none of them was set.
    pub(super) fn remove(
        &mut self,
        path: &str,
        connection: ClientConnection,
        modes: Modes,
    ) -> bool {
        let before = self.modes(path, connection);
        self.keep(path, connection, Modes(before.0 & !modes.0));
        before.intersects(modes)
    }

    fn keep(&mut self, path: &str, connection: ClientConnection, modes: Modes) {
        let Some(watches) = self.watches.get_mut(path) else { return };
        let Some(before) = watches.get_mut(&connection) else { return };
        self.recursive -= usize::from(is_recursive(*before) && !is_recursive(modes));
        *before = modes;
        if modes == Modes::default() {
            watches.remove(&connection);
            if watches.is_empty() {
                self.watches.remove(path);
            }
        }
    }

    /// Returns the connections to notify of an event at a path, and removes the one-shot watches there.
    pub(super) fn fire(&mut self, path: &str, kind: EventType) -> BTreeSet<ClientConnection> {
        let mut told = BTreeSet::new();
        if self.watches.is_empty() {
            return told;
        }
        if let Some(watches) = self.watches.get_mut(path) {
            let hears = |modes: Modes| modes != Modes::of(Mode::Recursive) || hears_below(kind);
            told.extend(watches.iter().filter(|(_, modes)| hears(**modes)).map(|(who, _)| *who));
            watches.retain(|_, modes| {
                modes.0 &= !(Mode::Standard as u8);
                *modes != Modes::default()
            });
            if watches.is_empty() {
                self.watches.remove(path);
            }
        }
        told.extend(self.above(path, kind));
        told
    }

    /// Returns true if an event at a path would notify any connection.
    pub(super) fn is_watched(&self, path: &str, kind: EventType) -> bool {
        self.watches.contains_key(path) || self.above(path, kind).next().is_some()
    }

    /// Returns the connections with recursive watches on ancestors of a path.
    fn above<'a>(
        &'a self,
        path: &'a str,
        kind: EventType,
    ) -> impl Iterator<Item = ClientConnection> + 'a {
        let first = parent(path).filter(|_| self.recursive > 0 && hears_below(kind));
        let above = std::iter::successors(first, |path| parent(path));
        let watches = above.filter_map(|path| self.watches.get(path)).flatten();
        watches.filter(|(_, modes)| is_recursive(**modes)).map(|(connection, _)| *connection)
    }

    /// Removes the watches of a connection.
    pub(super) fn remove_connection(&mut self, connection: ClientConnection) {
        let recursive = &mut self.recursive;
        self.watches.retain(|_, watches| {
            if let Some(modes) = watches.remove(&connection) {
                *recursive -= usize::from(is_recursive(modes));
            }
            !watches.is_empty()
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.watches.is_empty()
    }
}

fn is_recursive(modes: Modes) -> bool {
    modes.intersects(Modes::of(Mode::Recursive))
}

/// Returns true if recursive watches react to the event: they ignore NodeChildrenChanged.
fn hears_below(kind: EventType) -> bool {
    kind != EventType::NodeChildrenChanged
}
