//! CA6: what is told of a znode was so: its data is what the transaction of its mzxid has written, in the
//! incarnation of its czxid.

use super::changes;
use crate::cache::{CacheEvent, CacheSeen};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::op::Data;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct RealStates {
    root: Arc<str>,
    /// What each transaction has written: the czxid behind it, and the data.
    written: BTreeMap<(Arc<str>, Zxid), (Zxid, Data)>,
}

impl RealStates {
    /// Watches caches of this znode. What is there from the start has zxid 0 and no content.
    pub fn new(root: &str) -> RealStates {
        RealStates { root: root.into(), written: BTreeMap::new() }
    }
}

impl Monitor for RealStates {
    fn name(&self) -> &'static str {
        "cache CA6 real states"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Tip
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("delivered")]
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(event, Event::Committed { .. })
            || matches!(event.observed(), Some((_, CacheSeen::Delivered { .. })))
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        if let Event::Committed { txn, .. } = event
            && view.history.is_new(txn)
        {
            let (root, written) = (&self.root, &mut self.written);
            changes(root, &txn.body, &mut |path| {
                // What a transaction leaves is what readers see, not what it does on the way.
                if let Some(node) = view.history.tree().node(path) {
                    let state = (node.czxid, Arc::clone(&node.data));
                    written.insert((path.into(), txn.zxid), state);
                }
            });
        }
        let Some((client, CacheSeen::Delivered { root, event })) = event.observed() else {
            return Ok(());
        };
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
            "{client} is told of a {path} with czxid {} that {} has not written so",
            znode.czxid, znode.mzxid
        );
        Err(Objection::new(self.name(), saw))
    }
}
