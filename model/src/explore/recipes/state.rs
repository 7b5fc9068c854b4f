//! A state of the search over programs.

use super::Budget;
use crate::explore::memo::Memo;
use crate::fingerprint::Fingerprint;
use crate::property::Objection;
use crate::service::Service;
use crate::step::Step;
use crate::world::World;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A world, what is left of the budget, and what was wrong with the way here.
#[derive(Clone)]
pub struct State {
    pub(super) world: World<Memo, Service>,
    pub(super) left: Budget,
    pub(super) objection: Option<Arc<Objection>>,
    /// How many steps the last action took. Not part of what the state is.
    pub(super) length: u32,
    /// The steps of the last action, where somebody wants to know.
    pub(super) steps: Option<Vec<Step>>,
}

impl State {
    /// The world.
    pub fn world(&self) -> &World<Memo, Service> {
        &self.world
    }

    /// What is left of the budget.
    pub fn left(&self) -> Budget {
        self.left
    }

    /// The state's fingerprint.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut whole = self.world.fingerprint();
        whole.add(self.world.host().fingerprint());
        let Budget { lost, expiries, cancels, timers, kills } = self.left;
        let left = [lost, expiries, cancels, timers, kills];
        let left = left.iter().fold(0_u128, |sum, number| sum << 8 | u128::from(*number));
        // The multiplier is odd, so no two budgets fall together.
        whole.add(Fingerprint(left.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)));
        if let Some(objection) = &self.objection {
            whole.add(Fingerprint::of(&(&objection.property, &objection.saw)));
        }
        whole
    }
}

impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        self.fingerprint() == other.fingerprint()
    }
}

impl Eq for State {}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint().hash(state);
    }
}

/// For the eyes of who walks through a search: who stands where.
impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = f.debug_struct("State");
        lines.field("log", &self.world.history().last().to_string());
        let service = self.world.grain();
        for at in 0..service.config().clients.len() {
            let client = crate::id::ClientId::at(at);
            use crate::grain::Grain;
            let says = format!("{:?}, {}", service.program(client), service.waits_for(client));
            lines.field(&format!("client {}", client.0), &says);
        }
        lines.field("left", &self.left.to_string());
        if let Some(objection) = &self.objection {
            lines.field("objection", &objection.to_string());
        }
        lines.finish()
    }
}
