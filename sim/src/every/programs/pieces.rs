//! The pieces of states and the tables for them.
//!
//! A state has one piece for each client and two pieces that all clients share. Distinct pieces are far fewer than
//! states, so each piece is stored once and a state is a few numbers. What a client can do in a state depends only on
//! its own piece and the shared pieces, so it is computed once and then looked up.

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

/// The piece of one client.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) share: Share,
    /// The node of its program.
    pub(super) place: Option<NodeId>,
    pub(super) fingerprint: Fingerprint,
    pub(super) has_finished: bool,
}

/// The shared piece, without the monitors.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) common: Common,
    pub(super) history: Arc<History>,
    /// The fingerprint of everything except the log.
    pub(super) rest: Fingerprint,
}

impl Shared {
    /// Returns the key of this piece.
    pub(super) fn key(&self) -> u128 {
        let mut key = self.common.log(Zxid::ZERO);
        key.add(self.rest);
        key.0
    }
}

/// The piece of the monitors.
#[derive(Clone)]
pub(super) struct WitnessPiece {
    pub(super) monitors: Monitors,
    pub(super) fingerprint: Fingerprint,
}

/// The result of a client's step, or of a block: the new pieces.
#[derive(Clone)]
pub(super) struct Transition {
    /// The new piece of the client that acts.
    pub(super) client: Number,
    /// All clients' pieces, if the step changes other clients too (programs send each other messages).
    pub(super) all: Option<Arc<[Number]>>,
    pub(super) shared: Number,
    pub(super) witnesses: Number,
    /// The number of steps.
    pub(super) length: u32,
    /// The rest of the budget.
    pub(super) left: Budget,
    pub(super) objection: Option<Arc<Objection>>,
}

impl Transition {
    /// Returns the place that the transition leads to, for the client that acts.
    pub(super) fn place(&self) -> Place {
        let Transition { client, shared, witnesses, left, .. } = *self;
        Place { client, shared, witnesses, left }
    }
}

/// Everything that decides what a client can do: its own piece, the shared pieces, and the budget.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) client: Number,
    pub(super) shared: Number,
    pub(super) witnesses: Number,
    pub(super) left: Budget,
}

impl Place {
    /// Returns the key of the place. The client need not be part of the key, because its piece implies it. The budget's
    /// 36 bits come above three numbers of 29 bits each: a table of 2^29 pieces does not fit into any memory.
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
    /// Whether the step can as well be taken at any later moment, see `steps.rs`.
    pub(super) private: bool,
    /// Whether the step concerns no monitor.
    pub(super) unheard: bool,
    pub(super) to: Transition,
}

/// The steps that a client can take at a place.
pub(super) struct Steps {
    /// All steps including faults, except the program's timers that fire only where nothing else can happen.
    pub(super) all: Vec<Took>,
    /// The index of the step that is taken before any other, if there is one.
    pub(super) at_once: Option<usize>,
    /// True if only faults are possible.
    pub(super) idle: bool,
    /// True if the client's program sleeps and no timer may end early.
    pub(super) withheld: bool,
    /// True if the program's next input exceeds the bound of inputs.
    pub(super) input_withheld: bool,
    /// True if a step changes another client's piece: then the steps depend on more than the place.
    pub(super) depends_on_others: bool,
}

impl Steps {
    /// Returns the steps that a search takes.
    pub(super) fn tried(&self) -> &[Took] {
        match self.at_once {
            Some(at) => &self.all[at..=at],
            None => &self.all,
        }
    }
}

/// The actions of a client in a state.
#[derive(Default)]
pub(super) struct Choices {
    /// Single steps, or blocks of steps.
    pub(super) blocks: Vec<Transition>,
    /// The ends of the program's sleeps, which are possible when nothing else can happen.
    pub(super) sleeps: Vec<Transition>,
    /// True if only faults are possible.
    pub(super) idle: bool,
    /// True if the client's program sleeps at a place of its blocks and no timer may end early. Something is withheld
    /// then if another client can take a step that is no fault.
    pub(super) withheld: bool,
    /// True if something is withheld regardless of other clients: at such a place, the client itself has another step.
    pub(super) withheld_while_busy: bool,
    /// True if, at a place of the client's blocks, the program's next input exceeds the bound of inputs.
    pub(super) input_withheld: bool,
    pub(super) depends_on_others: bool,
}

pub(super) type Keys = HashSet<u128, BuildHasherDefault<Fold>>;

/// Estimated bytes: what a client's machine, its connection and its program's calls hold; what the log and the sessions
/// hold in addition to those before; what the monitors that changed hold; and the overhead of an allocation.
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
