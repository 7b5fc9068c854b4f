//! Replays runs of servers without clients that a search over the ensemble grain has found.
//!
//! This needs no search: an ordinary world takes the steps, at time zero, and its monitors and the state properties
//! ([`invariants`]) object as they did. Only a search can tell that no step is possible any more.

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

/// Replays the steps of a case.
///
/// # Errors
/// One sentence that says what is wrong with the case.
pub fn replay(case: &Case) -> Result<Replayed, String> {
    case.check()?;
    if !case.config.clients.is_empty() {
        return Err(format!("it has clients, and `{}` has none", case.scenario));
    }
    let steps: Vec<Step> = case.steps.iter().map(|(_at, step)| *step).collect();
    Ok(replay_steps(&Arc::new(case.config.clone()), &steps))
}

/// Takes these steps, skipping impossible ones, up to an objection.
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

/// Takes a step and checks the properties that it may have violated.
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
