//! Records the contenders in a lock's directory, in the committed history, and which of them were asked to release.

use crate::contention::contender::Contender;
use crate::revocable_lock::is_request;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::id::SessionId;
use vivarium_model::path::ZnodePath;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub(super) struct Line {
    lock: Arc<str>,
    standing: BTreeMap<ZnodePath, Standing>,
}

/// A contender's znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Standing {
    pub(super) czxid: Zxid,
    pub(super) session: SessionId,
    /// True once a request was written to the znode.
    pub(super) is_asked: bool,
}

/// A change of a contender's znode.
pub(super) struct Change {
    pub(super) path: ZnodePath,
    /// The znode before the change.
    pub(super) node: Standing,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A request was written to the znode.
    Asked,
    /// The znode was deleted by a request of this session.
    Deleted(SessionId),
}

impl Line {
    /// Starts at the beginning of the history.
    pub(super) fn new(directory: &str) -> Line {
        Line { lock: directory.into(), standing: BTreeMap::new() }
    }

    /// Applies a new transaction, and returns its changes in order.
    pub(super) fn see(&mut self, txn: &Txn) -> Vec<Change> {
        let mut changes = Vec::new();
        self.apply(txn, &txn.body, &mut changes);
        changes
    }

    /// Returns the contender with the smallest czxid.
    pub(super) fn first(&self) -> Option<(&ZnodePath, &Standing)> {
        self.standing.iter().min_by_key(|(_, node)| node.czxid)
    }

    fn apply(&mut self, txn: &Txn, body: &TxnBody, changes: &mut Vec<Change>) {
        match body {
            TxnBody::Create { path, .. }
                if Contender::in_directory(&self.lock, path.as_str()).is_some() =>
            {
                let node = Standing { czxid: txn.zxid, session: txn.session, is_asked: false };
                self.standing.insert(path.clone(), node);
            }
            TxnBody::SetData { path, data, .. } if is_request(data) => {
                if let Some(node) = self.standing.get_mut(path) {
                    let change = Change { path: path.clone(), node: *node, kind: Kind::Asked };
                    node.is_asked = true;
                    changes.push(change);
                }
            }
            TxnBody::Delete { path } => {
                if let Some(node) = self.standing.remove(path) {
                    let kind = Kind::Deleted(txn.session);
                    changes.push(Change { path: path.clone(), node, kind });
                }
            }
            TxnBody::CloseSession { ephemerals } => {
                self.standing.retain(|path, _| !ephemerals.contains(path));
            }
            TxnBody::Multi(parts) => {
                parts.iter().for_each(|part| self.apply(txn, part, changes));
            }
            _ => {}
        }
    }
}
