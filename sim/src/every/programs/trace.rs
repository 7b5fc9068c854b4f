//! A counterexample as people and other engines read it: steps of the world, with what they cause.

use super::{Action, ProgramModel, State};
use crate::every::Counterexample;
use stateright::Model as _;
use vivarium_model::grain::Grain;
use vivarium_model::step::Step;

impl ProgramModel {
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
}
