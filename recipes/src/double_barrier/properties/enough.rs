//! DB1, enough: no program enters a generation before the registrations of the required number of parties have
//! existed in it at one moment of the committed history.
//!
//! A registration counts while it exists, even if its process has died; but not if its program has been informed that
//! the generation was given up. A party whose process was restarted counts once.

use super::ledger::{Entry, Ledger, Stage};
use crate::double_barrier::DoubleBarrierSeen;
use std::collections::BTreeSet;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Enough {
    parties: usize,
    ledger: Ledger,
    /// The generations in which enough parties were registered at one moment.
    reached: BTreeSet<u64>,
}

impl Enough {
    /// Watches the double barrier in this directory, which requires this number of parties.
    pub fn new(barrier: &str, parties: usize) -> Enough {
        Enough { parties, ledger: Ledger::new(barrier), reached: BTreeSet::new() }
    }

    fn registered(&self, view: View<'_>, generation: u64) -> usize {
        let members = self.ledger.of(generation);
        let counts = members.filter(|(session, member)| {
            member.stage != Stage::GaveUp && member.is_registered(view, *session)
        });
        counts.map(|(_, member)| &member.party).collect::<BTreeSet<_>>().len()
    }
}

impl Declared for Enough {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "double barrier DB1 enough",
        LooksBack::Tip,
        minds! { |this, view, event|
            #[needed("entered")]
            let Some(entry) = Ledger::read(event) => this.see(view, &entry),
        },
    );
}

impl Enough {
    fn see(&mut self, view: View<'_>, entry: &Entry<'_>) -> Result<(), Objection> {
        self.ledger.see(view, entry);
        for generation in self.ledger.generations() {
            let is_open = self.reached.contains(&generation);
            if !is_open && self.registered(view, generation) >= self.parties {
                self.reached.insert(generation);
            }
        }
        let Some(said) = self.ledger.said(entry) else { return Ok(()) };
        let enters = matches!(said.seen, DoubleBarrierSeen::Entered { .. });
        if !enters || self.reached.contains(&said.generation) {
            return Ok(());
        }
        let saw = format!(
            "{} enters generation {}, in which there have never been {} parties at one time: now {} of \
             them",
            said.client,
            said.generation,
            self.parties,
            self.registered(view, said.generation)
        );
        Err(self.objection(saw))
    }
}
