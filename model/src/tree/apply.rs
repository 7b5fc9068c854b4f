//! What transactions do to the tree (semantics 1.3, 2.5).

use super::quota;
use super::{DataTree, EphemeralType, Znode};
use crate::acl::AclList;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::op::{Data, EventType, OpResult, Response};
use crate::path::ZnodePath;
use crate::release::{Bug, Bugs};
use crate::stat::Stat;
use crate::txn::{Txn, TxnBody};
use crate::zxid::Zxid;
use std::sync::Arc;

/// A change that watches react to, in the order in which a transaction makes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// NodeCreated, NodeDeleted or NodeDataChanged; what the parent's watchers get follows from it
    /// (semantics 3.1).
    pub kind: EventType,
    /// The znode.
    pub path: ZnodePath,
    /// The znode's ACL, which decides who is told of this.
    pub acl: AclList,
    /// The parent's, which decides who is told that its set of children changed.
    pub parent_acl: AclList,
}

/// What applying a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The answer for the client that asked.
    pub result: Result<Response, Error>,
    /// Changes for the watches, in order.
    pub changes: Vec<Change>,
}

impl DataTree {
    /// Applies a transaction and moves the last processed zxid to it, once and at the end
    /// (ZOOKEEPER-3127). Effects that are there already stay as they are.
    pub fn apply(&mut self, txn: &Txn) -> Applied {
        self.apply_with(txn, Bugs::NONE)
    }

    /// The same, by a server with these bugs.
    pub fn apply_with(&mut self, txn: &Txn, bugs: Bugs) -> Applied {
        let mut changes = Vec::new();
        let before = bugs.has(Bug::PlantedPzxid).then(|| self.pzxids(&txn.body));
        let mut result = self.apply_body(txn, &txn.body, &mut changes);
        if bugs.has(Bug::MultiTellsNoStat) {
            forget_stats(&txn.body, &mut result);
        }
        for (path, pzxid) in before.into_iter().flatten() {
            self.change(&path, |parent| parent.pzxid = pzxid);
        }
        self.last_processed = self.last_processed.max(txn.zxid);
        Applied { result, changes }
    }

    /// What the parent of a deleted znode has before ([`Bug::PlantedPzxid`]).
    fn pzxids(&self, body: &TxnBody) -> Vec<(String, Zxid)> {
        let TxnBody::Delete { path } = body else { return Vec::new() };
        let parent = path.parent().and_then(|parent| Some((parent, self.node(parent)?)));
        parent.map(|(parent, node)| (parent.to_owned(), node.pzxid)).into_iter().collect()
    }

    fn apply_body(
        &mut self,
        txn: &Txn,
        body: &TxnBody,
        changes: &mut Vec<Change>,
    ) -> Result<Response, Error> {
        match body {
            TxnBody::Multi(parts) => {
                let results = parts.iter().map(|part| {
                    self.apply_op(txn, part, changes)
                        .unwrap_or_else(|error| OpResult::Failed(Some(error)))
                });
                Ok(Response::Multi(results.collect()))
            }
            TxnBody::FailedMulti(codes) => {
                Ok(Response::Multi(codes.iter().map(|code| OpResult::Failed(*code)).collect()))
            }
            TxnBody::CreateSession { timeout } => {
                self.add_session(txn.session, *timeout);
                Ok(Response::Synced)
            }
            TxnBody::CloseSession { ephemerals } => {
                self.close_session(txn, ephemerals, changes);
                Ok(Response::Closed)
            }
            TxnBody::SetAcl { path, acl, aversion } => {
                self.change(path, |node| {
                    node.acl = acl.clone();
                    node.aversion = *aversion;
                })
                .ok_or(Error::NoNode)?;
                Ok(Response::AclSet(self.stat(path).expect("just changed")))
            }
            TxnBody::DeleteContainer { path } => {
                self.delete(path, txn.zxid, changes)?;
                Ok(Response::ContainerDeleted)
            }
            TxnBody::Error(error) => Err(*error),
            op => self.apply_op(txn, op, changes).map(Response::Written),
        }
    }

    fn apply_op(
        &mut self,
        txn: &Txn,
        op: &TxnBody,
        changes: &mut Vec<Change>,
    ) -> Result<OpResult, Error> {
        match op {
            TxnBody::Create { path, data, ephemeral_type, acl, parent_cversion } => {
                let (data, acl) = (Arc::clone(data), acl.clone());
                let node = Znode::created(txn.zxid, txn.time, data, *ephemeral_type, acl);
                self.create(path, node, *parent_cversion, changes)?;
                Ok(OpResult::Created(path.shared(), self.stat(path).expect("just created")))
            }
            TxnBody::Delete { path } => {
                self.delete(path, txn.zxid, changes)?;
                Ok(OpResult::Deleted)
            }
            TxnBody::SetData { path, data, version } => {
                let acl = self.set_data(txn, path, data, *version)?;
                let kind = EventType::NodeDataChanged;
                changes.push(Change { kind, path: path.clone(), acl, parent_acl: AclList::OPEN });
                Ok(OpResult::Set(self.stat(path).expect("just changed")))
            }
            TxnBody::Check { .. } => Ok(OpResult::Checked),
            _ => unreachable!("prep puts only znode operations here"),
        }
    }

    /// The znode's ACL, if it is there.
    fn set_data(
        &mut self,
        txn: &Txn,
        path: &ZnodePath,
        data: &Data,
        version: i32,
    ) -> Result<AclList, Error> {
        let before = self.node(path).map_or(0, |node| node.data.len() as i64);
        self.change(path, |node| {
            node.data = Arc::clone(data);
            node.mzxid = txn.zxid;
            node.mtime = txn.time;
            node.version = version;
        })
        .ok_or(Error::NoNode)?;
        self.count_for_quota(path, 0, data.len() as i64 - before);
        Ok(self.node(path).expect("just changed").acl.clone())
    }

    /// Creates a znode. Where it exists already (replay over a fuzzy snapshot) only its ACL is set
    /// and the parent's counters are raised (semantics 1.3, last paragraph), and the parent is told of it: a snapshot
    /// that passed the parent's place before the parent was created holds the child without it.
    fn create(
        &mut self,
        path: &ZnodePath,
        node: Znode,
        parent_cversion: i32,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let parent_path = path.parent().ok_or(Error::NodeExists)?;
        let zxid = node.czxid;
        self.change(parent_path, |parent| {
            // † Only forwards, so that a replayed create cannot take the counter back.
            if parent_cversion > parent.cversion {
                parent.cversion = parent_cversion;
                parent.pzxid = parent.pzxid.max(zxid);
            }
        })
        .ok_or(Error::NoNode)?;
        if self.nodes.contains_key(path) {
            self.change(path, |existing| existing.acl = node.acl);
            let parent = self.nodes.get_mut(parent_path).expect("just changed");
            parent.children.insert(Arc::from(path.name()));
            return Err(Error::NodeExists);
        }
        let (bytes, acl) = (node.data.len() as i64, node.acl.clone());
        let parent_acl = self.acl_of(parent_path);
        self.put(path.clone(), Arc::new(node));
        if let Some(limited) = quota::counted_by(path) {
            self.count_quota_anew(limited);
        }
        self.count_for_quota(path, 1, bytes);
        let kind = EventType::NodeCreated;
        changes.push(Change { kind, path: path.clone(), acl, parent_acl });
        Ok(())
    }

    /// Deletes a znode. The parent is touched even where the child is missing already (semantics
    /// 1.3 ‡, ZOOKEEPER-3125).
    pub(super) fn delete(
        &mut self,
        path: &ZnodePath,
        zxid: Zxid,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        if let Some(parent_path) = path.parent() {
            self.change(parent_path, |parent| parent.pzxid = parent.pzxid.max(zxid));
        }
        let entry = self.nodes.remove(path).ok_or(Error::NoNode)?;
        self.digest.subtract(super::of_znode(path, &entry.node));
        if let Some(parent) = path.parent().and_then(|parent| self.nodes.get_mut(parent)) {
            parent.children.remove(path.name());
        }
        self.forget(path, &entry.node);
        self.count_for_quota(path, -1, -(entry.node.data.len() as i64));
        let kind = EventType::NodeDeleted;
        let parent_acl = path.parent().map_or(AclList::OPEN, |parent| self.acl_of(parent));
        changes.push(Change { kind, path: path.clone(), acl: entry.node.acl.clone(), parent_acl });
        Ok(())
    }

    /// A znode's ACL; the open one where there is none.
    fn acl_of(&self, path: &str) -> AclList {
        self.node(path).map_or(AclList::OPEN, |node| node.acl.clone())
    }

    /// A znode is gone: so it is from the lists of those that go by themselves.
    fn forget(&mut self, path: &ZnodePath, node: &Znode) {
        match node.ephemeral_type {
            EphemeralType::Void => {}
            EphemeralType::Container | EphemeralType::Ttl(_) => drop(self.reaped.remove(path)),
            EphemeralType::Normal(owner) => {
                if let Some(paths) = self.ephemerals.get_mut(&owner) {
                    paths.remove(path);
                    if paths.is_empty() {
                        self.ephemerals.remove(&owner);
                    }
                }
            }
        }
        if let Some(quota) = quota::limited_by(path) {
            self.quotas.remove(quota);
        }
    }

    /// Deletes the listed ephemerals, then any other that this tree has for the session (semantics
    /// 2.5 rule 2), then the session.
    fn close_session(&mut self, txn: &Txn, listed: &[ZnodePath], changes: &mut Vec<Change>) {
        for path in listed {
            let _ = self.delete(path, txn.zxid, changes);
        }
        let rest: Vec<ZnodePath> = self.ephemerals(txn.session).cloned().collect();
        for path in rest {
            let _ = self.delete(&path, txn.zxid, changes);
        }
        if let Some(timeout) = self.sessions.remove(&txn.session) {
            self.digest.subtract(Fingerprint::of(&(&txn.session, &timeout)));
        }
    }
}

/// Takes away the Stats that a multi's creates tell ([`Bug::MultiTellsNoStat`]); containers and TTL
/// znodes have opcodes of their own, and keep theirs.
fn forget_stats(body: &TxnBody, result: &mut Result<Response, Error>) {
    let (TxnBody::Multi(parts), Ok(Response::Multi(results))) = (body, result) else { return };
    for (part, result) in parts.iter().zip(results) {
        let TxnBody::Create { ephemeral_type, .. } = part else { continue };
        if let (OpResult::Created(_, stat), false) = (result, ephemeral_type.is_reaped()) {
            *stat = Stat::default();
        }
    }
}
