//! DB5, patience: a program that has waited long enough for the others to leave does not list them again.
//!
//! A list that was in progress when the time was up may still be sent.

use crate::double_barrier::DoubleBarrierSeen;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::op::Request;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};

/// More lists than can have been in progress.
const SPINS: u32 = 3;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Patience {
    barrier: Arc<str>,
    waits: BTreeMap<ClientId, Wait>,
}

/// The record of one program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Wait {
    /// The directory in which it registers.
    members: Arc<str>,
    /// How many times it has listed the members since it stopped waiting; `None` while it still waits.
    asked: Option<u32>,
}

impl Patience {
    /// Watches the double barrier in this directory.
    pub fn new(barrier: &str) -> Patience {
        Patience { barrier: barrier.into(), waits: BTreeMap::new() }
    }

    fn hears(&mut self, client: ClientId, seen: &DoubleBarrierSeen) {
        if *seen.place().0 != self.barrier {
            return;
        }
        match seen {
            DoubleBarrierSeen::Entering { members, .. } => {
                let wait = Wait { members: Arc::clone(members), asked: None };
                self.waits.insert(client, wait);
            }
            DoubleBarrierSeen::OutOfPatience { .. } => {
                if let Some(wait) = self.waits.get_mut(&client) {
                    wait.asked = Some(0);
                }
            }
            _ => {}
        }
    }
}

impl Declared for Patience {
    const DECLARATION: Declaration<Self> = Declaration::in_sweeps(
        "double barrier DB5 patience",
        LooksBack::Nothing,
        minds! { |this, view, event|
            Event::Killed { client } => drop(this.waits.remove(client)),
            Event::Sent { client, request, .. } => this.sent(*client, request),
            Observed(client, seen: DoubleBarrierSeen) => this.hears(client, seen),
        },
    );
}

impl Patience {
    fn sent(&mut self, client: ClientId, request: &Request) -> Result<(), Objection> {
        let Request::GetChildren { path, .. } = request else { return Ok(()) };
        let Some(wait) = self.waits.get_mut(&client) else { return Ok(()) };
        if *path != wait.members {
            return Ok(());
        }
        wait.asked = wait.asked.map(|asked| asked + 1);
        if wait.asked.is_some_and(|asked| asked >= SPINS) {
            let saw = format!(
                "{client} no longer waits for the others to leave, but has listed the members in \
                 {path} {SPINS} times since"
            );
            return Err(self.objection(saw));
        }
        Ok(())
    }
}
