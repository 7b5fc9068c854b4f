//! A counterexample as people and other engines read it: steps of the world, with what they cause.

use super::{Action, Recipes, State};
use crate::every::Counterexample;
use stateright::Model as _;
use std::sync::Arc;
use vivarium_model::effect::Effects;
use vivarium_model::grain::Grain;
use vivarium_model::host::Host;
use vivarium_model::property::Objection;
use vivarium_model::service::Service;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::trace::TraceLine;
use vivarium_model::world::World;

impl Recipes {
    /// All steps of the world on this way.
    pub fn all_steps(&self, counterexample: &Counterexample<Action>) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut state = self.init_states().swap_remove(counterexample.initial);
        for action in &counterexample.path {
            steps.extend(self.steps(&state, action));
            let Some(next) = self.next_state(&state, *action) else { break };
            state = next;
        }
        steps
    }

    /// A state in words: who does what, how far the log is, what is left of the budget.
    pub fn describe(&self, state: &State) -> String {
        let scene = self.scene(state);
        let service = scene.world.grain();
        let clients = self.clients().map(|client| {
            let (program, waits) = (service.program(client), service.waits_for(client));
            format!("{client}: {program:?}, {waits}\n")
        });
        let objection = state.objection.as_ref().map(|objection| format!("{objection}\n"));
        format!(
            "{}log: up to {}\nleft: {}\n{}",
            clients.collect::<String>(),
            scene.world.history().last(),
            state.left,
            objection.unwrap_or_default()
        )
    }

    /// A world as before the first step, over another host of the same programs.
    pub fn world_over<H: Host>(&self, host: H) -> World<H, Service> {
        let service = Service::new(Arc::clone(&self.config));
        World::over(service, host, self.monitors.clone())
    }

    /// What the steps do, one line each, as far as possible; and what was objected to at the last.
    pub fn trace(&self, steps: &[Step]) -> (Vec<TraceLine>, Option<Objection>) {
        let mut world = self.world();
        let mut effects = Effects::noted();
        world.begin(&mut effects);
        let mut lines = Vec::new();
        for (number, step) in (1..).zip(steps) {
            effects.clear();
            let result = world.apply(Time::ZERO, step, &mut effects);
            lines.push(TraceLine {
                at: Time::ZERO,
                number,
                step: *step,
                notes: effects.notes.clone().unwrap_or_default(),
                events: effects.events.clone(),
            });
            if let Err(objection) = result {
                return (lines, Some(objection));
            }
        }
        (lines, None)
    }
}
