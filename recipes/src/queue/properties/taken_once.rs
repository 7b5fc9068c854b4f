//! Q2: no item is taken twice.

use crate::queue::QueueSeen;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};

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

impl Monitor for TakenOnce {
    fn name(&self) -> &'static str {
        "queue Q2 taken once"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Nothing
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("taken")]
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(event.observed(), Some((_, QueueSeen::Taken { .. })))
    }

    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        let Some((client, QueueSeen::Taken { queue, item })) = event.observed() else {
            return Ok(());
        };
        if *queue != self.queue {
            return Ok(());
        }
        match self.taken.insert(Arc::clone(item), client) {
            None => Ok(()),
            Some(first) => {
                let saw = format!("{client} has taken {item}, which {first} had taken already");
                Err(Objection::new(self.name(), saw))
            }
        }
    }
}
