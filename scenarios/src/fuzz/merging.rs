//! Whether states that are merged can do the same.
//!
//! The reduction *past* takes states for one that differ in what nobody can be shown any more. Outcomes
//! show a mistake in that only where nothing else leads to them. So the states are searched unmerged, and
//! those that would be merged are held against each other: what each can do next must lead to the same
//! merged states. If that holds everywhere, merging changes nothing (it is a bisimulation).

use super::case::Case;
use super::compare::Difference;
use super::reach::model;
use super::record::Ends;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use vivarium_model::explore::Model;
use vivarium_model::explore::recipes::{Flaw, Recipes, Reductions, State};
use vivarium_model::fingerprint::Fingerprint;

/// What a state can do: which merged states it leads to, by which steps.
type Future = BTreeMap<Fingerprint, String>;

/// The first pair of states that would be merged and are not alike; `None` if there is none in so many
/// states.
pub fn merging(case: &Case, flaw: Option<Flaw>, most: usize) -> Option<Difference> {
    let reductions = Reductions { past: false, ..Reductions::ALL };
    let model = model(case, reductions, flaw, &Ends::default());
    let mut futures: BTreeMap<Fingerprint, (Future, Option<String>)> = BTreeMap::new();
    let mut open: VecDeque<State> = stateright::Model::init_states(&model).into();
    let mut seen: BTreeSet<Fingerprint> = open.iter().map(State::fingerprint).collect();
    while let Some(state) = open.pop_front() {
        let (future, next) = future(&model, &state);
        let merged = model.without_past(&state);
        let is_end = next.is_empty() && model.withheld(&state).is_none();
        let stuck = is_end.then(|| model.at_rest(&state).err()).flatten();
        let stuck = stuck.map(|objection| objection.to_string());
        match futures.get(&merged) {
            None => _ = futures.insert(merged, (future, stuck)),
            Some((known, end)) => {
                if let Some(what) = differs(known, &future).or((*end != stuck).then(ends)) {
                    let search = "all reductions, of two states that are merged".to_string();
                    return Some(Difference { search, what });
                }
            }
        }
        open.extend(next.into_iter().filter(|next| seen.insert(next.fingerprint())));
        if seen.len() > most {
            return None;
        }
    }
    None
}

fn future(model: &Recipes, state: &State) -> (Future, Vec<State>) {
    let (mut future, mut all) = (Future::new(), Vec::new());
    let mut actions = Vec::new();
    stateright::Model::actions(model, state, &mut actions);
    for action in actions {
        let steps = || stateright::Model::format_step(model, state, action).unwrap_or_default();
        let next = stateright::Model::next_state(model, state, action);
        let next = next.expect("what is offered is possible");
        future.entry(model.without_past(&next)).or_insert_with(steps);
        all.push(next);
    }
    (future, all)
}

fn differs(one: &Future, other: &Future) -> Option<String> {
    let only = |these: &Future, those: &Future| {
        let mut rest = these.iter().filter(|(next, _)| !those.contains_key(next));
        rest.next().map(|(_, steps)| steps.replace('\n', "; "))
    };
    let steps = only(one, other).or_else(|| only(other, one))?;
    Some(format!("where one comes to by `{steps}`, the other never comes to"))
}

fn ends() -> String {
    "one ends as it must, the other does not".to_string()
}
