//! DB5, patience: who has waited long enough for the others to leave asks for them no more.
//!
//! A list that was under way when the time was up may still be sent.

use crate::double_barrier::DoubleBarrierSeen;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::op::Request;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};

/// More lists than can have been under way.
const SPINS: u32 = 3;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Patience {
    barrier: Arc<str>,
    waits: BTreeMap<ClientId, Wait>,
}

/// What is known of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Wait {
    /// Where it registers.
    members: Arc<str>,
    /// How often it has asked for the others since it waits no longer.
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

impl Monitor for Patience {
    fn name(&self) -> &'static str {
        "double barrier DB5 patience"
    }

    /// Told of every request, it would cost a search its reductions.
    fn asked(&self) -> Asked {
        Asked::InSweeps
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Nothing
    }

    fn concerns(&self, event: &Event) -> bool {
        match event {
            Event::Observed { observation, .. } => {
                observation.read::<DoubleBarrierSeen>().is_some()
            }
            Event::Sent { .. } | Event::Killed { .. } => true,
            _ => false,
        }
    }

    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        match event {
            Event::Killed { client } => {
                self.waits.remove(client);
            }
            Event::Sent { client, request, .. } => {
                let Request::GetChildren { path, .. } = &**request else { return Ok(()) };
                let Some(wait) = self.waits.get_mut(client) else { return Ok(()) };
                if *path != wait.members {
                    return Ok(());
                }
                wait.asked = wait.asked.map(|asked| asked + 1);
                if wait.asked.is_some_and(|asked| asked >= SPINS) {
                    let saw = format!(
                        "{client} waits no longer for the others to leave, and has asked {SPINS} times \
                         since who is in {path}"
                    );
                    return Err(Objection::new(self.name(), saw));
                }
            }
            _ => {
                if let Some((client, seen)) = event.observed() {
                    self.hears(client, seen);
                }
            }
        }
        Ok(())
    }
}
