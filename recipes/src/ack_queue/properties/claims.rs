//! Records which session made which claim, and what happened to claims and items.

use crate::queue::name;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::id::SessionId;
use vivarium_model::path;
use vivarium_model::property::View;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::Zxid;

/// The items of a queue and the claims of them, by the items' names.
#[derive(Clone, Debug, Hash)]
pub(super) struct Claims {
    queue: Arc<str>,
    directory: Arc<str>,
    /// The session that made each claim, by the claim's czxid; claims that are gone are included.
    made: BTreeMap<Zxid, SessionId>,
    /// The session that made each claim that exists.
    standing: BTreeMap<Arc<str>, SessionId>,
    /// The names of the items that exist.
    items: BTreeSet<Arc<str>>,
}

/// An item that was deleted.
pub(super) struct Gone {
    pub(super) item: Arc<str>,
    /// The session that had claimed the item when it was deleted.
    pub(super) claimer: Option<SessionId>,
}

impl Claims {
    /// Starts at the beginning of the history, without claims and items.
    pub(super) fn new(queue: &str) -> Claims {
        Claims {
            queue: queue.into(),
            directory: crate::ack_queue::claims(queue).into(),
            made: BTreeMap::new(),
            standing: BTreeMap::new(),
            items: BTreeSet::new(),
        }
    }

    /// Applies a new transaction, and returns the items that it deleted.
    pub(super) fn see(&mut self, view: View<'_>, txn: &Txn) -> Vec<Gone> {
        let mut gone = Vec::new();
        // One transaction deletes the claim and the item, so the claimer is looked up in the claims before it.
        let before = self.standing.clone();
        self.apply(txn, &txn.body, &before, &mut gone);
        if let TxnBody::CloseSession { .. } = txn.body {
            self.standing.retain(|_, session| *session != txn.session);
            let tree = view.history.tree();
            let queue = Arc::clone(&self.queue);
            let stands = |item: &Arc<str>| tree.node(&name::child(&queue, item)).is_some();
            let went = self.items.iter().filter(|item| !stands(item)).cloned();
            let went: Vec<Gone> = went.map(|item| Gone { item, claimer: None }).collect();
            self.items.retain(|item| stands(item));
            gone.extend(went);
        }
        gone
    }

    /// Returns the session that made the claim with this czxid.
    pub(super) fn maker(&self, token: Zxid) -> Option<SessionId> {
        self.made.get(&token).copied()
    }

    fn apply(
        &mut self,
        txn: &Txn,
        body: &TxnBody,
        before: &BTreeMap<Arc<str>, SessionId>,
        gone: &mut Vec<Gone>,
    ) {
        match body {
            TxnBody::Create { path, .. } => match path::parent(path) {
                Some(parent) if *parent == *self.directory => {
                    self.made.insert(txn.zxid, txn.session);
                    self.standing.insert(path::name(path).into(), txn.session);
                }
                Some(parent) if *parent == *self.queue => {
                    self.items.insert(path::name(path).into());
                }
                _ => {}
            },
            TxnBody::Delete { path } => match path::parent(path) {
                Some(parent) if *parent == *self.directory => {
                    self.standing.remove(path::name(path));
                }
                Some(parent) if *parent == *self.queue => {
                    let item: Arc<str> = path::name(path).into();
                    self.items.remove(&item);
                    let claimer = before.get(&item).copied();
                    gone.push(Gone { item, claimer });
                }
                _ => {}
            },
            TxnBody::Multi(parts) => {
                parts.iter().for_each(|part| self.apply(txn, part, before, gone));
            }
            _ => {}
        }
    }
}
