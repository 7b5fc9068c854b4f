//! One look at a state and one action taken: where a search calls the model, panics caught.

use super::super::model::Model;
use super::super::visited::Id;
use super::shared::{Found, Shared};
use crate::run::demands::asserted;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::Objection;

/// What came of an action.
pub(super) enum Taken<S> {
    /// It cannot be taken, or leads outside of the model's boundary.
    Nothing,
    /// Somebody objected after so many steps.
    Objected(Objection, u32),
    /// A state.
    Reached {
        state: S,
        fingerprint: Fingerprint,
        /// World steps.
        length: u32,
    },
}

impl<M: Model> Shared<'_, M> {
    /// Fills the list of a state's actions.
    ///
    /// # Errors
    /// The state is stuck, or the model panicked.
    pub(super) fn look(
        &self,
        model: &M,
        state: &M::State,
        actions: &mut Vec<M::Action>,
    ) -> Result<(), Objection> {
        actions.clear();
        asserted(|| {
            model.actions(state, actions);
            if let Some(reason) = model.withheld(state) {
                self.withhold(reason);
            }
        })?;
        if actions.is_empty() { self.rest(model, state) } else { Ok(()) }
    }

    /// Asks a state without successors whether it is finished.
    ///
    /// # Errors
    /// The state is stuck, or the model panicked.
    pub(super) fn rest(&self, model: &M, state: &M::State) -> Result<(), Objection> {
        let is_withheld = asserted(|| model.withheld(state).is_some())?;
        if is_withheld { Ok(()) } else { asserted(|| model.at_rest(state))? }
    }

    /// Looks at an initial state: its fingerprint, unless it is objectionable itself.
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

    /// An objection to a state that was reached at a level.
    pub(super) fn offer_state(&self, id: Id, level: u32, objection: Objection) {
        let state = Some((id, self.visited.arrival(id).0));
        self.offer(Found { cost: level, state, action: None, length: 0, objection });
    }

    /// An objection to an action taken in such a state.
    pub(super) fn offer_step(
        &self,
        id: Id,
        level: u32,
        place: u32,
        length: u32,
        objection: Objection,
    ) {
        let state = Some((id, self.visited.arrival(id).0));
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
            Taken::Reached { fingerprint: model.fingerprint(&next), state: next, length }
        });
        taken.unwrap_or_else(|objection| Taken::Objected(objection, 1))
    }
}
