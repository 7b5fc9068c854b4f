//! Translates counterexamples into steps of the world, for people and other engines.

use super::{Action, ProgramModel, State};
use crate::every::Counterexample;
use stateright::Model as _;
use vivarium_model::grain::Grain;
use vivarium_model::step::Step;

impl ProgramModel {
    /// Returns all world steps of a counterexample. Where the search replaced a state by an image of it, the steps are
    /// those of the clients that it was reached with.
    pub fn all_steps(&self, counterexample: &Counterexample<Action>) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut state = self.init_states().swap_remove(counterexample.initial);
        // The permutation from the searched state to the one that is reached.
        let mut permutation = 0;
        for action in &counterexample.path {
            let reached = self.image(&state, permutation);
            let client = self.exchanged(permutation, action.client);
            steps.extend(self.steps(&reached, &action.by(client)));
            let (next, turn) = self.turned(state.after(self, action.client, &action.to));
            permutation = self.instead(permutation, turn);
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
