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
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};
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

    fn claimed(&mut self, client: ClientId, queue: &Arc<str>, item: &Arc<str>, token: Zxid) {
        if *queue == self.queue {
            self.tokens.insert((client, Arc::clone(item)), token);
        }
    }

    fn wrote(&mut self, client: ClientId, resource: &Arc<str>) -> Result<(), Objection> {
        let Some(token) = self.tokens.get(&(client, Arc::clone(resource))) else { return Ok(()) };
        let largest = self.written.entry(Arc::clone(resource)).or_insert(*token);
        if token < largest {
            let saw = format!(
                "{client} worked on {resource} by token {token} after somebody had by token {largest}"
            );
            let (token, largest) = (*token, *largest);
            return Err(self.objection(saw).about(token).about(largest));
        }
        *largest = *token;
        Ok(())
    }
}

impl Declared for FencedWork {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "ack-queue LQ4 fenced work",
        LooksBack::Nothing,
        minds! { |this, view, event|
            #[needed]
            Observed(client, AckSeen::Claimed { queue, item, token, .. }) => this.claimed(client, queue, item, *token),
            Event::ResourceWrite { client, resource, accepted, .. } if *accepted => this.wrote(*client, resource),
        },
    );
}
