//! DB2, emptiness: a program has left only if, at some moment since it began to leave, all others had begun to leave
//! as well or had lost their sessions.
//!
//! The others are the programs that are inside, and those whose registration exists although they do not know yet
//! that they may enter. This property does not wait for a program that has died or withdrawn.

use super::ledger::{Entry, Ledger, Stage};
use crate::double_barrier::DoubleBarrierSeen;
use std::collections::BTreeSet;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Emptiness {
    ledger: Ledger,
    /// The generations and sessions that are leaving and for which there was such a moment.
    justified: BTreeSet<(u64, SessionId)>,
}

impl Emptiness {
    /// Watches the double barrier in this directory.
    pub fn new(barrier: &str) -> Emptiness {
        Emptiness { ledger: Ledger::new(barrier), justified: BTreeSet::new() }
    }

    /// Returns a description of a member that this session would have to wait for.
    fn other(
        &self,
        view: View<'_>,
        generation: u64,
        own: SessionId,
    ) -> Option<(ClientId, &'static str)> {
        let mut members = self.ledger.of(generation);
        let stays = members.find(|(session, member)| {
            let stays = match member.stage {
                Stage::Inside => true,
                Stage::Entering => member.is_registered(view, *session),
                Stage::Leaving | Stage::GaveUp | Stage::Gone => false,
            };
            *session != own && stays
        });
        stays.map(|(_, member)| {
            let how = if member.stage == Stage::Inside { "inside" } else { "registered" };
            (member.client, how)
        })
    }

    fn justify(&mut self, view: View<'_>) {
        let all: Vec<_> =
            self.ledger.all().map(|(at, by, member)| (at, by, member.stage)).collect();
        for (generation, session, stage) in all {
            if stage == Stage::Leaving && self.other(view, generation, session).is_none() {
                self.justified.insert((generation, session));
            }
        }
        let justified = std::mem::take(&mut self.justified);
        let leave = justified.into_iter().filter(|(at, by)| self.leaves(*at, *by));
        self.justified = leave.collect();
    }

    fn leaves(&self, generation: u64, session: SessionId) -> bool {
        let mut members = self.ledger.of(generation);
        members.any(|(other, member)| other == session && member.stage == Stage::Leaving)
    }
}

impl Declared for Emptiness {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "double barrier DB2 emptiness",
        LooksBack::Tip,
        minds! { |this, view, event|
            #[needed("left")]
            let Some(entry) = Ledger::read(event) => this.see(view, &entry),
        },
    );
}

impl Emptiness {
    fn see(&mut self, view: View<'_>, entry: &Entry<'_>) -> Result<(), Objection> {
        if let Some(said) = self.ledger.said(entry)
            && let (DoubleBarrierSeen::Left { .. }, Some(session)) = (said.seen, said.session)
            // Nothing is required of a session that is over in the committed history.
            && self.leaves(said.generation, session)
            && !self.justified.contains(&(said.generation, session))
            && let Some((other, how)) = self.other(view, said.generation, session)
        {
            let saw = format!(
                "{} has left generation {}, and never since it began to was there a moment at which all \
                 others had: {other} is {how}",
                said.client, said.generation
            );
            return Err(self.objection(saw).about(other));
        }
        self.ledger.see(view, entry);
        self.justify(view);
        Ok(())
    }
}
