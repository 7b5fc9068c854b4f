//! Replays runs of the service grain that a search has found, under the direct host.
//!
//! The search represents programs as nodes of a trie; here they are ordinary futures. Their behaviour at the same
//! steps, and so the hash, must be the same.

use super::steps::{Replayed, replayed};
use crate::budget::programs::Budget;
use crate::host::DirectHost;
use crate::run::demands::{all_have_finished, asserted, ends_well};
use crate::scenario::run::Run;
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

/// Takes steps of the service grain in a scenario's smallest form.
///
/// # Errors
/// A sentence if the scenario cannot be explored at this grain.
pub fn replay_steps(scenario: &Scenario, run: &Run, steps: &[Step]) -> Result<Replayed, String> {
    if !matches!(scenario.explored, Explored::Programs { .. }) {
        return Err(format!("`{}` has no runs at the service grain", scenario.name));
    }
    let host = DirectHost::new((scenario.programs)(run));
    let service = Service::new(Arc::new(run.config.clone()));
    let world = World::over(service, host, monitors(scenario, run));
    Ok(replay_in(world, steps, true, &mut |_world, _step| true))
}

/// Returns the scenario's monitors that a search can check.
pub fn monitors(scenario: &Scenario, run: &Run) -> Vec<Box<dyn Monitor>> {
    let all = (scenario.monitors)(run).into_iter();
    all.filter(|monitor| monitor.asked() == Asked::Everywhere).collect()
}

/// Replays the steps of a case.
///
/// # Errors
/// One sentence about what is wrong with the case.
pub fn replay(scenario: &Scenario, case: &Case) -> Result<Replayed, String> {
    case.check()?;
    let clients = u8::try_from(case.config.clients.len()).expect("checked above");
    scenario.settings.takes_clients(&scenario.name, case.config.clients.len())?;
    let search = Budget::read(&case.parameters)?;
    let run = Run { config: case.config.clone(), ..Run::smallest(scenario, clients, search) };
    let steps: Vec<Step> = case.steps.iter().map(|(_at, step)| *step).collect();
    replay_steps(scenario, &run, &steps)
}

/// Takes these steps in a world that has not begun. `allow` is called before each; a step that it refuses is skipped.
/// `keep` keeps the lines for people. Objections are the same as in a search: a monitor's, a program that fails, a
/// client that waits for ever.
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

/// Takes a step. If it lets time pass and no other step is possible, the monitors first check the state at rest.
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
