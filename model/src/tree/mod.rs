//! The replicated database: znodes, sessions and ephemerals, changed only by transactions
//! (rule 1.3).
//!
//! Applying a transaction is idempotent over fuzzy snapshots: the content of a snapshot may be newer than its zxid,
//! so a transaction can find its own effects in the tree and must then leave them unchanged (rules 1.3.2 and 1.3.3).

mod acl_cache;
pub(crate) mod answers;
mod apply;
mod difference;
mod lines;
pub mod quota;

pub use crate::vocabulary::znode::{EphemeralType, Znode};
pub use apply::{Applied, Change};

use acl_cache::AclCache;

use crate::vocabulary::acl::AclList;
use crate::vocabulary::config::Config;
use crate::vocabulary::data::Data;
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::path::{CONFIG, RECONFIGURED, RESERVED, ZnodePath, parent};
use crate::vocabulary::quorum::QuorumVerifier;
use crate::vocabulary::setup::{Prepared, Setup};
use crate::vocabulary::stat::Stat;
use crate::vocabulary::time::{Duration, Time};
use crate::vocabulary::zxid::Zxid;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::ops::Bound;
use std::sync::Arc;

/// The database. Equality and hashing use the digest, the last processed zxid, the statistics of quotas (which the
/// digest leaves out although they decide about writes), and the ACL numbers.
#[derive(Clone, Debug)]
pub struct DataTree {
    nodes: BTreeMap<ZnodePath, Entry>,
    sessions: BTreeMap<SessionId, Duration>,
    ephemerals: BTreeMap<SessionId, BTreeSet<ZnodePath>>,
    /// Containers and TTL znodes, for the leader's container manager.
    reaped: BTreeSet<ZnodePath>,
    /// Paths that have a quota.
    quotas: BTreeSet<Arc<str>>,
    /// ACL numbers, under the bug that needs them.
    acls: Option<Box<AclCache>>,
    last_processed: Zxid,
    digest: Fingerprint,
}

/// A znode and the names of its children.
#[derive(Clone, Debug)]
struct Entry {
    node: Arc<Znode>,
    children: BTreeSet<Arc<str>>,
    /// The znode's part of the digest; derived from `node`.
    digest: Fingerprint,
}

impl Entry {
    fn new(path: &str, node: Arc<Znode>) -> Entry {
        let digest = of_znode(path, &node);
        Entry { node, children: BTreeSet::new(), digest }
    }

    fn znode(&mut self) -> &mut Znode {
        Arc::make_mut(&mut self.node)
    }

    fn stat(&self) -> Stat {
        self.node.stat(self.children.len() as u32)
    }
}

impl Setup {
    /// Returns the database with which every server begins.
    pub fn tree(&self) -> DataTree {
        DataTree::beginning_with(self.znodes())
    }
}

impl Config {
    /// Returns the database with which every server begins. Before 3.5.0 it has no `/zookeeper/config` (rule 1.2.1).
    pub fn first_tree(&self) -> DataTree {
        let mut tree = self.setup.tree();
        if !self.options.operations_of.has_config_znode() {
            tree.take_out(CONFIG);
        }
        tree
    }
}

impl Default for DataTree {
    fn default() -> DataTree {
        DataTree::new()
    }
}

impl DataTree {
    /// Returns the database of a server's first start.
    pub fn new() -> DataTree {
        let mut tree = DataTree::empty();
        for path in RESERVED {
            let path = ZnodePath::new(path).expect("a reserved path is valid");
            let mut znode = Znode::primordial(AclList::OPEN);
            if path.as_str() == CONFIG {
                // Only a super user changes the configuration (rule 1.2.2). `DataTree.addConfigNode` sets the ACL
                // with version -1.
                znode.acl = AclList::read_unsafe();
                znode.aversion = -1;
            }
            tree.put(path, Arc::new(znode));
        }
        tree
    }

    /// Returns the database of a server's first start plus these znodes, parents first.
    pub(crate) fn beginning_with(znodes: &[Prepared]) -> DataTree {
        let mut tree = DataTree::new();
        for Prepared { path, container } in znodes {
            let mut znode = Znode::primordial(AclList::OPEN);
            if let Some(creates) = container {
                znode.ephemeral_type = EphemeralType::Container;
                znode.cversion = *creates;
            }
            tree.put(path.clone(), Arc::new(znode));
            // The setup counts as one create in the parent, whose counter numbers sequential znodes.
            let parent = path.parent().and_then(|parent| ZnodePath::new(parent).ok());
            let parent = parent.expect("a setup does not name the root");
            tree.change(parent.as_str(), |entry| {
                let znode = entry.znode();
                znode.cversion = znode.cversion.saturating_add(1);
            });
        }
        tree
    }

    /// Returns a database without any znode, to load a snapshot into.
    pub fn empty() -> DataTree {
        DataTree {
            nodes: BTreeMap::new(),
            sessions: BTreeMap::new(),
            ephemerals: BTreeMap::new(),
            reaped: BTreeSet::new(),
            quotas: BTreeSet::new(),
            acls: None,
            last_processed: Zxid::ZERO,
            digest: Fingerprint::default(),
        }
    }

    /// Writes a configuration into `/zookeeper/config`, without a transaction.
    pub(crate) fn set_config(&mut self, configuration: QuorumVerifier, mzxid: Zxid, at: Time) {
        let data = Data::from(configuration.to_string().as_bytes());
        self.change(CONFIG, |entry| {
            let node = entry.znode();
            (node.data, node.mzxid, node.mtime) = (data, mzxid, at.milliseconds());
            node.version = RECONFIGURED;
        });
    }

    /// Returns the zxid of the last applied transaction.
    pub fn last_processed(&self) -> Zxid {
        self.last_processed
    }

    /// Sets the zxid that the content represents: when a leader is activated, after SNAP and after TRUNC.
    pub fn set_last_processed(&mut self, zxid: Zxid) {
        self.last_processed = zxid;
    }

    /// Returns the digest of all znodes and sessions, maintained with every change. It does not depend on how they
    /// came about, and excludes the last processed zxid.
    pub fn digest(&self) -> Fingerprint {
        self.digest
    }

    /// Recomputes the digest, to check the maintained one.
    pub fn recomputed_digest(&self) -> Fingerprint {
        let mut digest = Fingerprint::default();
        for (path, entry) in &self.nodes {
            digest.add(of_znode(path, &entry.node));
        }
        for session in &self.sessions {
            digest.add(Fingerprint::of(&session));
        }
        digest
    }

    /// Returns a znode.
    pub fn node(&self, path: &str) -> Option<&Arc<Znode>> {
        self.nodes.get(path).map(|entry| &entry.node)
    }

    /// Returns a znode, its path as the tree stores it, and the number of its children.
    pub fn find(&self, path: &str) -> Option<(&ZnodePath, &Arc<Znode>, u32)> {
        let (path, entry) = self.nodes.get_key_value(path)?;
        Some((path, &entry.node, entry.children.len() as u32))
    }

    /// Returns a znode's Stat.
    pub fn stat(&self, path: &str) -> Option<Stat> {
        self.nodes.get(path).map(Entry::stat)
    }

    /// Returns the number of a znode's children, or 0 if it does not exist.
    pub fn children_count(&self, path: &str) -> usize {
        self.nodes.get(path).map_or(0, |entry| entry.children.len())
    }

    /// Returns the names of a znode's children, in lexical order.
    pub fn children(&self, path: &str) -> Option<Vec<Arc<str>>> {
        self.nodes.get(path).map(|entry| entry.children.iter().cloned().collect())
    }

    /// Returns all znodes in path order.
    pub fn nodes(&self) -> impl Iterator<Item = (&ZnodePath, &Arc<Znode>)> {
        self.nodes.iter().map(|(path, entry)| (path, &entry.node))
    }

    /// Returns one piece of a snapshot: up to `limit` znodes in path order after `cursor`, or from the first for
    /// `None`. A parent always precedes its children.
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

    /// Returns all sessions with their timeouts.
    pub fn sessions(&self) -> &BTreeMap<SessionId, Duration> {
        &self.sessions
    }

    /// Returns the ephemerals of a session, in path order.
    pub fn ephemerals(&self, session: SessionId) -> impl Iterator<Item = &ZnodePath> {
        self.ephemerals.get(&session).into_iter().flatten()
    }

    /// Loads a session from a snapshot.
    pub fn load_session(&mut self, session: SessionId, timeout: Duration) {
        self.add_session(session, timeout);
    }

    /// Loads a znode from a snapshot. After the last one, call [`DataTree::count_quotas_anew`].
    pub fn load_node(&mut self, path: ZnodePath, node: Arc<Znode>) {
        self.put(path, node);
    }

    /// Returns the containers and TTL znodes, in path order.
    pub fn reaped(&self) -> impl Iterator<Item = &ZnodePath> {
        self.reaped.iter()
    }

    /// Returns the number of a znode's descendants, or 0 if it does not exist.
    pub fn descendants(&self, path: &str) -> usize {
        match path {
            "/" => return self.nodes.len() - 1,
            // For the empty path, the root counts as its own descendant, as in `DataTree`.
            "" => return self.nodes.len(),
            _ => {}
        }
        self.below(path).count()
    }

    /// Returns all descendants of a znode other than the root.
    fn below(&self, path: &str) -> impl Iterator<Item = (&ZnodePath, &Entry)> {
        let prefix = format!("{path}/");
        let range = self.nodes.range::<str, _>((Bound::Included(&*prefix), Bound::Unbounded));
        range.take_while(move |(path, _)| path.starts_with(&prefix))
    }

    /// Returns an ephemeral whose session is not in the session map, with that session.
    pub fn orphan(&self) -> Option<(&ZnodePath, SessionId)> {
        let orphaned = self.ephemerals.iter().find(|(id, _)| !self.sessions.contains_key(*id));
        orphaned.and_then(|(session, paths)| Some((paths.first()?, *session)))
    }

    /// Returns true if a session that is not in the session map has ephemerals.
    pub(crate) fn has_orphans(&self) -> bool {
        self.orphan().is_some()
    }

    /// Deletes the ephemerals of sessions that are not in the session map, without a transaction, as a new leader
    /// does before its snapshot (rule 2.5.4). Returns their number.
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

    fn add_session(&mut self, session: SessionId, timeout: Duration) {
        if let Some(old) = self.sessions.insert(session, timeout) {
            self.digest.subtract(Fingerprint::of(&(&session, &old)));
        }
        self.digest.add(Fingerprint::of(&(&session, &timeout)));
    }

    /// Inserts a znode and adds it to its parent's children.
    fn put(&mut self, path: ZnodePath, node: Arc<Znode>) {
        if let Some(parent) = parent(&path).and_then(|parent| self.nodes.get_mut(parent)) {
            parent.children.insert(Arc::from(path.name()));
        }
        self.list(&path, node.ephemeral_type);
        let entry = Entry::new(&path, node);
        self.digest.add(entry.digest);
        let old = self.nodes.insert(path, entry);
        debug_assert!(old.is_none(), "a znode is put once");
    }

    /// Removes one of ZooKeeper's own znodes as if it had never been there.
    fn take_out(&mut self, path: &str) {
        let entry = self.nodes.remove(path).expect("it is there from the start");
        self.digest.subtract(entry.digest);
        let (parent, name) = path.rsplit_once('/').expect("it is no root");
        self.change(parent, |entry| entry.children.remove(name));
    }

    /// Adds a new znode to the lists of ephemerals, of containers and TTL znodes, and of quotas.
    fn list(&mut self, path: &ZnodePath, ephemeral_type: EphemeralType) {
        match ephemeral_type {
            EphemeralType::Void => {}
            EphemeralType::Normal(owner) => {
                self.ephemerals.entry(owner).or_default().insert(path.clone());
            }
            EphemeralType::Container | EphemeralType::Ttl(_) => {
                self.reaped.insert(path.clone());
            }
        }
        if let Some(quota) = quota::limited_by(path) {
            self.quotas.insert(Arc::from(quota));
        }
    }

    /// Removes a deleted znode from these lists.
    fn unlist(&mut self, path: &ZnodePath, ephemeral_type: EphemeralType) {
        match ephemeral_type {
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

    /// Sets the create counter of a parent.
    pub(crate) fn set_counter(&mut self, parent: &str, counter: i32) {
        self.change(parent, |entry| entry.znode().cversion = counter);
    }

    /// Changes a znode in place and updates the digest. Returns `None` if the znode does not exist.
    fn change<R>(&mut self, path: &str, change: impl FnOnce(&mut Entry) -> R) -> Option<R> {
        let entry = self.nodes.get_mut(path)?;
        let result = change(entry);
        self.digest.subtract(entry.digest);
        entry.digest = of_znode(path, &entry.node);
        self.digest.add(entry.digest);
        Some(result)
    }
}

/// Returns a znode's part of the digest. It leaves out the statistics of quotas: servers recount those whenever they
/// load a tree, so they do not follow from the history (rule 1.10.3). For the same reason it leaves out what servers write
/// into `/zookeeper/config` by themselves (rule 5.8.10).
fn of_znode(path: &str, node: &Znode) -> Fingerprint {
    if quota::is_statistics(path) {
        let told = Znode { data: Data::from([]), ..node.clone() };
        return Fingerprint::of(&(path, &told));
    }
    if path == CONFIG && node.version == RECONFIGURED {
        let told = Znode {
            acl: node.acl.clone(),
            aversion: node.aversion,
            ..Znode::primordial(AclList::OPEN)
        };
        return Fingerprint::of(&(path, &told));
    }
    Fingerprint::of(&(path, node))
}

impl PartialEq for DataTree {
    fn eq(&self, other: &DataTree) -> bool {
        self.last_processed == other.last_processed
            && self.digest == other.digest
            && self.statistics().eq(other.statistics())
            && self.acls == other.acls
    }
}

impl Eq for DataTree {}

impl Hash for DataTree {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.last_processed.hash(state);
        self.digest.hash(state);
        self.statistics().for_each(|data| data.hash(state));
        // A tree without numbers hashes as before they existed, so that searches keep their order of states.
        self.acls.iter().for_each(|acls| acls.hash(state));
    }
}
