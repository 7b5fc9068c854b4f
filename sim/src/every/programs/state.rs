//! A state of the search over programs: numbers of its pieces.

use super::pieces::{Place, Transition};
use super::{Budget, ProgramModel};
use crate::every::intern::Number;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use vivarium_model::bounds::SEARCHED_CLIENTS;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::ClientId;
use vivarium_model::property::Objection;

/// How many clients a search can have.
pub(super) const MAX_CLIENTS: usize = SEARCHED_CLIENTS as usize;

/// A state: which pieces it is made of, what is left of the budget, and what was wrong with the way
/// here. The pieces themselves are the model's.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) clients: [Option<Number>; MAX_CLIENTS],
    pub(super) shared: Number,
    pub(super) witnesses: Number,
    pub(super) left: Budget,
    /// How many steps the last action took. Not part of what the state is.
    pub(super) length: u32,
    pub(super) objection: Option<Arc<Objection>>,
    pub(super) fingerprint: Fingerprint,
}

impl State {
    /// What is left of the budget.
    pub fn left(&self) -> Budget {
        self.left
    }

    /// The state's fingerprint.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The place of one of the clients.
    pub(super) fn place(&self, client: ClientId) -> Place {
        self.place_of(self.clients[client.index()].expect("there is such a client"))
    }

    /// The place of the client whose piece this is.
    pub(super) fn place_of(&self, own: Number) -> Place {
        Place { client: own, shared: self.shared, witnesses: self.witnesses, left: self.left }
    }

    /// The state with this client at another place. Its fingerprint is that of no state.
    pub(super) fn at(&self, client: ClientId, place: Place) -> State {
        let Place { client: own, shared, witnesses, left } = place;
        let mut next = State { shared, witnesses, left, length: 0, ..self.clone() };
        next.clients[client.index()] = Some(own);
        next
    }

    /// The state after a transition of this client.
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
