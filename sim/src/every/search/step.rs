//! The calls from a search to the model, with panics caught.

use super::super::model::Model;
use super::super::visited::Id;
use super::found::Found;
use super::shared::Shared;
use crate::run::demands::asserted;
use std::cmp::Ordering;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::Objection;

/// The result of an action.
pub(super) enum Taken<S> {
    /// The action cannot be taken, or leads outside of the model's boundary.
    Nothing,
    /// A property was violated after this many world steps.
    Objected(Objection, u32),
    /// The action led to a state.
    Reached {
        state: S,
        fingerprint: Fingerprint,
        /// The number of world steps.
        length: u32,
        /// Whether the action lowered [`Model::progress`], left it as it was, or raised it.
        progress: Ordering,
    },
}

/// Returns true if an action may be part of a cycle as far as the search knows. In a cycle, either an action lowers the
/// progress, or all leave it as it was, and one of them leads to a state that is no deeper.
pub(super) fn may_close(progress: Ordering, deeper: bool) -> bool {
    progress.is_lt() || progress.is_eq() && !deeper
}

impl<M: Model> Shared<'_, M> {
    /// Fills the list of a state's actions.
    ///
    /// # Errors
    /// Returns an objection if the state is stuck or the model panicked.
    pub(super) fn look(
        &self,
        model: &M,
        state: &M::State,
        actions: &mut Vec<M::Action>,
    ) -> Result<(), Objection> {
        actions.clear();
        asserted(|| {
            if let Some(reason) = model.expand(state, actions) {
                self.withhold(reason);
            }
        })?;
        if actions.is_empty() { self.rest(model, state) } else { Ok(()) }
    }

    /// Checks whether a state without successors is finished.
    ///
    /// # Errors
    /// Returns an objection if the state is stuck or the model panicked.
    pub(super) fn rest(&self, model: &M, state: &M::State) -> Result<(), Objection> {
        let is_withheld = asserted(|| model.withheld(state).is_some())?;
        if is_withheld { Ok(()) } else { asserted(|| model.at_rest(state))? }
    }

    /// Returns the fingerprint of an initial state; records a violation and returns `None` if the state is
    /// objectionable.
    pub(super) fn initial(&self, state: &M::State, place: u32) -> Option<Fingerprint> {
        let looked = asserted(|| match self.model.objection(state) {
            Some(objection) => Err(objection.clone()),
            None => Ok(self.model.fingerprint(state)),
        });
        let objection = match looked {
            Ok(Ok(fingerprint)) => return Some(fingerprint),
            Ok(Err(objection)) | Err(objection) => objection,
        };
        self.offer(Found { cost: 0, state: None, action: Some(place), length: 0, objection });
        None
    }

    /// Records an objection to a state that was reached at a level.
    pub(super) fn offer_state(&self, id: Id, level: u32, objection: Objection) {
        let state = Some(self.visited.arrival(id).0);
        self.offer(Found { cost: level, state, action: None, length: 0, objection });
    }

    /// Records an objection to an action of a state that was reached at a level.
    pub(super) fn offer_step(
        &self,
        id: Id,
        level: u32,
        place: u32,
        length: u32,
        objection: Objection,
    ) {
        let state = Some(self.visited.arrival(id).0);
        let cost = level.saturating_add(length);
        self.offer(Found { cost, state, action: Some(place), length, objection });
    }

    /// Takes an action in a state.
    pub(super) fn take(&self, model: &M, state: &M::State, action: M::Action) -> Taken<M::State> {
        let taken = asserted(|| {
            let Some(next) = model.next_state(state, action) else {
                return Taken::Nothing;
            };
            let length = model.length(&next);
            assert!(length > 0, "an action takes at least one step of the world");
            if let Some(objection) = model.objection(&next) {
                return Taken::Objected(objection.clone(), length);
            }
            if !model.within_boundary(&next) {
                self.leave_outside();
                return Taken::Nothing;
            }
            let progress = model.progress(&next).cmp(&model.progress(state));
            Taken::Reached { fingerprint: model.fingerprint(&next), state: next, length, progress }
        });
        taken.unwrap_or_else(|objection| Taken::Objected(objection, 1))
    }
}
