//! Makes the waiting states of a checkpoint anew.

use super::super::model::Model;
use super::super::visited::Id;
use super::shared::Shared;
use std::collections::HashSet;

/// Takes the actions that lead to these states again, and passes each state to `wait`, with its id, its level and its
/// rank.
///
/// # Errors
/// One sentence, if an action leads to another state than it did.
pub(super) fn anew<M: Model>(
    shared: &Shared<'_, M>,
    waiting: &[(Id, u32)],
    mut wait: impl FnMut(M::State, Id, u32, u32),
) -> Result<(), String> {
    let Ways { first, next } = Ways::to(shared, waiting);
    let mut levels = waiting.to_vec();
    levels.sort_unstable_by_key(|(id, _)| id.number());
    let model = shared.model;
    let mut arrive = |state: M::State, id: Id| -> Result<(M::State, Id), String> {
        let (fingerprint, _) = shared.visited.arrival(id);
        if model.fingerprint(&state) != fingerprint {
            return Err(differs());
        }
        if let Ok(at) = levels.binary_search_by_key(&id.number(), |(id, _)| id.number()) {
            wait(state.clone(), id, levels[at].1, fingerprint.0 as u32);
        }
        Ok((state, id))
    };
    let initial = model.init_states();
    for (place, id) in first {
        let state = initial.get(place).cloned().ok_or_else(differs)?;
        let mut stack = vec![arrive(state, id)?];
        let mut actions = Vec::new();
        while let Some((state, id)) = stack.pop() {
            let from = next.partition_point(|step| step.from < id.number());
            let steps = next[from..].iter().take_while(|step| step.from == id.number());
            actions.clear();
            if steps.clone().next().is_some() {
                model.actions(&state, &mut actions);
            }
            for Step { place, to, .. } in steps {
                let action = actions.get(*place as usize).cloned().ok_or_else(differs)?;
                let state = model.next_state(&state, action).ok_or_else(differs)?;
                stack.push(arrive(state, *to)?);
            }
        }
    }
    Ok(())
}

pub(super) fn differs() -> String {
    "the same actions do not lead to the same states: a program, a property or Vivarium has changed since it was written"
        .to_string()
}

/// A step on a way.
struct Step {
    /// The number of the state before it.
    from: u32,
    /// The index of the action.
    place: u32,
    to: Id,
}

/// The ways to the waiting states.
struct Ways {
    /// The initial states on them, by their indices.
    first: Vec<(usize, Id)>,
    /// The steps, in the order of the states before them.
    next: Vec<Step>,
}

impl Ways {
    fn to<M: Model>(shared: &Shared<'_, M>, waiting: &[(Id, u32)]) -> Ways {
        let mut ways = Ways { first: Vec::new(), next: Vec::new() };
        let mut known = HashSet::new();
        for (id, _) in waiting {
            let mut at = *id;
            while known.insert(at.number()) {
                let (_, arrival) = shared.visited.arrival(at);
                let Some(from) = arrival.from else {
                    ways.first.push((arrival.action as usize, at));
                    break;
                };
                ways.next.push(Step { from: from.number(), place: arrival.action, to: at });
                at = from;
            }
        }
        ways.next.sort_unstable_by_key(|step| (step.from, step.place));
        ways
    }
}
