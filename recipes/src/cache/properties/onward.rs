//! CA3: what is told of a znode never goes back. Of one incarnation the mzxid grows; behind a removal comes
//! only a greater czxid. It is asked for as long as the cache lasts, across sessions.

use super::replay::Replays;
use crate::cache::{CacheEvent, CacheSeen};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};
use vivarium_model::zxid::Zxid;

/// What was told of a znode last.
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

impl Monitor for Onward {
    fn name(&self) -> &'static str {
        "cache CA3 onward"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Nothing
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("delivered")]
    }

    fn concerns(&self, event: &Event) -> bool {
        Replays::concerns(event)
    }

    /// Each client's own account.
    fn minds_order(&self, _event: &Event) -> bool {
        false
    }

    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        if let Event::Killed { client }
        | Event::Finished { client, .. }
        | Event::Panicked { client, .. } = event
        {
            self.forget(*client);
        }
        let (client, change) = match event.observed() {
            Some((client, CacheSeen::Delivered { root, event })) if *root == self.root => {
                (client, event)
            }
            Some((client, CacheSeen::Closed { root })) if *root == self.root => {
                self.forget(client);
                return Ok(());
            }
            _ => return Ok(()),
        };
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
            "{client} is told of {path} with czxid {} and mzxid {} after czxid {} and mzxid {}{gone}",
            now.czxid, now.mzxid, last.czxid, last.mzxid
        );
        Err(Objection::new(self.name(), saw))
    }
}
