//! LQ4: a write by an earlier claim of an item does not overwrite a write by a later one.
//!
//! An item may be processed twice: by a consumer whose session has ended, and by the next one. A queue cannot prevent
//! this. But the write of the earlier claim must not follow a write of the later one, which only a resource that
//! checks the token can ensure. The name of an item's resource is the item's data.

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
    /// The token of each program's last claim of each item.
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
                "{client} worked on {resource} with token {token} after the resource had seen token {largest}"
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
