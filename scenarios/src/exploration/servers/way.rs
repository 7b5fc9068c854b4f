//! The shortest way to a violation by servers.
//!
//! As over the service grain (`vivarium_sim::every::programs`): a reduced search takes steps early
//! that the violation may not need, so
//!
//! 1. steps are left out, in ever smaller groups, as long as what remains is a run that a search
//!    without reductions could take within the budget, and violates the same property at its end;
//! 2. such a search looks, within some number of states, for a way with fewer steps than that.

use std::panic::{AssertUnwindSafe, catch_unwind};
use vivarium_model::config::Config;
use vivarium_model::property::{self, Objection};
use vivarium_model::service::retake::PANIC;
use vivarium_model::step::Step;
use vivarium_sim::every::servers::{Action, Budget, EnsembleModel};
use vivarium_sim::every::{
    Bound, Counterexample, Ending, Model, Observer, Options, Strategy, search,
};

/// In so many states a shorter way is looked for. A bound of states and not of time, so that the same
/// search always tells the same way.
const LOOK_FOR_SHORTER: u64 = 200_000;

/// A way to a violation, with nothing on it that could be left out.
pub(super) struct Shortest {
    /// The steps of the world.
    pub(super) steps: Vec<Step>,
    /// What was objected to at the last.
    pub(super) objection: Objection,
    /// How many steps were left out of the way that the search found.
    pub(super) left_out: usize,
    /// Whether it is proven that there is no shorter way.
    pub(super) proven: bool,
}

impl Shortest {
    /// The way that a search without reductions has found, breadth first.
    pub(super) fn proven(model: &EnsembleModel, found: &Counterexample<Action>) -> Shortest {
        let (steps, objection) = (all_steps(model, found), found.objection.clone());
        Shortest { steps, objection, left_out: 0, proven: true }
    }
}

/// Makes a counterexample of `model` shorter, and looks whether there is anything shorter still.
/// `unreduced` is the same model without reductions.
pub(super) fn shortest(
    model: &EnsembleModel,
    unreduced: &EnsembleModel,
    found: &Counterexample<Action>,
    options: &Options,
    observer: &dyn Observer,
) -> Shortest {
    let all = all_steps(model, found);
    let property = found.objection.property.as_str();
    let (steps, objection) = shortened(unreduced, &all, property)
        .unwrap_or_else(|| (all.clone(), found.objection.clone()));
    let left_out = all.len() - steps.len();
    let mut shortest = Shortest { steps, objection, left_out, proven: false };
    let less = shortest.steps.len().saturating_sub(1);
    let options = Options {
        strategy: Strategy::BreadthFirst,
        max_depth: Some(u32::try_from(less).unwrap_or(u32::MAX)),
        max_states: Some(LOOK_FOR_SHORTER),
        ..options.clone()
    };
    match search(unreduced, &options, observer).ending {
        Ending::Exhausted { .. } => shortest.proven = true,
        Ending::Bounded { by: Bound::Depth(_) | Bound::Withheld(_), .. } => shortest.proven = true,
        Ending::Bounded { .. } => {}
        Ending::Violated(shorter) if shorter.shortest => {
            let mut told = Shortest::proven(unreduced, &shorter);
            if told.steps.len() < shortest.steps.len() {
                told.left_out = all.len() - told.steps.len();
                shortest = told;
            }
        }
        // Shorter perhaps, but which one was found depends on the threads.
        Ending::Violated(_) => {}
    }
    shortest
}

/// What is objected to at the end of steps that nobody has objected to: if nothing can happen any
/// more, faults apart, everybody must serve.
pub(super) fn stuck(config: &Config, steps: &[Step]) -> Option<Objection> {
    let budget = Budget::new(config.servers, 0, 0);
    let (config, monitors) = (config.clone(), property::servers());
    let election = config.election;
    let model = EnsembleModel::new(config, budget, election, false, monitors);
    quietly(|| model.stuck_after(steps))
}

/// Leaves steps out as long as the same property is violated at the end.
fn shortened(
    model: &EnsembleModel,
    all: &[Step],
    property: &str,
) -> Option<(Vec<Step>, Objection)> {
    if property == PANIC {
        return None;
    }
    let mut best = violating(model, all, property)?;
    loop {
        let before = best.0.len();
        let mut size = before / 2;
        while size > 0 {
            let mut end = best.0.len();
            while end > 0 {
                let start = end.saturating_sub(size);
                let without: Vec<Step> = [&best.0[..start], &best.0[end..]].concat();
                let shorter = violating(model, &without, property);
                if let Some(shorter) = shorter.filter(|(steps, _)| steps.len() < best.0.len()) {
                    best = shorter;
                }
                end = start.min(best.0.len());
            }
            size /= 2;
        }
        if best.0.len() == before {
            return Some(best);
        }
    }
}

/// Those of the steps that the model offers, one after the other, if the property is violated at their
/// end.
fn violating(
    model: &EnsembleModel,
    steps: &[Step],
    property: &str,
) -> Option<(Vec<Step>, Objection)> {
    quietly(|| {
        let (mut state, mut taken) = (initial(model), Vec::new());
        let mut objection = None;
        for step in steps {
            let is_it = |action: &Action| model.chosen(action) == [*step];
            let offered = actions(model, &state).into_iter().find(is_it);
            let Some(after) = offered.and_then(|action| next(model, &state, action)) else {
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
    })
}

/// All steps on the way, with what the actions set off. One that panics is told by itself.
fn all_steps(model: &EnsembleModel, found: &Counterexample<Action>) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut state = initial(model);
    for action in &found.path {
        let alone = || model.chosen(action);
        steps.extend(quietly(|| Some(model.steps(&state, action))).unwrap_or_else(alone));
        match quietly(|| next(model, &state, *action)) {
            Some(after) => state = after,
            None => break,
        }
    }
    steps
}

/// Runs the model's code; a panic, which the search itself has reported, is nothing.
fn quietly<T>(what: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(what)).unwrap_or(None)
}

// These are generic because the methods are those of `stateright::Model`, which is not named here.

fn initial<M: Model>(model: &M) -> M::State {
    model.init_states().swap_remove(0)
}

fn actions<M: Model>(model: &M, state: &M::State) -> Vec<M::Action> {
    let mut actions = Vec::new();
    model.actions(state, &mut actions);
    actions
}

fn next<M: Model>(model: &M, state: &M::State, action: M::Action) -> Option<M::State> {
    model.next_state(state, action)
}

/// What is missing where nothing can happen any more.
fn at_rest<M: Model>(model: &M, state: &M::State) -> Option<Objection> {
    let can_go_on = !actions(model, state).is_empty() || model.withheld(state).is_some();
    if can_go_on { None } else { model.at_rest(state).err() }
}
