//! Runs of the service grain that a search has found, taken again under the direct host.
//!
//! The search keeps programs as places in a trie; here they are plain futures again. What they do
//! at the same steps, and so the hash, must be the same.

use super::steps::{Replayed, replayed};
use crate::budget::programs::Budget;
use crate::host::DirectHost;
use crate::run::demands::{all_have_finished, asserted, ends_well};
use crate::scenario::drawn::Drawn;
use crate::scenario::{Explored, Scenario};
use std::sync::Arc;
use vivarium_model::case::Case;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::host::Host;
use vivarium_model::property::{Asked, Monitor, Objection};
use vivarium_model::service::Service;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::timer::Timer;
use vivarium_model::world::World;

/// What a replay of a case saw.
#[derive(Clone, Debug)]
pub struct ServiceReplay {
    /// The steps and where they led.
    pub replayed: Replayed,
    /// Whether it was the recorded run: nothing skipped, and the same hash.
    pub same: bool,
}

/// Takes steps of the service grain in a scenario's smallest form.
///
/// # Errors
/// The scenario cannot be explored at this grain: why.
pub fn replay_steps(
    scenario: &Scenario,
    drawn: &Drawn,
    steps: &[Step],
) -> Result<Replayed, String> {
    if !matches!(scenario.explored, Explored::Programs { .. }) {
        return Err(format!("`{}` has no runs at the service grain", scenario.name));
    }
    let host = DirectHost::new((scenario.programs)(drawn));
    let service = Service::new(Arc::new(drawn.config.clone()));
    let world = World::over(service, host, monitors(scenario, drawn));
    Ok(replay_in(world, steps, true, &mut |_world, _step| true))
}

/// The scenario's monitors that a search can ask.
pub fn monitors(scenario: &Scenario, drawn: &Drawn) -> Vec<Box<dyn Monitor>> {
    let all = (scenario.monitors)(drawn).into_iter();
    all.filter(|monitor| monitor.asked() == Asked::Everywhere).collect()
}

/// Takes the steps of a case again.
///
/// # Errors
/// One sentence about what is wrong with the case.
pub fn replay(scenario: &Scenario, case: &Case) -> Result<ServiceReplay, String> {
    case.check()?;
    let clients = u8::try_from(case.config.clients.len()).expect("checked above");
    scenario.settings.takes_clients(&scenario.name, case.config.clients.len())?;
    let search = Budget::read(&case.parameters)?;
    let drawn = Drawn { config: case.config.clone(), ..Drawn::explored(scenario, clients, search) };
    let steps: Vec<Step> = case.steps.iter().map(|(_at, step)| *step).collect();
    let replayed = replay_steps(scenario, &drawn, &steps)?;
    let same = replayed.skipped.is_empty() && replayed.hash == case.hash;
    Ok(ServiceReplay { replayed, same })
}

/// Takes these steps in a world that has not begun. `allow` is asked before each; one that it refuses is
/// skipped. `keep` the lines for people. What is objected to is what a search objects to: a monitor's
/// objection, a program that fails, somebody who waits for ever.
pub(crate) fn replay_in<H: Host>(
    mut world: World<H, Service>,
    steps: &[Step],
    keep: bool,
    allow: &mut dyn FnMut(&World<H, Service>, &Step) -> bool,
) -> Replayed {
    let mut effects = Effects::hashed();
    effects.notes = keep.then(Vec::new);
    world.begin(&mut effects);
    let mut replayed = replayed(steps, &mut effects, &mut |step, effects| {
        if !allow(&world, step) {
            return Ok(Status::NotEnabled);
        }
        take(&mut world, step, effects)
    });
    if replayed.objection.is_none() && !world.grain().can_go_on() {
        let at_rest = all_have_finished(&world).and_then(|()| world.at_rest(Time::ZERO));
        replayed.objection = at_rest.and_then(|()| world.end(Time::ZERO)).err();
    }
    replayed
}

/// Takes a step; where only time can pass, all is at rest before it does.
fn take<H: Host>(
    world: &mut World<H, Service>,
    step: &Step,
    effects: &mut Effects,
) -> Result<Status, Objection> {
    let passing = matches!(step, Step::Fire(Timer::Sleep(..)));
    if passing && !world.grain().has_ordinary_step() {
        world.at_rest(Time::ZERO)?;
    }
    let status = asserted(|| world.apply(Time::ZERO, step, effects)).and_then(|applied| applied)?;
    effects.events.iter().try_for_each(ends_well)?;
    Ok(status)
}
