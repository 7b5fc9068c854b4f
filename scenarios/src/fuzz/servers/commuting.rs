//! Checks that eager steps commute with every step that could have come before them.
//!
//! A search without reductions visits all states. In each state in which a reduced search would take an eager step,
//! every other step is tried both before and after that step. Both orders must lead to the same state, once all eager
//! steps that follow are taken. (The eager step itself may have become impossible: a crash can remove its effect.)
//! Outcomes reveal a mistake in a condition only if nothing else leads to them; this check reveals it where it is made.

use super::super::difference::Difference;
use super::case::Case;
use super::reach::model;
use std::collections::{HashSet, VecDeque};
use vivarium_model::step::Step;
use vivarium_sim::every::Model;
use vivarium_sim::every::servers::{Action, EnsembleModel, Flaw, Reductions, State};

/// Steps of a server with its own disk. A packet that is read early can leave something in memory until its reader
/// leaves its role, which a single step does not show.
const LOCAL: Reductions =
    Reductions { appends: true, fsyncs: true, writes: true, ..Reductions::NONE };

/// Returns the first eager step that makes a difference; `None` if there is none.
pub(super) fn commuting(case: &Case, flaw: Option<Flaw>) -> Option<Difference> {
    let model = model(case, Reductions::NONE, flaw);
    let mut seen = HashSet::new();
    let mut open: VecDeque<State> = stateright::Model::init_states(&model).into();
    seen.extend(open.iter().map(|state| model.fingerprint(state).0));
    while let Some(state) = open.pop_front() {
        if model.objection(&state).is_some() {
            continue;
        }
        let ways = ways(&model, &state);
        if let Some((ahead, eager)) = model.after_eager(&state, LOCAL)
            && let Some(what) = differs(&model, &ways, &ahead, eager)
        {
            let search = "all reductions, of a step that is taken early".to_string();
            return Some(Difference { search, what });
        }
        let next = ways.into_iter().map(|(_, next)| next);
        open.extend(next.filter(|next| seen.insert(model.fingerprint(next).0)));
    }
    None
}

/// Returns the possible actions in a state and the states that they lead to.
fn ways(model: &EnsembleModel, state: &State) -> Vec<(Action, State)> {
    let mut actions = Vec::new();
    stateright::Model::actions(model, state, &mut actions);
    let next = |action: Action| stateright::Model::next_state(model, state, action);
    actions.into_iter().filter_map(|action| Some((action, next(action)?))).collect()
}

/// Returns the state after this step, if the step is possible.
fn after(model: &EnsembleModel, state: &State, step: Step) -> Option<State> {
    let mut all = ways(model, state).into_iter();
    all.find(|(action, _)| model.chosen(action) == [step]).map(|(_, next)| next)
}

fn differs(
    model: &EnsembleModel,
    ways: &[(Action, State)],
    ahead: &State,
    eager: Step,
) -> Option<String> {
    if model.objection(ahead).is_some() {
        return None;
    }
    let behind = self::ways(model, ahead);
    let settled = |state: &State| model.fingerprint(&model.settled(state, Reductions::ALL));
    // A search stops at an objection, so the rest of the state does not matter.
    let same = |one: &State, other: &State| match (model.objection(one), model.objection(other)) {
        (None, None) => settled(one) == settled(other),
        (one, other) => one == other,
    };
    for (action, next) in ways {
        let steps = model.chosen(action);
        if steps == [eager] {
            continue;
        }
        let found = behind.iter().find(|(other, _)| model.chosen(other) == steps);
        let other = found.map_or(ahead, |(_, next)| next);
        let late = || match model.objection(next) {
            Some(_) => None,
            None => after(model, next, eager),
        };
        if !same(next, other) && !late().is_some_and(|late| same(&late, other)) {
            let steps: Vec<String> = steps.iter().map(Step::to_string).collect();
            return Some(format!("`{}` can be told from it behind `{eager}`", steps.join(", ")));
        }
    }
    None
}
