//! LQ4: what a claimer has done of an item is not overwritten by an earlier one.
//!
//! An item may be worked on twice, by one whose session has ended and by the next. That is legal, and no
//! queue can help it. But the write of the earlier claim must not come after one of the later, and only a
//! token that the resource checks can see to that. The resource of an item is called by the item's data.

use crate::ack_queue::AckSeen;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct FencedWork {
    queue: Arc<str>,
    /// The token by which each program has claimed each item last.
    tokens: BTreeMap<(ClientId, Arc<str>), Zxid>,
    /// The largest token of a write to each item's resource.
    written: BTreeMap<Arc<str>, Zxid>,
}

impl FencedWork {
    /// Watches the queue in this directory.
    pub fn new(directory: &str) -> FencedWork {
        FencedWork { queue: directory.into(), tokens: BTreeMap::new(), written: BTreeMap::new() }
    }

    fn wrote(&mut self, client: ClientId, resource: &Arc<str>) -> Result<(), Objection> {
        let Some(token) = self.tokens.get(&(client, Arc::clone(resource))) else { return Ok(()) };
        let largest = self.written.entry(Arc::clone(resource)).or_insert(*token);
        if token < largest {
            let saw = format!(
                "{client} worked on {resource} by token {token} after somebody had by token {largest}"
            );
            return Err(Objection::new(self.name(), saw));
        }
        *largest = *token;
        Ok(())
    }
}

impl Monitor for FencedWork {
    fn name(&self) -> &'static str {
        "ack-queue LQ4 fenced work"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Nothing
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("claimed")]
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(event.observed(), Some((_, AckSeen::Claimed { .. })))
            || matches!(event, Event::ResourceWrite { .. })
    }

    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        match event {
            Event::Observed { client, observation, .. } => {
                if let Some(AckSeen::Claimed { queue, item, token, .. }) = observation.read()
                    && *queue == self.queue
                {
                    self.tokens.insert((*client, Arc::clone(item)), *token);
                }
                Ok(())
            }
            Event::ResourceWrite { client, resource, accepted: true, .. } => {
                self.wrote(*client, resource)
            }
            _ => Ok(()),
        }
    }
}
