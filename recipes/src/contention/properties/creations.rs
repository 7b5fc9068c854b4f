//! Who created which child of a lock's directory.
//!
//! A grant names a znode and its czxid. That znode may be gone: a program goes by what it has read,
//! and a zombie's session is over. So whoever judges grants remembers what was created, and need not
//! look back in the committed history.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::id::SessionId;
use vivarium_model::path::{self, ZnodePath};
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Creations {
    lock: Arc<str>,
    by_czxid: BTreeMap<Zxid, Creation>,
    /// What was deleted by another session than the one that created it.
    taken: BTreeSet<Zxid>,
}

/// What one transaction created.
#[derive(Clone, Debug, Hash)]
struct Creation {
    session: SessionId,
    nodes: Vec<ZnodePath>,
}

impl Creations {
    /// Of this lock, from the start of the history.
    pub(crate) fn new(lock: &Arc<str>) -> Creations {
        Creations { lock: Arc::clone(lock), by_czxid: BTreeMap::new(), taken: BTreeSet::new() }
    }

    /// Takes a new transaction in.
    pub(crate) fn see(&mut self, txn: &Txn) {
        deleted(&txn.body, &mut |path| self.delete(txn.session, path));
        let mut nodes = Vec::new();
        created(&txn.body, &mut |path| {
            if path::parent(path) == Some(&*self.lock) {
                nodes.push(path.clone());
            }
        });
        if !nodes.is_empty() {
            self.by_czxid.insert(txn.zxid, Creation { session: txn.session, nodes });
        }
    }

    fn delete(&mut self, session: SessionId, path: &ZnodePath) {
        // The name may have come again: the last one is meant.
        let mut creations = self.by_czxid.iter().rev();
        let creation = creations.find(|(_, creation)| creation.nodes.contains(path));
        if let Some((czxid, _)) = creation.filter(|(_, creation)| creation.session != session) {
            self.taken.insert(*czxid);
        }
    }

    /// Whether another session has deleted what was created under this czxid.
    pub(crate) fn is_taken(&self, czxid: Zxid) -> bool {
        self.taken.contains(&czxid)
    }

    /// The session whose transaction `czxid` created `node`; `None` if it did not.
    pub(crate) fn owner(&self, node: &str, czxid: Zxid) -> Option<SessionId> {
        let creation = self.by_czxid.get(&czxid)?;
        let created = creation.nodes.iter().any(|path| path.as_str() == node);
        created.then_some(creation.session)
    }
}

/// Each znode that a transaction creates.
pub(crate) fn created(body: &TxnBody, each: &mut impl FnMut(&ZnodePath)) {
    match body {
        TxnBody::Create { path, .. } => each(path),
        TxnBody::Multi(parts) => parts.iter().for_each(|part| created(part, each)),
        _ => {}
    }
}

/// Each znode that a transaction deletes, other than with a session.
fn deleted(body: &TxnBody, each: &mut impl FnMut(&ZnodePath)) {
    match body {
        TxnBody::Delete { path } => each(path),
        TxnBody::Multi(parts) => parts.iter().for_each(|part| deleted(part, each)),
        _ => {}
    }
}
