//! LQ1: an item goes only by a transaction of the session that has claimed it.

use super::claims::Claims;
use vivarium_model::event::Event;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct GoneByClaimer {
    claims: Claims,
}

impl GoneByClaimer {
    /// Watches the queue in this directory, from the start of the history.
    pub fn new(directory: &str) -> GoneByClaimer {
        GoneByClaimer { claims: Claims::new(directory) }
    }
}

impl Monitor for GoneByClaimer {
    fn name(&self) -> &'static str {
        "ack-queue LQ1 gone by its claimer"
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

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        let Some((txn, gone)) = self.claims.see(view, event) else { return Ok(()) };
        match gone.iter().find(|gone| gone.claimer != Some(txn.session)) {
            None => Ok(()),
            Some(gone) => {
                let claimer = gone.claimer.map_or("nobody".to_string(), |owner| owner.to_string());
                let saw = format!("{} went by {txn}, and {claimer} had claimed it", gone.item);
                Err(Objection::new(self.name(), saw))
            }
        }
    }
}
