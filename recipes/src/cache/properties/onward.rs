//! CA3: the reported states of a znode never go back. Within one incarnation the mzxid grows; after a removal only a
//! greater czxid may be reported. This holds for as long as the cache lasts, across sessions.

use crate::cache::{CacheEvent, CacheSeen};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};
use vivarium_model::zxid::Zxid;

/// The state of a znode that was reported last.
#[derive(Clone, Copy, Debug, Hash)]
struct Last {
    czxid: Zxid,
    mzxid: Zxid,
    is_removed: bool,
}

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Onward {
    root: Arc<str>,
    told: BTreeMap<(ClientId, Arc<str>), Last>,
}

impl Onward {
    /// Watches caches of this znode.
    pub fn new(root: &str) -> Onward {
        Onward { root: root.into(), told: BTreeMap::new() }
    }

    fn forget(&mut self, client: ClientId) {
        self.told.retain(|(other, _), _| *other != client);
    }
}

impl Declared for Onward {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "cache CA3 onward",
        LooksBack::Nothing,
        minds! { |this, view, event|
            // Each client has its own record, so the order among clients does not matter.
            #[unordered]
            Event::Killed { client } | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
                this.forget(*client);
            },
            #[unordered]
            Observed(client, CacheSeen::Closed { root }) if *root == this.root => {
                this.forget(client);
            },
            #[needed]
            #[unordered]
            Observed(client, CacheSeen::Delivered { root, event })
                if *root == this.root =>
            {
                this.delivered(client, event)
            },
        },
    );
}

impl Onward {
    fn delivered(&mut self, client: ClientId, change: &CacheEvent) -> Result<(), Objection> {
        let (CacheEvent::Added { path, znode }
        | CacheEvent::Changed { path, znode }
        | CacheEvent::Removed { path, znode }) = change
        else {
            return Ok(());
        };
        let is_removed = matches!(change, CacheEvent::Removed { .. });
        let now = Last { czxid: znode.czxid, mzxid: znode.mzxid, is_removed };
        let Some(last) = self.told.insert((client, Arc::clone(path)), now) else { return Ok(()) };
        let is_onward = match change {
            CacheEvent::Removed { .. } => now.czxid >= last.czxid && now.mzxid >= last.mzxid,
            _ if last.is_removed => now.czxid > last.czxid,
            _ => now.czxid >= last.czxid && now.mzxid > last.mzxid,
        };
        if is_onward {
            return Ok(());
        }
        let gone = if last.is_removed { ", which was gone" } else { "" };
        let saw = format!(
            "{client} is notified of {path} with czxid {} and mzxid {} after czxid {} and mzxid {}{gone}",
            now.czxid, now.mzxid, last.czxid, last.mzxid
        );
        Err(self.objection(saw))
    }
}
