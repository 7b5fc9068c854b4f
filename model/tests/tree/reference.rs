//! A tree according to rules 1.3, 1.5, 1.9 and 1.10, as plain as possible, for a leader's own sequence of
//! transactions: nothing is replayed, so nothing needs to be idempotent, and counters are counted here and not taken
//! from the transaction.

use crate::statistics::Quotas;
use std::collections::BTreeMap;
use vivarium_model::acl::{Acl, AclList, Id, Permissions};
use vivarium_model::error::Error;
use vivarium_model::id::SessionId;
use vivarium_model::op::{EventType, OpResult, Response};
use vivarium_model::path::ZnodePath;
use vivarium_model::stat::Stat;
use vivarium_model::time::Duration;
use vivarium_model::tree::{Change, EphemeralType};
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::Zxid;

#[derive(Clone, Debug)]
pub(crate) struct Fields {
    pub data: Vec<u8>,
    czxid: Zxid,
    mzxid: Zxid,
    pzxid: Zxid,
    ctime: u64,
    mtime: u64,
    version: i32,
    pub children_created: i32,
    children_deleted: i32,
    acl_changes: i32,
    pub ephemeral_type: EphemeralType,
    pub acl: AclList,
}

/// The plain map.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub znodes: BTreeMap<String, Fields>,
    pub sessions: BTreeMap<SessionId, Duration>,
    pub last_processed: Zxid,
    pub quotas: Quotas,
}

type Outcome = (Result<Response, Error>, Vec<Change>);

impl Reference {
    pub(crate) fn new() -> Reference {
        let mut znodes = BTreeMap::new();
        let for_all = |permissions| AclList::new([Acl::new(permissions, Id::ANYONE)]);
        for path in ["/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"] {
            let is_config = path.ends_with("config");
            let acl = for_all(if is_config { Permissions::READ } else { Permissions::ALL });
            let mut fields = Fields::created(Zxid::ZERO, 0, &[], EphemeralType::Void, &acl);
            if is_config {
                // As shown by a real server.
                fields.acl_changes = -1;
            }
            znodes.insert(path.to_owned(), fields);
        }
        let (sessions, quotas) = (BTreeMap::new(), Quotas::default());
        Reference { znodes, sessions, last_processed: Zxid::ZERO, quotas }
    }

    /// Returns the tree after all transactions of a log.
    pub(crate) fn of<'a>(txns: impl IntoIterator<Item = &'a std::sync::Arc<Txn>>) -> Reference {
        let mut reference = Reference::new();
        for txn in txns {
            let _ = reference.apply(txn);
        }
        reference
    }

    pub(crate) fn apply(&mut self, txn: &Txn) -> Outcome {
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
                    changes.push(self.delete(&path, txn.zxid));
                }
                Ok(Response::Closed)
            }
            TxnBody::SetAcl { path, acl, .. } => {
                let fields = self.znodes.get_mut(&**path).expect("prep has seen it");
                fields.acl = acl.clone();
                fields.acl_changes += 1;
                Ok(Response::AclSet(self.stat(path)))
            }
            TxnBody::DeleteContainer { path } => {
                changes.push(self.delete(path, txn.zxid));
                Ok(Response::ContainerDeleted)
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
            TxnBody::Create { path, data, ephemeral_type, acl, .. } => {
                let fields = Fields::created(txn.zxid, txn.time, data, *ephemeral_type, acl);
                // The answer has the length of the data that was sent, even for statistics, whose data is counted.
                let data_length = data.len() as u32;
                changes.push(self.create(path, fields));
                OpResult::Created(path.shared(), Stat { data_length, ..self.stat(path) })
            }
            TxnBody::Delete { path } => {
                changes.push(self.delete(path, txn.zxid));
                OpResult::Deleted
            }
            TxnBody::SetData { path, data, .. } => {
                let fields = self.znodes.get_mut(&**path).expect("prep has seen it");
                let longer = data.len() as i64 - fields.data.len() as i64;
                fields.data = data.to_vec();
                fields.version += 1;
                fields.mzxid = txn.zxid;
                fields.mtime = txn.time;
                let kind = EventType::NodeDataChanged;
                changes.push(change(kind, path, &fields.acl, &AclList::OPEN));
                self.quotas.was_set(path);
                self.quotas.grew(&mut self.znodes, path, 0, longer);
                OpResult::Set(self.stat(path))
            }
            TxnBody::Check { path } => {
                assert!(self.znodes.contains_key(&**path), "prep has seen it");
                OpResult::Checked
            }
            other => panic!("no operation on a znode: {other}"),
        }
    }

    fn create(&mut self, path: &str, fields: Fields) -> Change {
        let above = self.znodes.get_mut(&above(path)).expect("prep has seen the parent");
        let owner = above.ephemeral_type.owner();
        assert!(owner.is_none(), "an ephemeral has no children");
        above.children_created += 1;
        above.pzxid = fields.czxid;
        let change = change(EventType::NodeCreated, path, &fields.acl, &above.acl);
        let (zxid, bytes) = (fields.czxid, fields.data.len() as i64);
        let old = self.znodes.insert(path.to_owned(), fields);
        assert!(old.is_none(), "prep has seen that there is none");
        self.quotas.was_created(&mut self.znodes, path, zxid);
        self.quotas.grew(&mut self.znodes, path, 1, bytes);
        change
    }

    fn delete(&mut self, path: &str, zxid: Zxid) -> Change {
        assert!(self.children(path).is_empty(), "prep has seen that {path} has no children");
        let fields = self.znodes.remove(path).expect("prep has seen it");
        let above = self.znodes.get_mut(&above(path)).expect("a parent outlives its children");
        above.children_deleted += 1;
        above.pzxid = zxid;
        let change = change(EventType::NodeDeleted, path, &fields.acl, &above.acl);
        self.quotas.was_deleted(path);
        self.quotas.grew(&mut self.znodes, path, -1, -(fields.data.len() as i64));
        change
    }

    /// Counts quotas like a server that starts with this content.
    pub(crate) fn count_quotas_anew(&mut self) {
        self.quotas.count_all(&mut self.znodes);
    }

    pub(crate) fn children(&self, path: &str) -> Vec<String> {
        let below = |other: &&String| *other != "/" && above(other) == path;
        self.znodes.keys().filter(below).map(|path| name(path).to_owned()).collect()
    }

    pub(crate) fn owned_by(&self, session: SessionId) -> Vec<String> {
        self.paths(|fields| fields.ephemeral_type == EphemeralType::Normal(session))
    }

    /// Returns the containers and TTL znodes.
    pub(crate) fn reaped(&self) -> Vec<String> {
        self.paths(|fields| {
            matches!(fields.ephemeral_type, EphemeralType::Container | EphemeralType::Ttl(_))
        })
    }

    fn paths(&self, wanted: impl Fn(&Fields) -> bool) -> Vec<String> {
        let wanted = self.znodes.iter().filter(|(_, fields)| wanted(fields));
        wanted.map(|(path, _)| path.clone()).collect()
    }

    pub(crate) fn stat(&self, path: &str) -> Stat {
        let fields = &self.znodes[path];
        // The znodes that exist from the start were never counted as created.
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
            aversion: fields.acl_changes,
            ephemeral_owner: fields.ephemeral_type.owner(),
            data_length: fields.data.len() as u32,
            num_children: self.children(path).len() as u32,
        }
    }
}

impl Fields {
    fn created(
        zxid: Zxid,
        time: u64,
        data: &[u8],
        ephemeral_type: EphemeralType,
        acl: &AclList,
    ) -> Fields {
        Fields {
            data: data.to_vec(),
            czxid: zxid,
            mzxid: zxid,
            pzxid: zxid,
            ctime: time,
            mtime: time,
            version: 0,
            children_created: 0,
            children_deleted: 0,
            acl_changes: 0,
            ephemeral_type,
            acl: acl.clone(),
        }
    }
}

fn change(kind: EventType, path: &str, acl: &AclList, parent_acl: &AclList) -> Change {
    let path = ZnodePath::new(path).expect("prep has validated it");
    Change { kind, path, acl: acl.clone(), parent_acl: parent_acl.clone() }
}

pub(crate) fn above(path: &str) -> String {
    let end = path.rfind('/').expect("an absolute path");
    if end == 0 { "/".to_owned() } else { path[..end].to_owned() }
}

fn name(path: &str) -> &str {
    &path[path.rfind('/').expect("an absolute path") + 1..]
}
