//! Rebuilds the path to a violation: backwards along the predecessors, then forwards by the model.

use super::super::model::Model;
use super::found::Found;
use super::shared::Shared;

/// A rebuilt path.
pub(super) struct Replayed<A> {
    /// The index of its initial state.
    pub(super) initial: usize,
    pub(super) path: Vec<A>,
    /// The number of world steps.
    pub(super) length: u32,
}

/// Rebuilds the path to a violation. If the model is void, the path ends where it can no longer be taken.
pub(super) fn replay<M: Model>(shared: &Shared<'_, M>, found: &Found) -> Replayed<M::Action> {
    let model = shared.model;
    let Some(fingerprint) = found.state else {
        let initial = found.action.expect("an objectionable initial state has its place");
        return Replayed { initial: initial as usize, path: Vec::new(), length: 0 };
    };
    let mut links = shared.links(fingerprint);
    let (_, initial) = links.pop().expect("a path has its first state");
    let mut state = model.init_states().swap_remove(initial);
    let mut replayed = Replayed { initial, path: Vec::new(), length: 0 };
    for (fingerprint, place) in links.into_iter().rev() {
        let Some(action) = action_at(model, &state, place) else { return replayed };
        state = model.next_state(&state, action.clone()).expect("an action taken once is possible");
        if model.is_void() && model.fingerprint(&state) != fingerprint {
            return replayed;
        }
        assert_eq!(model.fingerprint(&state), fingerprint, "the same action led somewhere else");
        replayed.path.push(action);
        replayed.length += model.length(&state);
    }
    if let Some(place) = found.action
        && let Some(action) = action_at(model, &state, place as usize)
    {
        replayed.path.push(action);
        replayed.length += found.length;
    }
    replayed
}

/// Returns an action of a state by its index. Only a void model can have lost it.
fn action_at<M: Model>(model: &M, state: &M::State, place: usize) -> Option<M::Action> {
    let mut actions = Vec::new();
    model.actions(state, &mut actions);
    assert!(place < actions.len() || model.is_void(), "an action that was there once is there");
    actions.into_iter().nth(place)
}
