//! CA6: each reported state of a znode was real: its data was written by the transaction of its mzxid, in the
//! incarnation of its czxid.

use super::changes;
use crate::cache::{CacheEvent, CacheSeen};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::op::Data;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};
use vivarium_model::txn::Txn;
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct RealStates {
    root: Arc<str>,
    /// For each path and transaction that wrote it, the resulting czxid and data.
    written: BTreeMap<(Arc<str>, Zxid), (Zxid, Data)>,
}

impl RealStates {
    /// Watches caches of this znode. A znode that exists from the start has zxid 0 and no data.
    pub fn new(root: &str) -> RealStates {
        RealStates { root: root.into(), written: BTreeMap::new() }
    }
}

impl Declared for RealStates {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "cache CA6 real states",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(view, txn),
            #[needed]
            Observed(client, CacheSeen::Delivered { root, event }) => this.delivered(client, root, event),
        },
    );
}

impl RealStates {
    fn committed(&mut self, view: View<'_>, txn: &Txn) {
        let (root, written) = (&self.root, &mut self.written);
        changes(root, &txn.body, &mut |path| {
            // Readers see only the state after the whole transaction, not the steps within it.
            if let Some(node) = view.history.tree().node(path) {
                let state = (node.czxid, node.data.clone());
                written.insert((path.into(), txn.zxid), state);
            }
        });
    }

    fn delivered(
        &self,
        client: ClientId,
        root: &Arc<str>,
        event: &CacheEvent,
    ) -> Result<(), Objection> {
        let (CacheEvent::Added { path, znode } | CacheEvent::Changed { path, znode }) = event
        else {
            return Ok(());
        };
        let from_the_start = || znode.mzxid == Zxid::ZERO && znode.data.is_empty();
        let written = self.written.get(&(Arc::clone(path), znode.mzxid));
        let is_real = written.map_or_else(from_the_start, |(czxid, data)| {
            *czxid == znode.czxid && *data == znode.data
        });
        if *root != self.root || is_real {
            return Ok(());
        }
        let saw = format!(
            "{client} is notified of a state of {path} with czxid {} that transaction {} did not write",
            znode.czxid, znode.mzxid
        );
        Err(self.objection(saw))
    }
}
