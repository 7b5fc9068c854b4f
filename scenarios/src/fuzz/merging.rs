//! Checks that states that are merged have the same futures.
//!
//! The reduction *past* merges states that differ only in what no client can observe any more. Outcomes reveal a
//! mistake in that only if nothing else leads to them. So the states are searched unmerged, and those that would be
//! merged are compared: the next actions of each must lead to the same merged states. If this holds everywhere, merging
//! changes nothing (it is a bisimulation).

use super::case::Case;
use super::difference::Difference;
use super::reach::model;
use super::record::Ends;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_sim::every::Model;
use vivarium_sim::every::programs::{Action, Flaw, ProgramModel, Reductions, State};

/// The future of a state: the merged states that it leads to, each with an action.
type Future = BTreeMap<Fingerprint, Action>;

/// A state, its future, and its violation.
struct Known {
    state: State,
    future: Future,
    /// The violation of the state if it is an end.
    stuck: Option<String>,
}

/// Returns the first pair of states that would be merged and differ, or says that there are more than `most` states;
/// `None` if all pairs are equal.
pub(super) fn merging(case: &Case, flaw: Option<Flaw>, most: usize) -> Option<Difference> {
    let reductions = Reductions { past: false, ..Reductions::ALL };
    let model = model(case, reductions, flaw, &Ends::default());
    let difference = |what| {
        let search = "all reductions, of two states that are merged".to_string();
        Some(Difference { search, what })
    };
    let mut all: BTreeMap<Fingerprint, Known> = BTreeMap::new();
    let mut open: VecDeque<State> = stateright::Model::init_states(&model).into();
    let mut seen: BTreeSet<Fingerprint> = open.iter().map(State::fingerprint).collect();
    while let Some(state) = open.pop_front() {
        let (future, next) = future(&model, &state);
        let merged = model.without_past(&state);
        let is_end = next.is_empty() && model.withheld(&state).is_none();
        let stuck = is_end.then(|| model.at_rest(&state).err()).flatten();
        let stuck = stuck.map(|objection| objection.to_string());
        let this = Known { state, future, stuck };
        match all.get(&merged) {
            None => _ = all.insert(merged, this),
            Some(known) => {
                if let Some(what) = differs(&model, known, &this) {
                    return difference(what);
                }
            }
        }
        open.extend(next.into_iter().filter(|next| seen.insert(next.fingerprint())));
        if seen.len() > most {
            return difference(format!("more than {most} states, where fewer are enough"));
        }
    }
    None
}

fn future(model: &ProgramModel, state: &State) -> (Future, Vec<State>) {
    let (mut future, mut all) = (Future::new(), Vec::new());
    let mut actions = Vec::new();
    stateright::Model::actions(model, state, &mut actions);
    for action in actions {
        let next = stateright::Model::next_state(model, state, action.clone());
        let next = next.expect("what is offered is possible");
        future.entry(model.without_past(&next)).or_insert(action);
        all.push(next);
    }
    (future, all)
}

fn differs(model: &ProgramModel, one: &Known, other: &Known) -> Option<String> {
    let only = |this: &Known, that: &Known| {
        let mut rest = this.future.iter().filter(|(next, _)| !that.future.contains_key(next));
        let (_, action) = rest.next()?;
        let steps = stateright::Model::format_step(model, &this.state, action.clone());
        let steps = steps.unwrap_or_default().replace('\n', "; ");
        Some(format!("where one comes to by `{steps}`, the other never comes to"))
    };
    let ends = (one.stuck != other.stuck)
        .then(|| format!("one ends with {:?}, the other with {:?}", one.stuck, other.stuck));
    only(one, other).or_else(|| only(other, one)).or(ends)
}
