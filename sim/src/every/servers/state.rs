//! A state of the search of servers: the numbers of its pieces.

use super::Budget;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use vivarium_model::bounds::SEARCHED_SERVERS;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::{ServerId, ServerSet};
use vivarium_model::property::Objection;

/// The number of a piece in its table; 0 for none.
pub(super) type Number = u32;

/// The most servers of a search.
pub(super) const MAX_SERVERS: usize = SEARCHED_SERVERS as usize;

/// The number of places in an ensemble: one for each server, one for each server's connections as a learner, and the
/// rest.
pub(super) const PLACES: usize = 2 * MAX_SERVERS + 1;

/// The place of election mail and timers.
pub(super) const REST: usize = 2 * MAX_SERVERS;

/// The numbers of an ensemble's pieces, by place.
pub(super) type Numbers = [Number; PLACES];

pub(super) fn server_at(server: ServerId) -> usize {
    server.index()
}

/// Returns the place of a server's connections as a learner.
pub(super) fn links_at(learner: ServerId) -> usize {
    MAX_SERVERS + learner.index()
}

const TARGETS: u32 = 24;
const SEVERAL: u32 = 1 << (TARGETS + MAX_SERVERS as u32);

/// Packs into the number of a links piece what is needed without a look-up: the servers that the links lead to, and
/// whether there are several links.
pub(super) fn packed(number: Number, targets: ServerSet, several: bool) -> Number {
    assert!(number < 1 << TARGETS, "fewer than 16 million different links");
    let bits = targets.iter().fold(0, |bits, server| bits | 1 << server.index());
    number | bits << TARGETS | if several { SEVERAL } else { 0 }
}

/// Returns the plain number of a links piece.
pub(super) fn unpacked(links: Number) -> Number {
    links & ((1 << TARGETS) - 1)
}

/// Returns a bit for each server that these links lead to.
pub(super) fn targets(links: Number) -> u32 {
    links >> TARGETS & ((1 << MAX_SERVERS) - 1)
}

/// Returns true if a learner has several connections, the older of which are about to close. A step on one of them can
/// then renumber another one, at servers that the step does not concern otherwise.
pub(super) fn has_several(links: Number) -> bool {
    links & SEVERAL != 0
}

/// A state: the numbers of its pieces, the rest of the budget, and the violation on the way into it. The model holds
/// the pieces themselves.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) numbers: Numbers,
    pub(super) witnesses: Number,
    pub(super) left: Budget,
    /// The number of steps of the last action, including eager steps. It is not part of the state's identity.
    pub(super) length: u32,
    pub(super) objection: Option<Arc<Objection>>,
    pub(super) fingerprint: Fingerprint,
}

impl State {
    /// Returns the rest of the budget.
    pub fn left(&self) -> Budget {
        self.left
    }
}

/// Compares fingerprints, for stateright's own checkers.
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
