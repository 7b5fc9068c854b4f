//! Violations that a search has found.

use serde::{Deserialize, Serialize};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::Objection;

/// A violation, found in a state or in one of the state's actions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Found {
    /// The number of world steps from the start, as far as the search knows.
    pub(super) cost: u32,
    /// The state; `None` if an initial state itself is objectionable.
    pub(super) state: Option<Fingerprint>,
    /// The index of the action, or that of the objectionable initial state.
    pub(super) action: Option<u32>,
    /// The number of world steps in the action.
    pub(super) length: u32,
    pub(super) objection: Objection,
}

impl Found {
    /// Orders violations so that the choice does not depend on which thread came first. At equal cost, an objectionable
    /// step comes before a stuck state, because it is found one level earlier.
    pub(super) fn key(&self) -> (u32, bool, Option<Fingerprint>, Option<u32>) {
        (self.cost, self.action.is_none(), self.state, self.action)
    }
}
