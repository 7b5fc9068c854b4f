//! DB3, one generation: no program enters a generation while another program is inside an earlier one: in a session
//! that is open in the committed history, running, and not yet leaving.

use super::ledger::{Entry, Ledger, Stage};
use crate::double_barrier::DoubleBarrierSeen;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};

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

impl Declared for OneGeneration {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "double barrier DB3 one generation",
        LooksBack::Tip,
        minds! { |this, view, event|
            #[needed("entered")]
            let Some(entry) = Ledger::read(event) => this.see(view, &entry),
        },
    );
}

impl OneGeneration {
    fn see(&mut self, view: View<'_>, entry: &Entry<'_>) -> Result<(), Objection> {
        self.ledger.see(view, entry);
        let Some(said) = self.ledger.said(entry) else { return Ok(()) };
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
                Err(self.objection(saw).about(member.client))
            }
        }
    }
}
