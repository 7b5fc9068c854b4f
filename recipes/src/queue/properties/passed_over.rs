//! P1: when a session takes an item, no better item has been in the queue since the session's last take.
//!
//! A take uses a list that was read after the last take, and such a list contains every item that existed then. So a
//! better item that existed then and still exists was passed over. The first take of a session is not checked: it may
//! have begun, and read its list, in the previous session. The property concerns only the committed history, and
//! assumes that one session does not take twice at the same time.

use super::{Part, parts};
use crate::queue::{ItemName, Mark, name};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::id::SessionId;
use vivarium_model::minds;
use vivarium_model::path::{self, ZnodePath};
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct NothingPassedOver {
    queue: Arc<str>,
    /// For each session, the items that existed at its last take and still exist. A session without an entry passes
    /// over nothing.
    stood: BTreeMap<SessionId, BTreeSet<Arc<str>>>,
}

impl NothingPassedOver {
    /// Watches the queue in this directory.
    pub fn new(directory: &str) -> NothingPassedOver {
        NothingPassedOver { queue: directory.into(), stood: BTreeMap::new() }
    }

    fn committed(&mut self, view: View<'_>, txn: &Txn) -> Result<(), Objection> {
        let tree = view.history.tree();
        let stands = |item: &Arc<str>| tree.node(&name::child(&self.queue, item)).is_some();
        // An item's name is never used twice (recipe rule 2.4.1).
        self.stood.values_mut().for_each(|stood| stood.retain(&stands));
        match &txn.body {
            TxnBody::CloseSession { .. } => drop(self.stood.remove(&txn.session)),
            body => {
                let mut taken = None;
                parts(body, &self.queue, &mut |part| {
                    if let Part::Deleted { path } = part {
                        taken = ItemName::parse(path::name(path)).map(|item| (path, item.mark));
                    }
                });
                if let Some((path, mark)) = taken {
                    self.taken(view, txn, path, mark)?;
                    self.stood.insert(txn.session, self.standing(view, txn.zxid));
                }
            }
        }
        self.stood.retain(|_, stood| !stood.is_empty());
        Ok(())
    }

    /// Returns the items that exist and were created before this zxid.
    fn standing(&self, view: View<'_>, before: Zxid) -> BTreeSet<Arc<str>> {
        let tree = view.history.tree();
        let names = tree.children(&self.queue).unwrap_or_default().into_iter();
        let is_older = |name: &Arc<str>| {
            let znode = tree.node(&name::child(&self.queue, name));
            znode.is_some_and(|znode| znode.czxid < before)
        };
        names.filter(|name| ItemName::parse(name).is_some() && is_older(name)).collect()
    }

    fn taken(
        &self,
        view: View<'_>,
        txn: &Txn,
        path: &ZnodePath,
        mark: Mark,
    ) -> Result<(), Objection> {
        let is_better =
            |name: &&Arc<str>| ItemName::parse(name).is_some_and(|item| item.mark < mark);
        let stood = self.stood.get(&txn.session).into_iter().flatten();
        let Some(name) = stood.into_iter().find(is_better) else { return Ok(()) };
        let znode = view.history.tree().node(&name::child(&self.queue, name));
        let since = znode.map_or(Zxid::ZERO, |znode| znode.czxid);
        let saw = format!(
            "{} took {path} at {}, though {name} has stood since {since}, which is better and was there \
             at its last take",
            txn.session, txn.zxid
        );
        Err(self.objection(saw).about(Arc::clone(name)).about(since))
    }
}

impl Declared for NothingPassedOver {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "queue P1 nothing passed over",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(view, txn),
        },
    );
}
