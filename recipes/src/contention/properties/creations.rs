//! Records which session created which child of a lock's directory.
//!
//! A grant names a znode and its czxid. The znode may have been deleted: a program relies on what it has read, and
//! the session of a zombie is over. So a monitor that judges grants remembers the creations, and need not look back
//! in the committed history.

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
    /// The czxids of znodes that another session than the creating one has deleted.
    taken: BTreeSet<Zxid>,
}

/// The znodes that one transaction created.
#[derive(Clone, Debug, Hash)]
struct Creation {
    session: SessionId,
    nodes: Vec<ZnodePath>,
}

impl Creations {
    /// Starts at the beginning of the history.
    pub(crate) fn new(lock: &Arc<str>) -> Creations {
        Creations { lock: Arc::clone(lock), by_czxid: BTreeMap::new(), taken: BTreeSet::new() }
    }

    /// Applies a new transaction.
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
        // A name may have been used more than once: this takes the last creation.
        let mut creations = self.by_czxid.iter().rev();
        let creation = creations.find(|(_, creation)| creation.nodes.contains(path));
        if let Some((czxid, _)) = creation.filter(|(_, creation)| creation.session != session) {
            self.taken.insert(*czxid);
        }
    }

    /// Returns true if another session has deleted the znode with this czxid.
    pub(crate) fn is_taken(&self, czxid: Zxid) -> bool {
        self.taken.contains(&czxid)
    }

    /// Returns the session whose transaction `czxid` created `node`; `None` if that transaction did not create it.
    pub(crate) fn owner(&self, node: &str, czxid: Zxid) -> Option<SessionId> {
        let creation = self.by_czxid.get(&czxid)?;
        let created = creation.nodes.iter().any(|path| path.as_str() == node);
        created.then_some(creation.session)
    }
}

/// Calls `each` with each znode that a transaction creates.
pub(crate) fn created(body: &TxnBody, each: &mut impl FnMut(&ZnodePath)) {
    match body {
        TxnBody::Create { path, .. } => each(path),
        TxnBody::Multi(parts) => parts.iter().for_each(|part| created(part, each)),
        _ => {}
    }
}

/// Calls `each` with each znode that a transaction deletes, other than by closing a session.
fn deleted(body: &TxnBody, each: &mut impl FnMut(&ZnodePath)) {
    match body {
        TxnBody::Delete { path } => each(path),
        TxnBody::Multi(parts) => parts.iter().for_each(|part| deleted(part, each)),
        _ => {}
    }
}
