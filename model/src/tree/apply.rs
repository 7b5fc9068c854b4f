//! Applying transactions to the tree (rules 1.3.1 and 2.5.2).

use super::quota;
use super::{DataTree, Entry, Znode};
use crate::vocabulary::acl::AclList;
use crate::vocabulary::error::Error;
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::op::{Data, EventType, OpResult, Response};
use crate::vocabulary::path::{CONFIG, RECONFIGURED, ZnodePath};
use crate::vocabulary::quorum::QuorumVerifier;
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::stat::Stat;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Zxid;
use std::collections::btree_map;
use std::sync::Arc;

/// A change that watches react to. A transaction lists its changes in the order in which it makes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// NodeCreated, NodeDeleted or NodeDataChanged. The events of the parent's watches follow from it (rule 3.1.2).
    pub kind: EventType,
    /// The znode.
    pub path: ZnodePath,
    /// The znode's ACL, which decides which clients are notified of the change.
    pub acl: AclList,
    /// The parent's ACL, which decides which clients are notified that its set of children changed.
    pub parent_acl: AclList,
}

/// The result of applying a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The reply to the client.
    pub result: Result<Response, Error>,
    /// Changes for the watches, in order.
    pub changes: Vec<Change>,
}

impl DataTree {
    /// Applies a transaction, then sets the last processed zxid to its zxid, in one place at the end
    /// (ZOOKEEPER-3127). Effects that the tree already contains stay as they are.
    pub fn apply(&mut self, txn: &Txn) -> Applied {
        self.apply_with(txn, Bugs::NONE)
    }

    /// Applies a transaction as a server with these bugs does.
    pub(crate) fn apply_with(&mut self, txn: &Txn, bugs: Bugs) -> Applied {
        let mut changes = Vec::new();
        let before = bugs.has(Bug::PlantedPzxid).then(|| self.pzxids(&txn.body));
        let mut result = self.apply_body(txn, &txn.body, &mut changes);
        if bugs.has(Bug::MultiTellsNoStat) {
            forget_stats(&txn.body, &mut result);
        }
        for (path, pzxid) in before.into_iter().flatten() {
            self.change(&path, |entry| entry.znode().pzxid = pzxid);
        }
        self.last_processed = self.last_processed.max(txn.zxid);
        Applied { result, changes }
    }

    /// Returns the parent of a deleted znode with its pzxid before the deletion ([`Bug::PlantedPzxid`]).
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
                let set = self.change(path, |entry| {
                    let node = entry.znode();
                    node.acl = acl.clone();
                    node.aversion = *aversion;
                    entry.stat()
                });
                if set.is_some() {
                    self.acl_set(path, acl);
                }
                set.map(Response::AclSet).ok_or(Error::NoNode)
            }
            TxnBody::DeleteContainer { path } => {
                self.delete(path, txn.zxid, changes)?;
                Ok(Response::ContainerDeleted)
            }
            TxnBody::Error(error) => Err(*error),
            TxnBody::Reconfig(next) => self.reconfigure(txn, *next, changes),
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
                let (data, acl) = (data.clone(), acl.clone());
                let node = Znode::created(txn.zxid, txn.time, data, *ephemeral_type, acl);
                let stat = self.create(path, node, *parent_cversion, changes)?;
                Ok(OpResult::Created(path.shared(), stat))
            }
            TxnBody::Delete { path } => {
                self.delete(path, txn.zxid, changes)?;
                Ok(OpResult::Deleted)
            }
            TxnBody::SetData { path, data, version } => {
                Ok(OpResult::Set(self.set_data(txn, path, data, *version, changes)?))
            }
            TxnBody::Check { .. } => Ok(OpResult::Checked),
            _ => unreachable!("prep puts only znode operations here"),
        }
    }

    /// Replaces the content of `/zookeeper/config`, with the version -1 (rule 5.8.3).
    fn reconfigure(
        &mut self,
        txn: &Txn,
        next: QuorumVerifier,
        changes: &mut Vec<Change>,
    ) -> Result<Response, Error> {
        let path = ZnodePath::new(CONFIG).expect("a reserved path is valid");
        let data = Data::from(next.to_string().as_bytes());
        let stat = self.set_data(txn, &path, &data, RECONFIGURED, changes)?;
        Ok(Response::Reconfigured(data, stat))
    }

    fn set_data(
        &mut self,
        txn: &Txn,
        path: &ZnodePath,
        data: &Data,
        version: i32,
        changes: &mut Vec<Change>,
    ) -> Result<Stat, Error> {
        self.look_up_acl(path);
        let set = self.change(path, |entry| {
            let node = entry.znode();
            let before = std::mem::replace(&mut node.data, data.clone()).len();
            node.mzxid = txn.zxid;
            node.mtime = txn.time;
            node.version = version;
            (before, node.acl.clone(), entry.stat())
        });
        let (before, acl, stat) = set.ok_or(Error::NoNode)?;
        self.count_for_quota(path, 0, data.len() as i64 - before as i64);
        let kind = EventType::NodeDataChanged;
        changes.push(Change { kind, path: path.clone(), acl, parent_acl: AclList::OPEN });
        Ok(stat)
    }

    /// Creates a znode. If it exists already (replay over a fuzzy snapshot), only its ACL is set, the parent's
    /// counters are raised (rule 1.3.5), and the znode is added to the parent's children: a snapshot that was written
    /// past the parent's place before the parent was created holds the child without the parent. The returned Stat
    /// describes the data as sent; if the data are a quota's statistics, they are recounted afterwards.
    fn create(
        &mut self,
        path: &ZnodePath,
        node: Znode,
        parent_cversion: i32,
        changes: &mut Vec<Change>,
    ) -> Result<Stat, Error> {
        let parent_path = path.parent().ok_or(Error::NodeExists)?;
        let zxid = node.czxid;
        self.look_up_acl(parent_path);
        let parent = self.change(parent_path, |entry| {
            entry.children.insert(Arc::from(path.name()));
            // † Only upwards, so that a replayed create cannot lower the counter.
            if parent_cversion > entry.node.cversion {
                let parent = entry.znode();
                parent.cversion = parent_cversion;
                parent.pzxid = parent.pzxid.max(zxid);
            }
            entry.node.acl.clone()
        });
        let parent_acl = parent.ok_or(Error::NoNode)?;
        let (acl, stat, ephemeral_type) = (node.acl.clone(), node.stat(0), node.ephemeral_type);
        let place = match self.nodes.entry(path.clone()) {
            btree_map::Entry::Vacant(place) => place,
            btree_map::Entry::Occupied(_) => {
                self.change(path, |existing| existing.znode().acl = acl.clone());
                self.acl_created(path, &acl);
                return Err(Error::NodeExists);
            }
        };
        self.digest.add(place.insert(Entry::new(path, Arc::new(node))).digest);
        self.acl_created(path, &acl);
        self.list(path, ephemeral_type);
        if let Some(limited) = quota::counted_by(path) {
            self.count_quota_anew(limited);
        }
        self.count_for_quota(path, 1, i64::from(stat.data_length));
        let kind = EventType::NodeCreated;
        changes.push(Change { kind, path: path.clone(), acl, parent_acl });
        Ok(stat)
    }

    /// Deletes a znode. The parent's pzxid changes even if the child is already gone (rule 1.3.3, ZOOKEEPER-3125).
    pub(super) fn delete(
        &mut self,
        path: &ZnodePath,
        zxid: Zxid,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let parent = path.parent().and_then(|parent_path| {
            self.change(parent_path, |entry| {
                entry.children.remove(path.name());
                let parent = entry.znode();
                parent.pzxid = parent.pzxid.max(zxid);
                parent.acl.clone()
            })
        });
        self.look_up_acl(path);
        let entry = self.nodes.remove(path).ok_or(Error::NoNode)?;
        self.acl_deleted(path);
        self.digest.subtract(entry.digest);
        self.unlist(path, entry.node.ephemeral_type);
        self.count_for_quota(path, -1, -(entry.node.data.len() as i64));
        let (kind, acl) = (EventType::NodeDeleted, entry.node.acl.clone());
        // Only a diverged tree contains a znode without its parent.
        let parent_acl = parent.unwrap_or(AclList::OPEN);
        changes.push(Change { kind, path: path.clone(), acl, parent_acl });
        Ok(())
    }

    /// Deletes the listed ephemerals, then any others that this tree has for the session (rule 2.5.2), then the
    /// session.
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

/// Removes the Stats from the results of a multi's creates ([`Bug::MultiTellsNoStat`]). Containers and TTL znodes
/// have opcodes of their own and keep their Stats.
fn forget_stats(body: &TxnBody, result: &mut Result<Response, Error>) {
    let (TxnBody::Multi(parts), Ok(Response::Multi(results))) = (body, result) else { return };
    for (part, result) in parts.iter().zip(results) {
        let TxnBody::Create { ephemeral_type, .. } = part else { continue };
        if let (OpResult::Created(_, stat), false) = (result, ephemeral_type.is_reaped()) {
            *stat = Stat::default();
        }
    }
}
