//! A state of the search unfolded into a world, to take steps in.

use super::Budget;
use super::budget::account_of;
use crate::every::memo::Memo;
use crate::run::demands::ends_well;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::host::FUNCTION_OF_ITS_INPUTS;
use vivarium_model::property::Objection;
use vivarium_model::service::Service;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::world::World;

/// A world, and what is left of the budget.
#[derive(Clone)]
pub(super) struct Scene {
    pub(super) world: World<Memo, Service>,
    pub(super) left: Budget,
}

impl Scene {
    /// Takes one step.
    ///
    /// # Errors
    /// An objection.
    pub(super) fn take(&mut self, step: Step, effects: &mut Effects) -> Result<Status, Objection> {
        effects.clear();
        let status = self.world.apply(Time::ZERO, &step, effects)?;
        if status != Status::Done {
            return Ok(status);
        }
        effects.events.iter().try_for_each(ends_well)?;
        match self.world.host().dependent() {
            Some(why) => Err(Objection::new(FUNCTION_OF_ITS_INPUTS, why)),
            None => Ok(status),
        }
    }

    /// Takes from the budget what a step costs.
    pub(super) fn spend(&mut self, step: &Step) {
        if let Some(account) = account_of(self.world.grain(), step) {
            self.left[account] -= 1;
        }
    }
}
