//! Finds the shortest path to a violation by servers.
//!
//! A reduced search takes eager steps that the violation may not need. So its steps are minimised as a path of the
//! search without reductions.

use super::{Action, Budget, EnsembleModel, Reductions, State};
use crate::every::{Counterexample, Model as _, Observer, Options, Shortest};
use crate::recorded::minimise::minimise;
use crate::run::demands::{ASSERTION, asserted};
use stateright::Model as _;
use vivarium_model::config::Config;
use vivarium_model::property::{self, Objection};
use vivarium_model::step::Step;

/// The most states of a search for a shorter path. The bound is on states and not on time, so that the same search
/// always finds the same path.
const LOOK_FOR_SHORTER: u64 = 200_000;

impl EnsembleModel {
    /// Shortens a counterexample, and searches for a shorter one. `unreduced` is the same model without reductions.
    pub fn shortest(
        &self,
        unreduced: &EnsembleModel,
        found: &Counterexample<Action>,
        options: &Options,
        observer: &dyn Observer,
    ) -> Shortest {
        let all = self.all_steps(found);
        let whole = || (all.clone(), found.objection.clone());
        if found.shortest && self.reductions == Reductions::NONE {
            return Shortest { proven: true, ..Shortest::of(&all, whole()) };
        }
        let property = found.objection.property.as_str();
        let shortened = shortened(unreduced, &all, property).unwrap_or_else(whole);
        let shortest = Shortest::of(&all, shortened);
        let less = shortest.steps.len().saturating_sub(1);
        let options = Options {
            max_depth: Some(u32::try_from(less).unwrap_or(u32::MAX)),
            max_states: Some(LOOK_FOR_SHORTER),
            ..options.clone()
        };
        shortest.or_shorter(unreduced, &options, observer, |found| unreduced.all_steps(found))
    }

    /// Returns all steps of the counterexample, including eager steps. If an action panics, only its chosen steps are
    /// returned.
    fn all_steps(&self, found: &Counterexample<Action>) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut state = self.init_states().swap_remove(0);
        for action in &found.path {
            let alone = || self.chosen(action);
            steps.extend(asserted(|| self.steps(&state, action)).unwrap_or_else(|_| alone()));
            match asserted(|| self.next_state(&state, *action)) {
                Ok(Some(after)) => state = after,
                Ok(None) | Err(_) => break,
            }
        }
        steps
    }
}

/// Leaves out steps as long as the same property is violated at the end.
fn shortened(
    model: &EnsembleModel,
    all: &[Step],
    property: &str,
) -> Option<(Vec<Step>, Objection)> {
    if property == ASSERTION {
        return None;
    }
    minimise(all, &[], &mut |steps| violating(model, steps, property))
}

/// Returns the steps that the model offers, one after the other, if the property is violated at their end.
fn violating(
    model: &EnsembleModel,
    steps: &[Step],
    property: &str,
) -> Option<(Vec<Step>, Objection)> {
    let violating = || {
        let (mut state, mut taken) = (model.init_states().swap_remove(0), Vec::new());
        let mut objection = None;
        for step in steps {
            let is_it = |action: &Action| model.chosen(action) == [*step];
            let offered = actions(model, &state).into_iter().find(is_it);
            let Some(after) = offered.and_then(|action| model.next_state(&state, action)) else {
                continue;
            };
            taken.push(*step);
            state = after;
            objection = model.objection(&state).cloned();
            if objection.is_some() {
                break;
            }
        }
        let objection = objection.or_else(|| at_rest(model, &state));
        let objection = objection.filter(|objection| objection.property == property)?;
        Some((taken, objection))
    };
    // A failed assertion is another violation.
    asserted(violating).unwrap_or(None)
}

/// Returns the violation at the end of steps that violated no property so far: if nothing except faults can happen any
/// more, every server must serve.
pub fn stuck(config: &Config, steps: &[Step]) -> Option<Objection> {
    let Config { observers, joiners, .. } = *config;
    let voters = config.servers - observers - joiners;
    let budget = Budget { observers, ..Budget::new(voters, 0, 0) };
    let (config, monitors) = (config.clone(), property::servers());
    let election = config.election;
    let model = EnsembleModel::new(config, budget, election, false, monitors);
    asserted(|| model.stuck_after(steps)).unwrap_or(None)
}

/// Returns the violation in a state without a further step.
fn at_rest(model: &EnsembleModel, state: &State) -> Option<Objection> {
    let can_go_on = !actions(model, state).is_empty() || model.withheld(state).is_some();
    if can_go_on { None } else { crate::every::Model::at_rest(model, state).err() }
}

fn actions(model: &EnsembleModel, state: &State) -> Vec<Action> {
    let mut actions = Vec::new();
    model.actions(state, &mut actions);
    actions
}
