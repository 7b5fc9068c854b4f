//! Translates counterexamples into steps of the world, for people and other engines.

use super::{Action, ProgramModel, State};
use crate::every::Counterexample;
use stateright::Model as _;
use vivarium_model::grain::Grain;
use vivarium_model::step::Step;

impl ProgramModel {
    /// Returns all world steps of a counterexample.
    pub fn all_steps(&self, counterexample: &Counterexample<Action>) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut state = self.init_states().swap_remove(counterexample.initial);
        for action in &counterexample.path {
            steps.extend(self.steps(&state, action));
            let Some(next) = self.next_state(&state, action.clone()) else { break };
            state = next;
        }
        steps
    }

    /// Describes a state in words: what each client does, the end of the log, and the rest of the budget.
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
}
