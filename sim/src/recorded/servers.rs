//! Runs of servers alone that a search over the ensemble grain has found, taken again.
//!
//! No search is needed for that: a plain world takes the steps, at time zero, and its monitors and
//! the state properties ([`invariants`]) object as they did. Only that nothing can happen any more
//! is a search's to say.

use super::steps::{Replayed, replayed};
use crate::host::DirectHost;
use crate::run::demands::asserted;
use std::sync::Arc;
use vivarium_model::case::Case;
use vivarium_model::config::Config;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::property::{self, Objection, invariants};
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::world::World;

/// Takes the steps of a case again.
///
/// # Errors
/// One sentence about what is wrong with the case.
pub fn replay(case: &Case) -> Result<Replayed, String> {
    case.check()?;
    if !case.config.clients.is_empty() {
        return Err(format!("it has clients, and `{}` has none", case.scenario));
    }
    let steps: Vec<Step> = case.steps.iter().map(|(_at, step)| *step).collect();
    Ok(replay_steps(&Arc::new(case.config.clone()), &steps))
}

/// Takes these steps, each as far as it is possible, up to an objection.
pub fn replay_steps(config: &Arc<Config>, steps: &[Step]) -> Replayed {
    let host = DirectHost::new(Vec::new());
    let mut world = World::new(Arc::clone(config), host, property::servers());
    let mut effects = Effects::hashed();
    effects.notes = Some(Vec::new());
    world.begin(&mut effects);
    replayed(steps, &mut effects, &mut |step, effects| {
        asserted(|| take(&mut world, step, effects)).and_then(|taken| taken)
    })
}

/// Takes a step and looks at what it may have broken.
fn take(
    world: &mut World<DirectHost>,
    step: &Step,
    effects: &mut Effects,
) -> Result<Status, Objection> {
    let taker = world.ensemble().taker(step);
    let before = taker.map(|server| (server, world.ensemble().disk(server).clone()));
    let committed = world.history().last();
    let status = world.apply(Time::ZERO, step, effects)?;
    if let (Status::Done, Some((server, disk))) = (&status, before) {
        let (ensemble, history) = (world.ensemble(), world.history());
        let is_written = *ensemble.disk(server) != disk;
        invariants::check(ensemble, history, server, is_written, history.last() > committed)?;
    }
    Ok(status)
}
