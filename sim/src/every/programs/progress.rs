//! A number that nearly every step raises: the proof that there is no cycle of actions.
//!
//! In a cycle the number must return to where it was. So if no action lowers it, and each action that leads to a state
//! that is no deeper raises it, there is no cycle of actions. The search compares the number before and after each
//! action, so a step that was not thought of can only spoil the proof. A block of private steps is one action, and
//! cycles within it are not looked for.
//!
//! The number counts what was used up of the budget, then sessions, requests and applied transactions, then inputs of
//! programs. It must be a function of what a state's fingerprint covers. That is neither all of the log (its past can be
//! left out) nor the inputs of a program that has ended; so the number counts the zxids that were given instead.

use super::ProgramModel;
use super::state::State;
use crate::every::trie::{Node, NodeState};

/// What an input counts for: more than all that a program may wait for after it.
const INPUT: i128 = 64;

/// What a program counts for that has ended: more than one with all inputs that it may get.
const ENDED: i128 = 1 << 20;

/// Returns what a client's program counts for. `node` is its place if it has begun and has not ended.
pub(super) fn progress_of(node: Option<&Node>, has_finished: bool) -> i128 {
    match node {
        None => ENDED * i128::from(has_finished),
        Some(node) => match node.state() {
            NodeState::Running => i128::from(node.inputs()) * INPUT,
            NodeState::Finished(_) | NodeState::Panicked(_) | NodeState::Dependent(_) => ENDED,
        },
    }
}

impl ProgramModel {
    /// Returns the number of a state.
    pub(super) fn progress_of(&self, state: &State) -> i128 {
        let pieces = state.clients.iter().flatten();
        let clients: i128 = pieces.map(|number| self.tables.clients.get(*number).progress).sum();
        let shared = self.tables.shared.get(state.shared).progress;
        // The budget's 42 bits are above everything else.
        clients + shared - ((state.left.packed() as i128) << 84)
    }
}
