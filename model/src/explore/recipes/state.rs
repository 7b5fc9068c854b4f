//! A state of the search over programs: numbers of its pieces.

use super::pieces::{Changed, Number, Transition};
use super::{Budget, Recipes};
use crate::fingerprint::Fingerprint;
use crate::id::ClientId;
use crate::property::Objection;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// How many clients a search can have.
pub const MAX_CLIENTS: usize = 8;

/// A state: which pieces it is made of, what is left of the budget, and what was wrong with the way
/// here. The pieces themselves are the model's.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) clients: [Option<Number>; MAX_CLIENTS],
    pub(super) shared: Number,
    pub(super) watchers: Number,
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

    /// What the choices of a client whose piece is this are found by. A piece tells whose it is. The
    /// budget's 40 bits are folded into the places of numbers that no search comes to: a table of
    /// 2^29 pieces is beyond any memory.
    pub(super) fn key(&self, client: Number) -> u128 {
        let numbers = [client, self.shared, self.watchers].map(|number| u128::from(number.get()));
        assert!(numbers.iter().all(|number| number >> 29 == 0), "fewer than 2^29 pieces");
        numbers.iter().fold(self.left.packed(), |key, number| key << 29 | number)
    }

    /// The state after a transition of this client.
    pub(super) fn after(&self, model: &Recipes, client: ClientId, took: &Transition) -> State {
        let mut next = State {
            shared: took.shared,
            watchers: took.watchers,
            length: took.length,
            objection: took.objection.clone(),
            ..*self
        };
        match &took.clients {
            Changed::Itself(number) => next.clients[client.index()] = Some(*number),
            Changed::All(numbers) => {
                for (place, number) in next.clients.iter_mut().zip(numbers.iter()) {
                    *place = Some(*number);
                }
            }
        }
        next.left = took.left;
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
