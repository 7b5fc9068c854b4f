//! A state of the search over servers: numbers of its pieces.

use super::Budget;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use vivarium_model::bounds::SEARCHED_SERVERS;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::{ServerId, ServerSet};
use vivarium_model::property::Objection;

/// The number of a piece in its table; 0 where there is none.
pub(super) type Number = u32;

/// How many servers a search can have.
pub(super) const MAX_SERVERS: usize = SEARCHED_SERVERS as usize;

/// How many pieces an ensemble has: each server, each server's connections as a learner, the rest.
pub(super) const PLACES: usize = 2 * MAX_SERVERS + 1;

/// The place of election mail and timers.
pub(super) const REST: usize = 2 * MAX_SERVERS;

/// The pieces of an ensemble.
pub(super) type Numbers = [Number; PLACES];

/// The place of a server's node.
pub(super) fn server_at(server: ServerId) -> usize {
    server.index()
}

/// The place of a server's connections as a learner.
pub(super) fn links_at(learner: ServerId) -> usize {
    MAX_SERVERS + learner.index()
}

const TARGETS: u32 = 24;
const SEVERAL: u32 = 1 << (TARGETS + MAX_SERVERS as u32);

/// The number of a piece of links tells also what must be known all the time: the servers that they
/// lead to, and whether there are several.
pub(super) fn packed(number: Number, targets: ServerSet, several: bool) -> Number {
    assert!(number < 1 << TARGETS, "fewer than 16 million different links");
    let bits = targets.iter().fold(0, |bits, server| bits | 1 << server.index());
    number | bits << TARGETS | if several { SEVERAL } else { 0 }
}

/// The number of a piece of links without what is packed into it.
pub(super) fn unpacked(links: Number) -> Number {
    links & ((1 << TARGETS) - 1)
}

/// A bit for each server that these links lead to.
pub(super) fn targets(links: Number) -> u32 {
    links >> TARGETS & ((1 << MAX_SERVERS) - 1)
}

/// Whether a learner has several connections, of which older ones are about to go: what a step does
/// to one of them can rename another, at servers that have nothing else to do with it.
pub(super) fn has_several(links: Number) -> bool {
    links & SEVERAL != 0
}

/// A state: which pieces it is made of, what is left of the budget, and what was wrong with the way
/// here. The pieces themselves are the model's.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) numbers: Numbers,
    pub(super) witnesses: Number,
    pub(super) left: Budget,
    /// How many steps the last action took, with what it set off. Not part of what the state is.
    pub(super) length: u32,
    pub(super) objection: Option<Arc<Objection>>,
    pub(super) fingerprint: Fingerprint,
}

impl State {
    /// What is left of the budget.
    pub fn left(&self) -> Budget {
        self.left
    }
}

/// By fingerprint: what stateright's own checkers need.
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
