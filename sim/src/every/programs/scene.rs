//! A state of the search expanded into a world, in which steps can be taken.

use super::Budget;
use crate::every::memo::Memo;
use crate::run::demands::ends_well;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::host::FUNCTION_OF_ITS_INPUTS;
use vivarium_model::property::Objection;
use vivarium_model::service::Service;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::world::World;

/// A world and the rest of the budget.
#[derive(Clone)]
pub(super) struct Scene {
    pub(super) world: World<Memo, Service>,
    pub(super) left: Budget,
}

impl Scene {
    /// Takes one step.
    ///
    /// # Errors
    /// Returns an objection.
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
}
