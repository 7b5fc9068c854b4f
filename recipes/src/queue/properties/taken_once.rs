//! Q2: no item is taken twice.

use crate::queue::QueueSeen;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct TakenOnce {
    queue: Arc<str>,
    taken: BTreeMap<Arc<str>, ClientId>,
}

impl TakenOnce {
    /// Watches the queue in this directory.
    pub fn new(directory: &str) -> TakenOnce {
        TakenOnce { queue: directory.into(), taken: BTreeMap::new() }
    }
}

impl Declared for TakenOnce {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "queue Q2 taken once",
        LooksBack::Nothing,
        minds! { |this, view, event|
            #[needed]
            Observed(client, QueueSeen::Taken { queue, item }) if *queue == this.queue => this.taken(client, item),
        },
    );
}

impl TakenOnce {
    fn taken(&mut self, client: ClientId, item: &Arc<str>) -> Result<(), Objection> {
        match self.taken.insert(Arc::clone(item), client) {
            None => Ok(()),
            Some(first) => {
                let saw = format!("{client} has taken {item}, which {first} had taken already");
                Err(self.objection(saw).about(first))
            }
        }
    }
}
