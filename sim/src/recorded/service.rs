//! Runs of the service grain that a search has found, taken again under the direct host.
//!
//! The search keeps programs as places in a trie; here they are plain futures again. What they do
//! at the same steps, and so the hash, must be the same.

use crate::host::DirectHost;
use crate::scenario::{Explored, Scenario};
use crate::seeded::options::{Drawn, Search};
use std::sync::Arc;
use vivarium_model::case::Case;
use vivarium_model::property::{Class, Monitor};
use vivarium_model::service::Service;
use vivarium_model::service::retake::{Retaken, retake as take_again};
use vivarium_model::step::Step;
use vivarium_model::world::World;

/// What a replay of a case saw.
#[derive(Clone, Debug)]
pub struct ServiceReplay {
    /// The steps and where they led.
    pub retaken: Retaken,
    /// Whether it was the recorded run: nothing skipped, and the same hash.
    pub same: bool,
}

/// Takes steps of the service grain in a scenario's smallest form.
///
/// # Errors
/// The scenario cannot be explored at this grain: why.
pub fn retake(scenario: &Scenario, drawn: &Drawn, steps: &[Step]) -> Result<Retaken, String> {
    if !matches!(scenario.explored, Explored::Programs { .. }) {
        return Err(format!("`{}` has no runs at the service grain", scenario.name));
    }
    let host = DirectHost::new((scenario.programs)(drawn));
    let service = Service::new(Arc::new(drawn.config.clone()));
    let world = World::over(service, host, monitors(scenario, drawn));
    Ok(take_again(world, steps, true, &mut |_world, _step| true))
}

/// The scenario's monitors that a search can ask.
pub fn monitors(scenario: &Scenario, drawn: &Drawn) -> Vec<Box<dyn Monitor>> {
    let all = (scenario.monitors)(drawn).into_iter();
    all.filter(|monitor| monitor.class() == Class::Event).collect()
}

/// Takes the steps of a case again.
///
/// # Errors
/// One sentence about what is wrong with the case.
pub fn replay(scenario: &Scenario, case: &Case) -> Result<ServiceReplay, String> {
    case.check()?;
    let clients = u8::try_from(case.config.clients.len()).expect("checked above");
    scenario.settings.takes_clients(&scenario.name, case.config.clients.len())?;
    let asked = |name: &str| case.parameters.get(name).is_some_and(|number| number != "0");
    let search = Search { cancels: asked("cancels"), timers: asked("timers") };
    let drawn = Drawn { config: case.config.clone(), ..Drawn::explored(scenario, clients, search) };
    let steps: Vec<Step> = case.steps.iter().map(|(_at, step)| *step).collect();
    let retaken = retake(scenario, &drawn, &steps)?;
    let same = retaken.skipped.is_empty() && retaken.hash == case.hash;
    Ok(ServiceReplay { retaken, same })
}
