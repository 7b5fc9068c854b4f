//! The watches of one server (rules 3.1 and 3.4).
//!
//! A watch belongs to a connection and a path. There are two tables, as in `DataTree`: data watches (of exists,
//! getData, addWatch) and child watches (of getChildren, addWatch). A connection can have several modes on one path:
//! one-shot, which firing removes; persistent, in both tables; and persistent recursive, which is in the data table
//! only and fires for all descendants as well, but never with NodeChildrenChanged. However many of its watches an
//! event fires, a connection gets one notification. Several connections are notified in the order of their ids;
//! ZooKeeper has no order.
//!
//! A connection without READ on the znode (data events) or the parent (child events) at that moment gets no
//! notification; its one-shot watch is removed nevertheless (ZOOKEEPER-4799).

mod rearm;
mod table;

use crate::tree::Change;
use crate::vocabulary::acl::AclList;
use crate::vocabulary::id::ClientConnection;
use crate::vocabulary::op::{AddWatchMode, EventType, WatchedEvent, WatcherType};
use crate::vocabulary::path::parent;
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::zxid::Zxid;
use std::collections::BTreeSet;
use std::sync::Arc;
use table::{Mode, Modes, Table};

pub use rearm::Rearming;

/// All watches of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct WatchTable {
    data: Table,
    child: Table,
}

/// The notifications of a change, in order.
pub type Fired = Vec<(ClientConnection, WatchedEvent)>;

impl WatchTable {
    /// Returns each data watch.
    pub fn data_watches(&self) -> impl Iterator<Item = (&Arc<str>, ClientConnection)> {
        self.data.iter()
    }

    /// Returns each child watch.
    pub fn child_watches(&self) -> impl Iterator<Item = (&Arc<str>, ClientConnection)> {
        self.child.iter()
    }

    /// Sets a one-shot data watch, for exists with any result and for a successful getData. A repeated call has no
    /// further effect (rule 3.1.3).
    pub(crate) fn add_data(&mut self, path: Arc<str>, connection: ClientConnection, bugs: Bugs) {
        self.data.add(path, connection, Mode::Standard, bugs);
    }

    /// Sets a one-shot child watch, for a successful getChildren.
    pub(crate) fn add_child(&mut self, path: Arc<str>, connection: ClientConnection, bugs: Bugs) {
        self.child.add(path, connection, Mode::Standard, bugs);
    }

    /// Sets a persistent or persistent recursive watch.
    pub fn add(
        &mut self,
        path: &Arc<str>,
        connection: ClientConnection,
        mode: AddWatchMode,
        bugs: Bugs,
    ) {
        let (mode, both) = match mode {
            AddWatchMode::Persistent => (Mode::Persistent, true),
            AddWatchMode::PersistentRecursive => {
                (Mode::Recursive, bugs.has(Bug::RecursiveWatchIsChildWatch))
            }
        };
        self.data.add(Arc::clone(path), connection, mode, bugs);
        if both {
            self.child.add(Arc::clone(path), connection, mode, bugs);
        }
    }

    /// Removes watches; returns false if there were none.
    pub fn remove(
        &mut self,
        path: &str,
        connection: ClientConnection,
        kind: WatcherType,
        bugs: Bugs,
    ) -> bool {
        let (data, child) = tables_of(kind, bugs);
        // Not short-circuited: watches are removed from both tables.
        let data = data.is_some_and(|modes| self.data.remove(path, connection, modes));
        let child = child.is_some_and(|modes| self.child.remove(path, connection, modes));
        data || child
    }

    /// Returns true if such a watch exists. Persistent watches are sought in the data table, which holds all of them.
    pub fn contains(
        &self,
        path: &str,
        connection: ClientConnection,
        kind: WatcherType,
        bugs: Bugs,
    ) -> bool {
        let (data, child) = tables_of(kind, bugs);
        let others_too = bugs.has(Bug::CheckWatchesSeesOthers);
        let has = |table: &Table, modes: Option<Modes>| {
            modes.is_some_and(|modes| {
                table.modes(path, connection).intersects(modes)
                    || (others_too && table.has_any(path))
            })
        };
        match kind {
            WatcherType::Persistent | WatcherType::PersistentRecursive => has(&self.data, data),
            _ => has(&self.data, data) || has(&self.child, child),
        }
    }

    /// Fires the watches of a change in the order of rule 3.1.2, and appends the notifications to `fired`. `may_read`
    /// returns true if a connection has READ on an ACL.
    pub fn trigger(
        &mut self,
        change: &Change,
        zxid: Zxid,
        may_read: &dyn Fn(ClientConnection, &AclList) -> bool,
        bugs: Bugs,
        fired: &mut Fired,
    ) {
        let mut tell = |told: &BTreeSet<ClientConnection>, kind, path: &str, acl: &AclList| {
            if told.is_empty() {
                return;
            }
            let event = WatchedEvent { kind, path: Arc::from(path), zxid };
            let told = told.iter().filter(|connection| may_read(**connection, acl));
            fired.extend(told.map(|connection| (*connection, event.clone())));
        };
        let path = &*change.path;
        let told = self.data.fire(path, change.kind);
        let planted = bugs.has(Bug::PlantedExistEvent) && change.kind == EventType::NodeCreated;
        let kind = if planted { EventType::NodeDataChanged } else { change.kind };
        tell(&told, kind, path, &change.acl);
        match change.kind {
            EventType::NodeDataChanged => return,
            EventType::NodeDeleted => {
                let mut told_by_child = self.child.fire(path, change.kind);
                told_by_child.retain(|connection| !told.contains(connection));
                tell(&told_by_child, change.kind, path, &change.acl);
            }
            EventType::NodeCreated => {}
            _ => unreachable!("a transaction changes znodes; what parents see follows from that"),
        }
        if bugs.has(Bug::PlantedChildWatch) && change.kind == EventType::NodeDeleted {
            return;
        }
        if let Some(parent) = parent(path) {
            let kind = EventType::NodeChildrenChanged;
            tell(&self.child.fire(parent, kind), kind, parent, &change.parent_acl);
        }
    }

    /// Removes the watches of a closed connection.
    pub(crate) fn remove_connection(&mut self, connection: ClientConnection) {
        self.data.remove_connection(connection);
        self.child.remove_connection(connection);
    }

    /// Returns true if a change would fire a watch.
    pub fn fires(&self, change: &Change) -> bool {
        let path = change.path.as_str();
        if self.data.is_watched(path, change.kind) {
            return true;
        }
        let structural = change.kind != EventType::NodeDataChanged;
        let deleted = change.kind == EventType::NodeDeleted;
        (deleted && self.child.is_watched(path, change.kind))
            || (structural
                && parent(path).is_some_and(|parent| {
                    self.child.is_watched(parent, EventType::NodeChildrenChanged)
                }))
    }

    /// Returns true if no watch is set.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty() && self.child.is_empty()
    }
}

/// Returns the modes of a type in each table: (data, child).
fn tables_of(kind: WatcherType, bugs: Bugs) -> (Option<Modes>, Option<Modes>) {
    let one_each = bugs.has(Bug::OneWatchModePerPath);
    let only = |mode| Some(if one_each { Modes::ALL } else { Modes::of(mode) });
    match kind {
        WatcherType::Children => (None, only(Mode::Standard)),
        WatcherType::Data => (only(Mode::Standard), None),
        WatcherType::Any => (Some(Modes::ALL), Some(Modes::ALL)),
        WatcherType::Persistent => (only(Mode::Persistent), only(Mode::Persistent)),
        WatcherType::PersistentRecursive => (only(Mode::Recursive), None),
    }
}

#[cfg(test)]
mod tests;
