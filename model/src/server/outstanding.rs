//! `outstandingChanges`: the differences between the tree and its state after everything proposed is applied (rule
//! 4.3.1).
//!
//! `prep` decides about a request before the earlier ones are committed, so it first looks here, and in the tree only
//! for znodes that no proposal in flight has changed. A change is removed when it is applied; the changes of a failed
//! multi are rolled back.

use crate::tree::{DataTree, EphemeralType};
use crate::vocabulary::acl::AclList;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::zxid::Zxid;
use std::collections::{BTreeSet, VecDeque};

/// What `prep` needs to know about a znode to decide about a request (`ChangeRecord`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Version of the data.
    pub version: i32,
    /// The stored cversion, which numbers sequential znodes.
    pub cversion: i32,
    /// Number of children.
    pub children: u32,
    /// Number of changes of the ACL.
    pub aversion: i32,
    /// Whether the znode is deleted automatically.
    pub ephemeral_type: EphemeralType,
    /// Length of the data in bytes, for quotas.
    pub data_length: u32,
    /// The ACL.
    pub acl: AclList,
}

impl Record {
    /// Returns the record of a znode that was just created.
    pub fn created(ephemeral_type: EphemeralType, data_length: u32, acl: AclList) -> Record {
        Record {
            version: 0,
            cversion: 0,
            children: 0,
            aversion: 0,
            ephemeral_type,
            data_length,
            acl,
        }
    }
}

/// The state of one znode after a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ChangeRecord {
    zxid: Zxid,
    path: ZnodePath,
    /// `None` if the znode is deleted.
    record: Option<Record>,
}

/// The changes of all proposals in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OutstandingChanges {
    /// In the order of the proposals. They are few, so a path is found by a search from the newest on.
    changes: VecDeque<ChangeRecord>,
}

impl OutstandingChanges {
    /// Returns a znode's future state, with its stored path; `None` if it will not exist.
    pub fn find<'a>(&'a self, tree: &'a DataTree, path: &str) -> Option<(&'a ZnodePath, Record)> {
        if let Some(change) = self.newest(path) {
            return change.record.clone().map(|record| (&change.path, record));
        }
        let (path, node, children) = tree.find(path)?;
        let record = Record {
            version: node.version,
            cversion: node.cversion,
            children,
            aversion: node.aversion,
            ephemeral_type: node.ephemeral_type,
            data_length: node.data.len() as u32,
            acl: node.acl.clone(),
        };
        Some((path, record))
    }

    /// Adds a change of the newest proposal, `zxid`; `None` is a deletion.
    pub fn add(&mut self, zxid: Zxid, path: ZnodePath, record: Option<Record>) {
        debug_assert!(self.changes.back().is_none_or(|last| last.zxid <= zxid), "in zxid order");
        self.changes.push_back(ChangeRecord { zxid, path, record });
    }

    /// Removes every change of the newest proposal, `zxid`: znodes return to their state after the previous
    /// proposals.
    pub(crate) fn roll_back(&mut self, zxid: Zxid) {
        while self.changes.back().is_some_and(|change| change.zxid == zxid) {
            self.changes.pop_back();
        }
    }

    /// Removes the changes up to `zxid`, which the tree now contains.
    pub fn applied(&mut self, zxid: Zxid) {
        while self.changes.front().is_some_and(|change| change.zxid <= zxid) {
            self.changes.pop_front();
        }
    }

    /// Returns a session's future ephemerals: those of the tree, with outstanding creates, without outstanding
    /// deletes (rule 2.5.1).
    pub fn ephemerals(&self, tree: &DataTree, session: SessionId) -> BTreeSet<ZnodePath> {
        let mut paths: BTreeSet<ZnodePath> = tree.ephemerals(session).cloned().collect();
        for change in &self.changes {
            match &change.record {
                None => drop(paths.remove(&change.path)),
                Some(record) if record.ephemeral_type.owner() == Some(session) => {
                    paths.insert(change.path.clone());
                }
                Some(_) => {}
            }
        }
        paths
    }

    /// Returns true if a change of this znode is outstanding.
    pub fn changes(&self, path: &str) -> bool {
        self.newest(path).is_some()
    }

    fn newest(&self, path: &str) -> Option<&ChangeRecord> {
        self.changes.iter().rev().find(|change| change.path.as_str() == path)
    }

    /// Returns true if no change is outstanding.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}
