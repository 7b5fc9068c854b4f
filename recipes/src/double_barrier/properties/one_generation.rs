//! DB3, one generation: nobody enters a generation while somebody is inside an earlier one: in a session that is
//! open in the committed history, by a program that runs and has not begun to leave.

use super::ledger::{Ledger, Stage};
use crate::double_barrier::DoubleBarrierSeen;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct OneGeneration {
    ledger: Ledger,
}

impl OneGeneration {
    /// Watches the double barrier in this directory.
    pub fn new(barrier: &str) -> OneGeneration {
        OneGeneration { ledger: Ledger::new(barrier) }
    }
}

impl Monitor for OneGeneration {
    fn name(&self) -> &'static str {
        "double barrier DB3 one generation"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Tip
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("entered")]
    }

    fn concerns(&self, event: &Event) -> bool {
        Ledger::concerns(event)
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        self.ledger.see(view, event);
        let Some(said) = self.ledger.said(event) else { return Ok(()) };
        if !matches!(said.seen, DoubleBarrierSeen::Entered { .. }) {
            return Ok(());
        }
        let earlier = self.ledger.all().find(|(generation, _, member)| {
            *generation < said.generation && member.stage == Stage::Inside
        });
        match earlier {
            None => Ok(()),
            Some((generation, _, member)) => {
                let saw = format!(
                    "{} enters generation {} while {} is inside generation {generation}",
                    said.client, said.generation, member.client
                );
                Err(Objection::new(self.name(), saw))
            }
        }
    }
}
