//! LQ5: an item that is moved gets a name of its own, which is not built on the old one.

use crate::queue::properties::{Part, parts};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct FreshName {
    queue: Arc<str>,
}

impl FreshName {
    /// Watches the queue in this directory.
    pub fn new(directory: &str) -> FreshName {
        FreshName { queue: directory.into() }
    }
}

impl Monitor for FreshName {
    fn name(&self) -> &'static str {
        "ack-queue LQ5 fresh name"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Tip
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(event, Event::Committed { .. })
    }

    /// Each transaction is judged by itself.
    fn minds_order(&self, _event: &Event) -> bool {
        false
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        let Event::Committed { txn, .. } = event else { return Ok(()) };
        if !view.history.is_new(txn) {
            return Ok(());
        }
        let (mut created, mut deleted) = (Vec::new(), Vec::new());
        parts(&txn.body, &self.queue, &mut |part| match part {
            Part::Created { path, .. } => created.push(path.as_str()),
            Part::Deleted { path } => deleted.push(path.as_str()),
        });
        let is_built_on = |new: &&str| deleted.iter().any(|old| new.starts_with(old));
        match created.iter().find(|new| is_built_on(new)) {
            None => Ok(()),
            Some(new) => {
                let saw = format!("{txn} moved an item to {new}, which is built on its old name");
                Err(Objection::new(self.name(), saw))
            }
        }
    }
}
