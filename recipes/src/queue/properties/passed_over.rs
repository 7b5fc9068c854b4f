//! P1: when a session takes an item, nothing better has been in the queue since its last take.
//!
//! A take goes by a list that was made after the last one, and such a list shows everything that stood then.
//! So an item that stood then, still stands, and is better, was passed over. Nothing is said of the first
//! take of a session: it may have begun, and listed, in the session before. That speaks of the committed
//! history alone; it supposes that one session does not take twice at the same time.

use super::{Part, parts};
use crate::queue::{ItemName, Mark};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::SessionId;
use vivarium_model::path::{self, ZnodePath};
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct NothingPassedOver {
    queue: Arc<str>,
    /// The last take of each session.
    last: BTreeMap<SessionId, Zxid>,
}

impl NothingPassedOver {
    /// Watches the queue in this directory.
    pub fn new(directory: &str) -> NothingPassedOver {
        NothingPassedOver { queue: directory.into(), last: BTreeMap::new() }
    }

    fn committed(&mut self, view: View<'_>, txn: &Txn) -> Result<(), Objection> {
        match &txn.body {
            TxnBody::CloseSession { .. } => drop(self.last.remove(&txn.session)),
            body => {
                let mut taken = None;
                parts(body, &self.queue, &mut |part| {
                    if let Part::Deleted { path } = part {
                        taken = ItemName::parse(path::name(path)).map(|item| (path, item.mark));
                    }
                });
                if let Some((path, mark)) = taken {
                    self.taken(view, txn, path, mark)?;
                    self.last.insert(txn.session, txn.zxid);
                }
            }
        }
        Ok(())
    }

    fn taken(
        &self,
        view: View<'_>,
        txn: &Txn,
        path: &ZnodePath,
        mark: Mark,
    ) -> Result<(), Objection> {
        let Some(since) = self.last.get(&txn.session) else { return Ok(()) };
        let tree = view.history.tree();
        for name in tree.children(&self.queue).unwrap_or_default() {
            let is_better = ItemName::parse(&name).is_some_and(|item| item.mark < mark);
            let znode = tree.node(&format!("{}/{name}", self.queue));
            if let Some(znode) = znode.filter(|znode| is_better && znode.czxid < *since) {
                let saw = format!(
                    "{} took {path} at {}, though {name} has stood since {}, which is better and \
                     was there before {since}",
                    txn.session, txn.zxid, znode.czxid
                );
                return Err(Objection::new(self.name(), saw));
            }
        }
        Ok(())
    }
}

impl Monitor for NothingPassedOver {
    fn name(&self) -> &'static str {
        "queue P1 nothing passed over"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Tip
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(event, Event::Committed { .. })
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        match event {
            Event::Committed { txn, .. } if view.history.is_new(txn) => self.committed(view, txn),
            _ => Ok(()),
        }
    }
}
