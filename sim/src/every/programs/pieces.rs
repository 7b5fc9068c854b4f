//! The tables that the states of a search are numbers in.
//!
//! A state has one piece for each client and two that all share, and there are far fewer different
//! pieces than states. So each piece is kept once and a state is a handful of numbers; and what a
//! client can do in a state, which depends on its own piece and the shared ones only, is worked out
//! once and looked up ever after.

use super::Budget;
use crate::every::intern::{Fold, Number, Weighed};
use crate::every::trie::NodeId;
use hashbrown::HashSet;
use std::hash::BuildHasherDefault;
use std::sync::Arc;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::history::History;
use vivarium_model::property::{Monitors, Objection};
use vivarium_model::service::{Common, Share};
use vivarium_model::step::Step;
use vivarium_model::zxid::Zxid;

/// All that is one client's.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) share: Share,
    /// Where its program stands.
    pub(super) place: Option<NodeId>,
    pub(super) fingerprint: Fingerprint,
    pub(super) has_finished: bool,
}

/// All that is shared but for the monitors.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) common: Common,
    pub(super) history: Arc<History>,
    /// Of all but the log.
    pub(super) rest: Fingerprint,
}

impl Shared {
    /// What tells it from others.
    pub(super) fn key(&self) -> u128 {
        let mut key = self.common.log(Zxid::ZERO);
        key.add(self.rest);
        key.0
    }
}

/// The monitors.
#[derive(Clone)]
pub(super) struct WitnessPiece {
    pub(super) monitors: Monitors,
    pub(super) fingerprint: Fingerprint,
}

/// What a client's step, or a block of them, makes of it and what is shared.
#[derive(Clone)]
pub(super) struct Transition {
    /// The piece of the client that acts.
    pub(super) client: Number,
    /// Where it changes others too (programs send each other messages): all clients' pieces.
    pub(super) all: Option<Arc<[Number]>>,
    pub(super) shared: Number,
    pub(super) witnesses: Number,
    /// How many steps it is.
    pub(super) length: u32,
    /// What is left of the budget.
    pub(super) left: Budget,
    pub(super) objection: Option<Arc<Objection>>,
}

impl Transition {
    /// Where it leads, as far as the client that acts can tell.
    pub(super) fn place(&self) -> Place {
        let Transition { client, shared, witnesses, left, .. } = *self;
        Place { client, shared, witnesses, left }
    }
}

/// All that decides what a client can do: its own piece, those that all share, and the budget.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) client: Number,
    pub(super) shared: Number,
    pub(super) witnesses: Number,
    pub(super) left: Budget,
}

impl Place {
    /// What it is found by. A piece tells whose it is. The budget's 36 bits are put above the places
    /// of numbers that no search comes to: a table of 2^29 pieces is beyond any memory.
    pub(super) fn key(&self) -> u128 {
        let numbers = [self.client, self.shared, self.witnesses].map(|at| u128::from(at.get()));
        assert!(numbers.iter().all(|number| number >> 29 == 0), "fewer than 2^29 pieces");
        numbers.iter().fold(self.left.packed(), |key, number| key << 29 | number)
    }
}

/// One step that a client can take.
#[derive(Clone)]
pub(super) struct Took {
    pub(super) step: Step,
    /// Whether it can as well be taken at any later moment, see `steps.rs`.
    pub(super) private: bool,
    /// Whether no monitor takes notice of it.
    pub(super) unheard: bool,
    pub(super) to: Transition,
}

/// The steps that a client can take at a place.
pub(super) struct Steps {
    /// Faults included, but for its program's timers where nothing else can happen.
    pub(super) all: Vec<Took>,
    /// The one of them that is taken before any other, if one is.
    pub(super) at_once: Option<usize>,
    /// Whether it can do nothing that is no fault.
    pub(super) idle: bool,
    /// Whether its program sleeps and no timer may end early.
    pub(super) withheld: bool,
    /// Whether its program's next input is one too many.
    pub(super) input_withheld: bool,
    /// Another client's piece was changed: what this client does depends on more than the place.
    pub(super) depends_on_others: bool,
}

impl Steps {
    /// Those that a search takes.
    pub(super) fn tried(&self) -> &[Took] {
        match self.at_once {
            Some(at) => &self.all[at..=at],
            None => &self.all,
        }
    }
}

/// What a client can do in a state, as actions of the search.
#[derive(Default)]
pub(super) struct Choices {
    /// Single steps, or blocks of them.
    pub(super) blocks: Vec<Transition>,
    /// Its program's timers, when nothing else can happen any more.
    pub(super) sleeps: Vec<Transition>,
    /// Whether it can do nothing that is no fault.
    pub(super) idle: bool,
    /// Whether its program sleeps at some place of its blocks where no timer may end early: which is
    /// too early if another client can do something that is no fault.
    pub(super) withheld: bool,
    /// Whether it is too early for sure: at that place the client itself can do something else.
    pub(super) withheld_while_busy: bool,
    /// Whether its program's next input is one too many, at some place of its blocks.
    pub(super) input_withheld: bool,
    pub(super) depends_on_others: bool,
}

/// A set of keys.
pub(super) type Keys = HashSet<u128, BuildHasherDefault<Fold>>;

/// What a client's machine, its connection and its program's calls hold; what the log and the sessions
/// hold beyond those before; what the monitors that changed hold; an allocation. Estimates.
const OF_A_CLIENT: usize = 700;
const OF_WHAT_IS_SHARED: usize = 700;
const OF_MONITORS: usize = 300;
const ALLOCATION: usize = 16;

impl Weighed for Client {
    fn heap_bytes(&self) -> usize {
        OF_A_CLIENT
    }
}

impl Weighed for Shared {
    fn heap_bytes(&self) -> usize {
        OF_WHAT_IS_SHARED
    }
}

impl Weighed for WitnessPiece {
    fn heap_bytes(&self) -> usize {
        OF_MONITORS
    }
}

impl Weighed for Choices {
    fn heap_bytes(&self) -> usize {
        (self.blocks.capacity() + self.sleeps.capacity()) * size_of::<Transition>()
    }
}

impl Weighed for Steps {
    fn heap_bytes(&self) -> usize {
        self.all.capacity() * size_of::<Took>() + ALLOCATION
    }
}
