//! The changes of the committed transactions by path, and the watches that each change fires.

use crate::vocabulary::acl::{Acl, AclList, Id, Permissions};
use crate::vocabulary::config::Config;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::op::EventType;
use crate::vocabulary::path::{CONFIG, parent};
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::znode::EphemeralType;
use crate::vocabulary::zxid::Zxid;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// The watches that a change fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Whose {
    /// Watches of the znode itself.
    Data,
    /// Watches of the znode's children.
    Child,
}

/// A change of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Change {
    pub(super) zxid: Zxid,
    /// Index of the changed znode within the transaction: a connection is notified of it once.
    pub(super) place: usize,
    pub(super) whose: Whose,
    pub(super) kind: EventType,
    /// True if some clients may not read the znode, so that an event may be withheld (rule 3.1.4).
    pub(super) hidden: bool,
    /// True if the change sets the znode's mzxid or pzxid. False for a create whose parent's counter is at its end
    /// (rule 1.4.3).
    pub(super) moves: bool,
}

/// All committed changes.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Changes {
    by_path: BTreeMap<Arc<str>, Vec<Change>>,
    /// The znodes that existed before the first transaction.
    first: BTreeSet<Arc<str>>,
    /// The znodes that some clients may not read.
    hidden: BTreeSet<Arc<str>>,
    /// The greatest counter that a create has given to each parent.
    counters: BTreeMap<Arc<str>, i32>,
    ephemerals: BTreeMap<Arc<str>, SessionId>,
}

impl Changes {
    /// Returns the state before the first transaction.
    pub(super) fn beginning_with(config: &Config) -> Changes {
        let tree = config.first_tree();
        let mut changes = Changes::default();
        for (path, znode) in tree.nodes() {
            let path = path.shared();
            if !is_readable(&znode.acl) {
                changes.hidden.insert(Arc::clone(&path));
            }
            changes.counters.insert(Arc::clone(&path), znode.cversion);
            changes.first.insert(path);
        }
        changes
    }

    /// Returns the changes of a new transaction, in order.
    pub(super) fn committed(&mut self, txn: &Txn) -> Vec<(Arc<str>, Change)> {
        let mut all = Vec::new();
        self.body(txn, &txn.body, &mut all);
        for (path, change) in &all {
            self.by_path.entry(Arc::clone(path)).or_default().push(change.clone());
        }
        all
    }

    fn body(&mut self, txn: &Txn, body: &TxnBody, all: &mut Vec<(Arc<str>, Change)>) {
        match body {
            TxnBody::Create { path, ephemeral_type, acl, parent_cversion, .. } => {
                let shared = path.shared();
                if !is_readable(acl) {
                    self.hidden.insert(Arc::clone(&shared));
                }
                if let EphemeralType::Normal(owner) = ephemeral_type {
                    self.ephemerals.insert(Arc::clone(&shared), *owner);
                }
                let above = Arc::from(path.parent().unwrap_or("/"));
                let before = self.counters.insert(Arc::clone(&above), *parent_cversion);
                let moves = before.is_none_or(|before| *parent_cversion > before);
                if !moves {
                    self.counters.extend(before.map(|before| (above, before)));
                }
                self.change(txn.zxid, &shared, EventType::NodeCreated, moves, all);
            }
            TxnBody::Delete { path } | TxnBody::DeleteContainer { path } => {
                self.deleted(txn.zxid, &path.shared(), all);
            }
            TxnBody::SetData { path, .. } => {
                self.change(txn.zxid, &path.shared(), EventType::NodeDataChanged, true, all);
            }
            TxnBody::SetAcl { path, acl, .. } => {
                let path = path.shared();
                if is_readable(acl) {
                    self.hidden.remove(&path)
                } else {
                    self.hidden.insert(path)
                };
            }
            TxnBody::Reconfig(_) => {
                let path = Arc::from(CONFIG);
                self.change(txn.zxid, &path, EventType::NodeDataChanged, true, all);
            }
            TxnBody::Multi(bodies) => bodies.iter().for_each(|body| self.body(txn, body, all)),
            TxnBody::CloseSession { .. } => {
                let own = |(_, owner): &(&Arc<str>, &SessionId)| **owner == txn.session;
                let own = self.ephemerals.iter().filter(own).map(|(path, _)| Arc::clone(path));
                for path in own.collect::<Vec<_>>() {
                    self.deleted(txn.zxid, &path, all);
                }
            }
            TxnBody::Check { .. }
            | TxnBody::FailedMulti(_)
            | TxnBody::CreateSession { .. }
            | TxnBody::Error(_) => {}
        }
    }

    fn deleted(&mut self, zxid: Zxid, path: &Arc<str>, all: &mut Vec<(Arc<str>, Change)>) {
        self.change(zxid, path, EventType::NodeDeleted, true, all);
        self.hidden.remove(path);
        self.ephemerals.remove(path);
        self.counters.remove(path);
    }

    /// Records the creation, change or deletion of a znode (rule 3.1.2).
    fn change(
        &self,
        zxid: Zxid,
        path: &Arc<str>,
        kind: EventType,
        moves: bool,
        all: &mut Vec<(Arc<str>, Change)>,
    ) {
        let place = all.len();
        let mut tell = |path: &Arc<str>, whose, kind, moves| {
            let hidden = self.hidden.contains(path);
            all.push((Arc::clone(path), Change { zxid, place, whose, kind, hidden, moves }));
        };
        tell(path, Whose::Data, kind, true);
        if kind == EventType::NodeDeleted {
            tell(path, Whose::Child, kind, true);
        }
        if let Some(above) = parent(path)
            && kind != EventType::NodeDataChanged
        {
            tell(&Arc::from(above), Whose::Child, EventType::NodeChildrenChanged, moves);
        }
    }

    /// Returns the changes of a path after this zxid.
    pub(super) fn after(&self, path: &str, zxid: Zxid) -> impl Iterator<Item = &Change> {
        let all = self.by_path.get(path).map_or(&[][..], Vec::as_slice);
        all[all.partition_point(|change| change.zxid <= zxid)..].iter()
    }

    /// Returns the changes of the path and all paths below it after this zxid.
    pub(super) fn below(
        &self,
        root: &str,
        zxid: Zxid,
    ) -> impl Iterator<Item = (&Arc<str>, &Change)> {
        let all = self.by_path.range::<str, _>((Bound::Included(root), Bound::Unbounded));
        let near = all.take_while(move |(path, _)| path.starts_with(root));
        let below = near.filter(move |(path, _)| is_at_or_below(path, root));
        below.flat_map(move |(path, _)| self.after(path, zxid).map(move |change| (path, change)))
    }

    /// Returns true if the znode exists after all transactions up to this zxid.
    pub(super) fn exists(&self, path: &str, zxid: Zxid) -> bool {
        let all = self.by_path.get(path).map_or(&[][..], Vec::as_slice);
        let before = &all[..all.partition_point(|change| change.zxid <= zxid)];
        let last = before.iter().rev().find_map(|change| match change.kind {
            EventType::NodeCreated | EventType::NodeDataChanged => Some(true),
            EventType::NodeDeleted => Some(false),
            _ => None,
        });
        last.unwrap_or_else(|| self.first.contains(path))
    }
}

pub(super) fn is_at_or_below(path: &str, root: &str) -> bool {
    let rest = path.strip_prefix(root);
    rest.is_some_and(|rest| root == "/" || rest.is_empty() || rest.starts_with('/'))
}

fn is_readable(acl: &AclList) -> bool {
    let read =
        |entry: &Acl| entry.id == Id::ANYONE && entry.permissions.intersects(Permissions::READ);
    acl.is_open() || acl.entries().iter().any(read)
}
