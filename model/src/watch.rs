//! The one-shot watches of one server (semantics 3.1, 3.4).
//!
//! A watch belongs to a connection and fires once: firing takes it away. Data watches are set by
//! exists and getData, child watches by getChildren; a deletion tells both, but each connection
//! once. Several connections are told in the order of their names, where ZooKeeper has none.

use crate::id::ClientConnection;
use crate::op::{EventType, WatchedEvent};
use crate::path::parent;
use crate::tree::{Change, DataTree};
use crate::zxid::Zxid;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The connections that wait at each path, for one kind of watch.
type Watches = BTreeMap<Arc<str>, BTreeSet<ClientConnection>>;

/// All watches of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct WatchTable {
    data: Watches,
    child: Watches,
}

impl WatchTable {
    /// Sets a data watch: exists of any result, getData of a znode. Setting it twice sets one.
    pub fn add_data(&mut self, path: Arc<str>, connection: ClientConnection) {
        self.data.entry(path).or_default().insert(connection);
    }

    /// Sets a child watch: getChildren of a znode.
    pub fn add_child(&mut self, path: Arc<str>, connection: ClientConnection) {
        self.child.entry(path).or_default().insert(connection);
    }

    /// Fires what one change fires, in the order of semantics 3.1, appending to `fired`.
    pub fn trigger(
        &mut self,
        change: &Change,
        zxid: Zxid,
        fired: &mut Vec<(ClientConnection, WatchedEvent)>,
    ) {
        let path = &*change.path;
        let told = fire(&mut self.data, path, change.kind, zxid, &BTreeSet::new(), fired);
        match change.kind {
            EventType::NodeCreated => {}
            EventType::NodeDeleted => {
                fire(&mut self.child, path, EventType::NodeDeleted, zxid, &told, fired);
            }
            EventType::NodeDataChanged => return,
            EventType::NodeChildrenChanged => {
                unreachable!("a transaction changes znodes; what parents see follows from that")
            }
        }
        if let Some(parent) = parent(path) {
            let kind = EventType::NodeChildrenChanged;
            fire(&mut self.child, parent, kind, zxid, &BTreeSet::new(), fired);
        }
    }

    /// A client that re-attached sets its watches again: each is armed, or answered at once when the
    /// tree shows that it was missed (semantics 3.4). `relative_zxid` is the last zxid that the
    /// client has seen. The events are for this connection, in order.
    pub fn set_watches(
        &mut self,
        tree: &DataTree,
        connection: ClientConnection,
        relative_zxid: Zxid,
        data: &[Arc<str>],
        exist: &[Arc<str>],
        child: &[Arc<str>],
    ) -> Vec<WatchedEvent> {
        let zxid = tree.last_processed();
        let mut missed = Vec::new();
        let mut tell = |kind, path: &Arc<str>| {
            missed.push(WatchedEvent { kind, path: Arc::clone(path), zxid });
        };
        for path in data {
            match tree.node(path) {
                None => tell(EventType::NodeDeleted, path),
                Some(node) if node.mzxid > relative_zxid => tell(EventType::NodeDataChanged, path),
                Some(_) => self.add_data(Arc::clone(path), connection),
            }
        }
        for path in exist {
            match tree.node(path) {
                Some(_) => tell(EventType::NodeCreated, path),
                None => self.add_data(Arc::clone(path), connection),
            }
        }
        for path in child {
            match tree.node(path) {
                None => tell(EventType::NodeDeleted, path),
                Some(node) if node.pzxid > relative_zxid => {
                    tell(EventType::NodeChildrenChanged, path);
                }
                Some(_) => self.add_child(Arc::clone(path), connection),
            }
        }
        missed
    }

    /// Forgets the watches of a connection that is closed.
    pub fn remove_connection(&mut self, connection: ClientConnection) {
        for watches in [&mut self.data, &mut self.child] {
            watches.retain(|_, connections| {
                connections.remove(&connection);
                !connections.is_empty()
            });
        }
    }

    /// Whether a change would fire any of the watches.
    pub fn fires(&self, change: &Change) -> bool {
        let path = change.path.as_str();
        if self.data.contains_key(path) {
            return true;
        }
        let structural = change.kind != EventType::NodeDataChanged;
        let deleted = change.kind == EventType::NodeDeleted;
        (deleted && self.child.contains_key(path))
            || (structural && parent(path).is_some_and(|parent| self.child.contains_key(parent)))
    }

    /// Whether no watch is set.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty() && self.child.is_empty()
    }
}

/// Takes the watches at a path away and tells their connections, but not those that `told` names.
/// Returns the connections.
fn fire(
    watches: &mut Watches,
    path: &str,
    kind: EventType,
    zxid: Zxid,
    told: &BTreeSet<ClientConnection>,
    fired: &mut Vec<(ClientConnection, WatchedEvent)>,
) -> BTreeSet<ClientConnection> {
    let Some((path, connections)) = watches.remove_entry(path) else {
        return BTreeSet::new();
    };
    for connection in connections.difference(told) {
        fired.push((*connection, WatchedEvent { kind, path: Arc::clone(&path), zxid }));
    }
    connections
}

#[cfg(test)]
mod tests;
