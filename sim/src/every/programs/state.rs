//! A state of the search of programs: the numbers of its pieces.

use super::pieces::{Place, Transition};
use super::{Budget, ProgramModel};
use crate::every::intern::Number;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use vivarium_model::bounds::SEARCHED_CLIENTS;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::ClientId;
use vivarium_model::property::Objection;

/// The most clients of a search.
pub(super) const MAX_CLIENTS: usize = SEARCHED_CLIENTS as usize;

/// A state: the numbers of its pieces, the rest of the budget, and the violation on the way into it. The model holds
/// the pieces themselves.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) clients: [Option<Number>; MAX_CLIENTS],
    pub(super) shared: Number,
    pub(super) witnesses: Number,
    pub(super) left: Budget,
    /// The number of steps of the last action. It is not part of the state's identity.
    pub(super) length: u32,
    pub(super) objection: Option<Arc<Objection>>,
    pub(super) fingerprint: Fingerprint,
}

impl State {
    /// Returns the rest of the budget.
    pub fn left(&self) -> Budget {
        self.left
    }

    /// Returns the state's fingerprint.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    pub(super) fn place(&self, client: ClientId) -> Place {
        self.place_of(self.clients[client.index()].expect("there is such a client"))
    }

    /// Returns the place of the client with this piece.
    pub(super) fn place_of(&self, own: Number) -> Place {
        Place { client: own, shared: self.shared, witnesses: self.witnesses, left: self.left }
    }

    /// Returns the state with this client at another place, without a valid fingerprint.
    pub(super) fn at(&self, client: ClientId, place: Place) -> State {
        let Place { client: own, shared, witnesses, left } = place;
        let mut next = State { shared, witnesses, left, length: 0, ..self.clone() };
        next.clients[client.index()] = Some(own);
        next
    }

    /// Returns the state after a transition of this client.
    pub(super) fn after(&self, model: &ProgramModel, client: ClientId, took: &Transition) -> State {
        let mut next = self.at(client, took.place());
        next.length = took.length;
        next.objection = took.objection.clone();
        if let Some(all) = &took.all {
            for (place, number) in next.clients.iter_mut().zip(all.iter()) {
                *place = Some(*number);
            }
        }
        next.fingerprint = model.fingerprint_of(&next);
        next
    }
}

impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl Eq for State {}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint.hash(state);
    }
}
