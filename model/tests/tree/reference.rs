//! A tree written down from semantics 1.3 as plainly as can be, for a leader's own sequence of
//! transactions: nothing is replayed, so nothing need be idempotent, and counters are counted here
//! and not taken from the transaction.

use std::collections::BTreeMap;
use vivarium_model::acl::AclList;
use vivarium_model::error::Error;
use vivarium_model::id::SessionId;
use vivarium_model::op::{EventType, OpResult, Response};
use vivarium_model::path::ZnodePath;
use vivarium_model::stat::Stat;
use vivarium_model::time::Duration;
use vivarium_model::tree::{Change, DataTree};
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::Zxid;

#[derive(Clone, Debug, Default)]
struct Fields {
    data: Vec<u8>,
    czxid: Zxid,
    mzxid: Zxid,
    pzxid: Zxid,
    ctime: u64,
    mtime: u64,
    version: i32,
    children_created: i32,
    children_deleted: i32,
    owner: Option<SessionId>,
}

#[derive(Clone, Debug)]
pub struct Reference {
    znodes: BTreeMap<String, Fields>,
    sessions: BTreeMap<SessionId, Duration>,
    last_processed: Zxid,
}

type Outcome = (Result<Response, Error>, Vec<Change>);

impl Reference {
    pub fn new() -> Reference {
        let mut znodes = BTreeMap::new();
        for path in ["/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"] {
            znodes.insert(path.to_owned(), Fields::default());
        }
        Reference { znodes, sessions: BTreeMap::new(), last_processed: Zxid::ZERO }
    }

    pub fn apply(&mut self, txn: &Txn) -> Outcome {
        let mut changes = Vec::new();
        let result = match &txn.body {
            TxnBody::Error(error) => Err(*error),
            TxnBody::FailedMulti(codes) => {
                Ok(Response::Multi(codes.iter().map(|code| OpResult::Failed(*code)).collect()))
            }
            TxnBody::CreateSession { timeout } => {
                self.sessions.insert(txn.session, *timeout);
                Ok(Response::Synced)
            }
            TxnBody::CloseSession { .. } => {
                self.sessions.remove(&txn.session);
                for path in self.owned_by(txn.session) {
                    self.delete(&path, txn.zxid);
                    changes.push(change(EventType::NodeDeleted, &path));
                }
                Ok(Response::Closed)
            }
            TxnBody::Multi(parts) => Ok(Response::Multi(
                parts.iter().map(|part| self.operation(txn, part, &mut changes)).collect(),
            )),
            single => Ok(Response::Written(self.operation(txn, single, &mut changes))),
        };
        self.last_processed = txn.zxid;
        (result, changes)
    }

    fn operation(&mut self, txn: &Txn, body: &TxnBody, changes: &mut Vec<Change>) -> OpResult {
        match body {
            TxnBody::Create { path, data, ephemeral_type, .. } => {
                let above = self.znodes.get_mut(&above(path)).expect("prep has seen the parent");
                assert!(above.owner.is_none(), "an ephemeral has no children");
                above.children_created += 1;
                above.pzxid = txn.zxid;
                let fields = Fields {
                    data: data.to_vec(),
                    czxid: txn.zxid,
                    mzxid: txn.zxid,
                    pzxid: txn.zxid,
                    ctime: txn.time,
                    mtime: txn.time,
                    owner: ephemeral_type.owner(),
                    ..Fields::default()
                };
                let old = self.znodes.insert(path.to_string(), fields);
                assert!(old.is_none(), "prep has seen that there is none");
                changes.push(change(EventType::NodeCreated, path));
                OpResult::Created(path.shared(), self.stat(path))
            }
            TxnBody::Delete { path } => {
                self.delete(path, txn.zxid);
                changes.push(change(EventType::NodeDeleted, path));
                OpResult::Deleted
            }
            TxnBody::SetData { path, data, .. } => {
                let fields = self.znodes.get_mut(&**path).expect("prep has seen it");
                fields.data = data.to_vec();
                fields.version += 1;
                fields.mzxid = txn.zxid;
                fields.mtime = txn.time;
                changes.push(change(EventType::NodeDataChanged, path));
                OpResult::Set(self.stat(path))
            }
            TxnBody::Check { path } => {
                assert!(self.znodes.contains_key(&**path), "prep has seen it");
                OpResult::Checked
            }
            other => panic!("no operation on a znode: {other}"),
        }
    }

    fn delete(&mut self, path: &str, zxid: Zxid) {
        assert!(self.children(path).is_empty(), "prep has seen that {path} has no children");
        self.znodes.remove(path).expect("prep has seen it");
        let above = self.znodes.get_mut(&above(path)).expect("a parent outlives its children");
        above.children_deleted += 1;
        above.pzxid = zxid;
    }

    fn children(&self, path: &str) -> Vec<String> {
        let below = |other: &&String| *other != "/" && above(other) == path;
        self.znodes.keys().filter(below).map(|path| name(path).to_owned()).collect()
    }

    fn owned_by(&self, session: SessionId) -> Vec<String> {
        let owned = self.znodes.iter().filter(|(_, fields)| fields.owner == Some(session));
        owned.map(|(path, _)| path.clone()).collect()
    }

    fn stat(&self, path: &str) -> Stat {
        let fields = &self.znodes[path];
        // The znodes that were there from the start were never counted as created.
        let given = match path {
            "/" => 1,
            "/zookeeper" => 2,
            _ => 0,
        };
        Stat {
            czxid: fields.czxid,
            mzxid: fields.mzxid,
            pzxid: fields.pzxid,
            ctime: fields.ctime,
            mtime: fields.mtime,
            version: fields.version,
            cversion: fields.children_created + fields.children_deleted - given,
            aversion: 0,
            ephemeral_owner: fields.owner,
            data_length: fields.data.len() as u32,
            num_children: self.children(path).len() as u32,
        }
    }
}

/// Whether the tree is the reference in everything that can be asked of it; else, the first thing
/// in which it is not.
pub fn compare(tree: &DataTree, reference: &Reference) -> Result<(), String> {
    if tree.digest() != tree.recomputed_digest() {
        return Err("the digest is not that of the content".to_owned());
    }
    same("last processed zxid", &tree.last_processed(), &reference.last_processed)?;
    same("sessions", tree.sessions(), &reference.sessions)?;
    let paths: Vec<String> = tree.nodes().map(|(path, _)| path.to_string()).collect();
    let expected: Vec<String> = reference.znodes.keys().cloned().collect();
    same("paths", &paths, &expected)?;
    for (path, fields) in &reference.znodes {
        same(&format!("Stat of {path}"), &tree.stat(path), &Some(reference.stat(path)))?;
        let children = tree.children(path).expect("compared above");
        let children: Vec<String> = children.iter().map(ToString::to_string).collect();
        same(&format!("children of {path}"), &children, &reference.children(path))?;
        same(
            &format!("number of children of {path}"),
            &tree.children_count(path),
            &children.len(),
        )?;
        let node = tree.node(path).expect("compared above");
        same(&format!("data of {path}"), &node.data.to_vec(), &fields.data)?;
        same(&format!("stored cversion of {path}"), &node.cversion, &fields.children_created)?;
    }
    let owners = reference.znodes.values().filter_map(|fields| fields.owner);
    for session in owners.chain(reference.sessions.keys().copied()) {
        let ephemerals: Vec<String> = tree.ephemerals(session).map(ToString::to_string).collect();
        same(&format!("ephemerals of {session}"), &ephemerals, &reference.owned_by(session))?;
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, tree: &T, reference: &T) -> Result<(), String> {
    if tree == reference { Ok(()) } else { Err(format!("{what}: {tree:?}, not {reference:?}")) }
}

fn change(kind: EventType, path: &str) -> Change {
    let path = ZnodePath::new(path).expect("prep has validated it");
    Change { kind, path, acl: AclList::OPEN, parent_acl: AclList::OPEN }
}

fn above(path: &str) -> String {
    let end = path.rfind('/').expect("an absolute path");
    if end == 0 { "/".to_owned() } else { path[..end].to_owned() }
}

fn name(path: &str) -> &str {
    &path[path.rfind('/').expect("an absolute path") + 1..]
}
