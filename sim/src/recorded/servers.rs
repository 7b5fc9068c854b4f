//! Runs of servers alone that a search over the ensemble grain has found, taken again.
//!
//! No search is needed for that: a plain world takes the steps, at time zero, and its monitors and
//! the state properties ([`invariants`]) object as they did. Only that nothing can happen any more
//! is a search's to say.

use crate::host::DirectHost;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use vivarium_model::case::Case;
use vivarium_model::config::Config;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::{self, Objection, invariants};
use vivarium_model::service::retake::{PANIC, Retaken};
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::trace::TraceLine;
use vivarium_model::words::panic_message;
use vivarium_model::world::World;

/// Takes the steps of a case again.
///
/// # Errors
/// One sentence about what is wrong with the case.
pub fn replay(case: &Case) -> Result<Retaken, String> {
    case.check()?;
    if !case.config.clients.is_empty() {
        return Err(format!("it has clients, and `{}` has none", case.scenario));
    }
    let steps: Vec<Step> = case.steps.iter().map(|(_at, step)| *step).collect();
    Ok(retake(&Arc::new(case.config.clone()), &steps))
}

/// Takes these steps, each as far as it is possible, up to an objection.
pub fn retake(config: &Arc<Config>, steps: &[Step]) -> Retaken {
    let host = DirectHost::new(Vec::new());
    let mut world = World::new(Arc::clone(config), host, property::servers());
    let mut effects = Effects::hashed();
    effects.notes = Some(Vec::new());
    world.begin(&mut effects);
    let (taken, skipped, lines) = (Vec::new(), Vec::new(), Vec::new());
    let mut retaken =
        Retaken { taken, skipped, lines, hash: Fingerprint::default(), objection: None };
    for (number, step) in (1..).zip(steps) {
        effects.clear();
        let take = AssertUnwindSafe(|| take(&mut world, step, &mut effects));
        match catch_unwind(take)
            .unwrap_or_else(|panic| Err(Objection::new(PANIC, panic_message(&*panic))))
        {
            Ok(Status::Done) => {}
            Ok(Status::Blocked(_) | Status::NotEnabled) => {
                retaken.skipped.push((number, *step));
                continue;
            }
            Err(objection) => retaken.objection = Some(objection),
        }
        retaken.taken.push(*step);
        let notes = effects.notes.clone().unwrap_or_default();
        let (events, number) = (effects.events.clone(), retaken.taken.len() as u64);
        retaken.lines.push(TraceLine { at: Time::ZERO, number, step: *step, notes, events });
        if retaken.objection.is_some() {
            break;
        }
    }
    let hasher = effects.hasher.as_ref().expect("it was made with one");
    retaken.hash = hasher.fingerprint();
    retaken
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
