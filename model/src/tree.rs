//! The replicated database: znodes, sessions and ephemerals, changed only by transactions
//! (semantics 1).
//!
//! Applying is idempotent over fuzzy snapshots: a snapshot's content may be ahead of its label, so
//! a transaction can meet its own effects, and every rule here must then leave them as they are
//! (semantics 1.3 † and ‡).

use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::id::SessionId;
use crate::op::{Data, EventType, OpResult, Response};
use crate::path::{ZnodePath, parent};
use crate::stat::Stat;
use crate::time::Duration;
use crate::txn::{Txn, TxnBody};
use crate::zxid::Zxid;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::ops::Bound;
use std::sync::Arc;

/// A znode as stored (`DataNode` and `StatPersisted`). Its children are in the tree, not here, as
/// in a serialized snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Znode {
    /// Content.
    pub data: Data,
    /// Zxid of the create.
    pub czxid: Zxid,
    /// Zxid of the last change of the data.
    pub mzxid: Zxid,
    /// Zxid of the last create or delete of a child.
    pub pzxid: Zxid,
    /// Creation time, milliseconds.
    pub ctime: u64,
    /// Time of the last change of the data, milliseconds.
    pub mtime: u64,
    /// Changes of the data.
    pub version: i32,
    /// Creations of children: the stored counter, from which sequence numbers are taken. Clients
    /// see twice this less the number of children (semantics 1.3).
    pub cversion: i32,
    /// Changes of the ACL.
    pub aversion: i32,
    /// The owner of an ephemeral.
    pub ephemeral_owner: Option<SessionId>,
}

impl Znode {
    /// A znode that has stood there from the start, with zxid 0 and time 0.
    fn primordial() -> Znode {
        Znode::created(Zxid::ZERO, 0, Arc::from([]), None)
    }

    fn created(zxid: Zxid, time: u64, data: Data, ephemeral_owner: Option<SessionId>) -> Znode {
        Znode {
            data,
            czxid: zxid,
            mzxid: zxid,
            pzxid: zxid,
            ctime: time,
            mtime: time,
            version: 0,
            cversion: 0,
            aversion: 0,
            ephemeral_owner,
        }
    }

    /// The Stat that clients get, for this number of children.
    pub fn stat(&self, num_children: u32) -> Stat {
        Stat {
            czxid: self.czxid,
            mzxid: self.mzxid,
            pzxid: self.pzxid,
            ctime: self.ctime,
            mtime: self.mtime,
            version: self.version,
            cversion: self.cversion.wrapping_mul(2).wrapping_sub(num_children as i32),
            aversion: self.aversion,
            ephemeral_owner: self.ephemeral_owner,
            data_length: self.data.len() as u32,
            num_children,
        }
    }
}

/// A change that watches react to, in the order in which a transaction makes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// NodeCreated, NodeDeleted or NodeDataChanged; what the parent's watchers get follows from it
    /// (semantics 3.1).
    pub kind: EventType,
    /// The znode.
    pub path: ZnodePath,
}

/// What applying a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The answer for the client that asked.
    pub result: Result<Response, Error>,
    /// Changes for the watches, in order.
    pub changes: Vec<Change>,
}

/// The database. Hashing and comparing use the digest and the last processed zxid.
#[derive(Clone, Debug)]
pub struct DataTree {
    nodes: BTreeMap<ZnodePath, Entry>,
    sessions: BTreeMap<SessionId, Duration>,
    ephemerals: BTreeMap<SessionId, BTreeSet<ZnodePath>>,
    last_processed: Zxid,
    digest: Fingerprint,
}

/// A znode and the names of its children.
#[derive(Clone, Debug)]
struct Entry {
    node: Arc<Znode>,
    children: BTreeSet<Arc<str>>,
}

/// The znodes that exist from the start (semantics 1.2).
const RESERVED: [&str; 4] = ["/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"];

impl Default for DataTree {
    fn default() -> DataTree {
        DataTree::new()
    }
}

impl DataTree {
    /// A database as a server first starts with it.
    pub fn new() -> DataTree {
        let mut tree = DataTree::empty();
        for path in RESERVED {
            let path = ZnodePath::new(path).expect("a reserved path is valid");
            tree.put(path, Arc::new(Znode::primordial()));
        }
        tree
    }

    /// A database without any znode, to load a snapshot into.
    pub fn empty() -> DataTree {
        DataTree {
            nodes: BTreeMap::new(),
            sessions: BTreeMap::new(),
            ephemerals: BTreeMap::new(),
            last_processed: Zxid::ZERO,
            digest: Fingerprint::default(),
        }
    }

    /// The zxid up to which transactions were applied.
    pub fn last_processed(&self) -> Zxid {
        self.last_processed
    }

    /// Sets the zxid that the content stands for: on activation of a leader, on SNAP and on TRUNC.
    pub fn set_last_processed(&mut self, zxid: Zxid) {
        self.last_processed = zxid;
    }

    /// Digest of all znodes and sessions, independent of how they came about; kept up to date with
    /// every change. The last processed zxid is not part of it.
    pub fn digest(&self) -> Fingerprint {
        self.digest
    }

    /// The digest computed anew, to check the kept one against.
    pub fn recomputed_digest(&self) -> Fingerprint {
        let mut digest = Fingerprint::default();
        for (path, entry) in &self.nodes {
            digest.add(Fingerprint::of(&(path, &*entry.node)));
        }
        for session in &self.sessions {
            digest.add(Fingerprint::of(&session));
        }
        digest
    }

    /// A znode.
    pub fn node(&self, path: &str) -> Option<&Arc<Znode>> {
        self.nodes.get(path).map(|entry| &entry.node)
    }

    /// A znode with its path as the tree keeps it and the number of its children.
    pub fn find(&self, path: &str) -> Option<(&ZnodePath, &Arc<Znode>, u32)> {
        let (path, entry) = self.nodes.get_key_value(path)?;
        Some((path, &entry.node, entry.children.len() as u32))
    }

    /// A znode's Stat.
    pub fn stat(&self, path: &str) -> Option<Stat> {
        self.nodes.get(path).map(|entry| entry.node.stat(entry.children.len() as u32))
    }

    /// The number of a znode's children; 0 where it does not exist.
    pub fn children_count(&self, path: &str) -> usize {
        self.nodes.get(path).map_or(0, |entry| entry.children.len())
    }

    /// The names of a znode's children, in lexical order.
    pub fn children(&self, path: &str) -> Option<Vec<Arc<str>>> {
        self.nodes.get(path).map(|entry| entry.children.iter().cloned().collect())
    }

    /// All znodes in path order.
    pub fn nodes(&self) -> impl Iterator<Item = (&ZnodePath, &Arc<Znode>)> {
        self.nodes.iter().map(|(path, entry)| (path, &entry.node))
    }

    /// Up to `limit` znodes whose paths come after `cursor` (from the first, for `None`): one piece
    /// of a snapshot. A parent always comes before its children.
    pub fn nodes_after(
        &self,
        cursor: Option<&ZnodePath>,
        limit: usize,
    ) -> Vec<(ZnodePath, Arc<Znode>)> {
        let from = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        self.nodes
            .range::<ZnodePath, _>((from, Bound::Unbounded))
            .take(limit)
            .map(|(path, entry)| (path.clone(), Arc::clone(&entry.node)))
            .collect()
    }

    /// All sessions with their timeouts.
    pub fn sessions(&self) -> &BTreeMap<SessionId, Duration> {
        &self.sessions
    }

    /// The ephemerals of a session, in path order.
    pub fn ephemerals(&self, session: SessionId) -> impl Iterator<Item = &ZnodePath> {
        self.ephemerals.get(&session).into_iter().flatten()
    }

    /// Loads a session from a snapshot.
    pub fn load_session(&mut self, session: SessionId, timeout: Duration) {
        self.add_session(session, timeout);
    }

    /// Loads a znode from a snapshot.
    pub fn load_node(&mut self, path: ZnodePath, node: Arc<Znode>) {
        self.put(path, node);
    }

    /// Whether a session that is not in the session map has ephemerals.
    pub fn has_orphans(&self) -> bool {
        self.ephemerals.keys().any(|session| !self.sessions.contains_key(session))
    }

    /// Deletes the ephemerals of sessions that are not in the session map, without a transaction:
    /// what a new leader does before it snapshots (semantics 2.5, last paragraph). Returns how many.
    pub fn kill_orphans(&mut self) -> usize {
        let orphan = |session: &&SessionId| !self.sessions.contains_key(session);
        let orphans: Vec<SessionId> = self.ephemerals.keys().filter(orphan).copied().collect();
        let mut killed = 0;
        for session in orphans {
            let paths: Vec<ZnodePath> = self.ephemerals(session).cloned().collect();
            killed += paths.len();
            for path in paths {
                let zxid = self.last_processed;
                let _ = self.delete(&path, zxid, &mut Vec::new());
            }
        }
        killed
    }

    /// Applies a transaction and moves the last processed zxid to it, once and at the end
    /// (ZOOKEEPER-3127). Effects that are there already stay as they are.
    pub fn apply(&mut self, txn: &Txn) -> Applied {
        let mut changes = Vec::new();
        let result = self.apply_body(txn, &txn.body, &mut changes);
        self.last_processed = self.last_processed.max(txn.zxid);
        Applied { result, changes }
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
            TxnBody::Create { path, data, ephemeral, parent_cversion } => {
                let owner = ephemeral.then_some(txn.session);
                let node = Znode::created(txn.zxid, txn.time, Arc::clone(data), owner);
                self.create(path, node, *parent_cversion, changes)?;
                Ok(OpResult::Created(path.shared(), self.stat(path).expect("just created")))
            }
            TxnBody::Delete { path } => {
                self.delete(path, txn.zxid, changes)?;
                Ok(OpResult::Deleted)
            }
            TxnBody::SetData { path, data, version } => {
                self.change(path, |node| {
                    node.data = Arc::clone(data);
                    node.mzxid = txn.zxid;
                    node.mtime = txn.time;
                    node.version = *version;
                })
                .ok_or(Error::NoNode)?;
                changes.push(Change { kind: EventType::NodeDataChanged, path: path.clone() });
                Ok(OpResult::Set(self.stat(path).expect("just changed")))
            }
            TxnBody::Check { .. } => Ok(OpResult::Checked),
            _ => unreachable!("prep puts only znode operations here"),
        }
    }

    /// Creates a znode. Where it exists already (replay over a fuzzy snapshot) only the parent's
    /// counters are raised (semantics 1.3, last paragraph), and the parent is told of it: a snapshot
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
            let parent = self.nodes.get_mut(parent_path).expect("just changed");
            parent.children.insert(Arc::from(path.name()));
            return Err(Error::NodeExists);
        }
        self.put(path.clone(), Arc::new(node));
        changes.push(Change { kind: EventType::NodeCreated, path: path.clone() });
        Ok(())
    }

    /// Deletes a znode. The parent is touched even where the child is missing already (semantics
    /// 1.3 ‡, ZOOKEEPER-3125).
    fn delete(
        &mut self,
        path: &ZnodePath,
        zxid: Zxid,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        if let Some(parent_path) = path.parent() {
            self.change(parent_path, |parent| parent.pzxid = parent.pzxid.max(zxid));
        }
        let entry = self.nodes.remove(path).ok_or(Error::NoNode)?;
        self.digest.subtract(Fingerprint::of(&(path, &*entry.node)));
        if let Some(parent) = path.parent().and_then(|parent| self.nodes.get_mut(parent)) {
            parent.children.remove(path.name());
        }
        if let Some(owner) = entry.node.ephemeral_owner
            && let Some(paths) = self.ephemerals.get_mut(&owner)
        {
            paths.remove(path);
            if paths.is_empty() {
                self.ephemerals.remove(&owner);
            }
        }
        changes.push(Change { kind: EventType::NodeDeleted, path: path.clone() });
        Ok(())
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

    fn add_session(&mut self, session: SessionId, timeout: Duration) {
        if let Some(old) = self.sessions.insert(session, timeout) {
            self.digest.subtract(Fingerprint::of(&(&session, &old)));
        }
        self.digest.add(Fingerprint::of(&(&session, &timeout)));
    }

    /// Puts a znode in place, new or loaded, and tells its parent and its owner.
    fn put(&mut self, path: ZnodePath, node: Arc<Znode>) {
        self.digest.add(Fingerprint::of(&(&path, &*node)));
        if let Some(parent) = parent(&path).and_then(|parent| self.nodes.get_mut(parent)) {
            parent.children.insert(Arc::from(path.name()));
        }
        if let Some(owner) = node.ephemeral_owner {
            self.ephemerals.entry(owner).or_default().insert(path.clone());
        }
        let children = BTreeSet::new();
        let old = self.nodes.insert(path, Entry { node, children });
        debug_assert!(old.is_none(), "a znode is put once");
    }

    /// Changes a znode in place, keeping the digest.
    fn change(&mut self, path: &str, change: impl FnOnce(&mut Znode)) -> Option<()> {
        let (path, entry) = {
            let mut range =
                self.nodes.range_mut::<str, _>((Bound::Included(path), Bound::Included(path)));
            range.next()?
        };
        self.digest.subtract(Fingerprint::of(&(path, &*entry.node)));
        change(Arc::make_mut(&mut entry.node));
        self.digest.add(Fingerprint::of(&(path, &*entry.node)));
        Some(())
    }
}

impl PartialEq for DataTree {
    fn eq(&self, other: &DataTree) -> bool {
        self.last_processed == other.last_processed && self.digest == other.digest
    }
}

impl Eq for DataTree {}

impl Hash for DataTree {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.last_processed.hash(state);
        self.digest.hash(state);
    }
}
