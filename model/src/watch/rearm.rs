//! SetWatches: a client sets its watches again after it re-attached (rule 3.4.1).

use super::WatchTable;
use crate::tree::DataTree;
use crate::vocabulary::id::ClientConnection;
use crate::vocabulary::op::{AddWatchMode, EventType, WatchedEvent};
use crate::vocabulary::packet::ClientPacket;
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::znode::Znode;
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

/// The content of a SetWatches packet.
#[derive(Clone, Copy, Debug)]
pub struct Rearming<'a> {
    /// The last zxid that the client has seen.
    pub relative_zxid: Zxid,
    /// Data watches on znodes that existed.
    pub data: &'a [Arc<str>],
    /// Data watches on znodes that did not exist.
    pub exist: &'a [Arc<str>],
    /// Child watches.
    pub child: &'a [Arc<str>],
    /// Persistent watches. Events that the client missed are lost (rule 3.2.5).
    pub persistent: &'a [Arc<str>],
    /// Persistent recursive watches; missed events are lost as well.
    pub recursive: &'a [Arc<str>],
}

impl<'a> Rearming<'a> {
    /// Returns the content of a SetWatches, or `None` for any other packet.
    pub fn of(packet: &'a ClientPacket) -> Option<Rearming<'a>> {
        match packet {
            ClientPacket::SetWatches {
                relative_zxid,
                data,
                exist,
                child,
                persistent,
                recursive,
            } => {
                let relative_zxid = *relative_zxid;
                Some(Rearming { relative_zxid, data, exist, child, persistent, recursive })
            }
            _ => None,
        }
    }
}

impl WatchTable {
    /// Sets each watch, or returns its event if the tree shows that the client missed it. The events are for this
    /// connection, in order, and are sent without an ACL check, as in `setWatches`.
    pub fn set_watches(
        &mut self,
        tree: &DataTree,
        connection: ClientConnection,
        watches: Rearming<'_>,
        bugs: Bugs,
    ) -> Vec<WatchedEvent> {
        let zxid = tree.last_processed();
        let by_age = bugs.has(Bug::RearmedByAge);
        let mut missed = Vec::new();
        let mut tell = |kind, path: &Arc<str>| {
            missed.push(WatchedEvent { kind, path: Arc::clone(path), zxid });
        };
        for path in watches.data {
            match tree.node(path) {
                None => tell(EventType::NodeDeleted, path),
                Some(node) if by_age && node.czxid > watches.relative_zxid => {
                    tell(EventType::NodeCreated, path);
                }
                Some(node) if node.mzxid > watches.relative_zxid => {
                    tell(EventType::NodeDataChanged, path);
                }
                Some(_) => self.add_data(Arc::clone(path), connection, bugs),
            }
        }
        for path in watches.exist {
            match tree.node(path) {
                Some(_) if bugs.has(Bug::PlantedExistForgotten) => {}
                Some(node) if by_age && node.mzxid > watches.relative_zxid => {
                    tell(EventType::NodeDataChanged, path);
                }
                Some(_) => tell(EventType::NodeCreated, path),
                None => self.add_data(Arc::clone(path), connection, bugs),
            }
        }
        let by_czxid = bugs.has(Bug::PlantedChildByCzxid);
        let changed_at = |node: &Znode| if by_czxid { node.czxid } else { node.pzxid };
        for path in watches.child {
            match tree.node(path) {
                None => tell(EventType::NodeDeleted, path),
                Some(node) if changed_at(node) > watches.relative_zxid => {
                    tell(EventType::NodeChildrenChanged, path);
                }
                Some(_) => self.add_child(Arc::clone(path), connection, bugs),
            }
        }
        for path in watches.persistent {
            self.add(path, connection, AddWatchMode::Persistent, bugs);
        }
        for path in watches.recursive {
            self.add(path, connection, AddWatchMode::PersistentRecursive, bugs);
        }
        missed
    }
}
