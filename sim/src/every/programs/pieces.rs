//! The pieces of states and the tables for them.
//!
//! A state has one piece for each client and two pieces that all clients share. Distinct pieces are far fewer than
//! states, so each piece is stored once and a state is a few numbers. What a client can do in a state depends only on
//! its own piece and on the part of the shared piece that its steps read (`footprint.rs`), so it is computed once
//! (`steps.rs`) and then looked up; what monitors make of a step's events is looked up separately (`witness.rs`).

use super::Budget;
use crate::budget::Account;
use crate::every::intern::{Fold, Number, Weighed};
use crate::every::trie::NodeId;
use hashbrown::HashSet;
use std::hash::BuildHasherDefault;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::history::History;
use vivarium_model::id::SessionId;
use vivarium_model::property::{Monitors, Objection};
use vivarium_model::service::{Common, Floor, OwnSessions, Reads, Share};
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
    /// The earliest part of the log that the client can still observe.
    pub(super) floor: Floor,
    /// How much of the shared piece the client's steps read.
    pub(super) reads: Reads,
    /// The number of its [`Listener`].
    pub(super) listener: Number,
    /// A number that most of its steps raise, see `progress.rs`.
    pub(super) progress: i128,
}

/// The piece of a client that stands for all of those whose server notifies them of the same transactions.
pub(super) struct Listener(pub(super) Share);

/// The shared piece, without the monitors.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) common: Common,
    pub(super) history: Arc<History>,
    /// The fingerprint of everything except the log.
    pub(super) rest: Fingerprint,
    /// The fingerprint of everything.
    pub(super) whole: Fingerprint,
    /// The sessions of each client.
    pub(super) sessions: Box<[OwnSessions]>,
    /// The fingerprint of the tree, all that a monitor can see that looks only at the tip of the history.
    pub(super) tip: Fingerprint,
    /// Whether the leader can delete a container or a TTL znode.
    pub(super) has_reaped: bool,
    /// A number that transactions raise, see `progress.rs`.
    pub(super) progress: i128,
}

impl Shared {
    /// Returns the key of this piece.
    pub(super) fn key(&self) -> u128 {
        self.whole.0
    }

    /// Returns the fingerprint of everything except the log below a zxid.
    pub(super) fn above(&self, floor: Zxid) -> Fingerprint {
        if floor == Zxid::ZERO {
            return self.whole;
        }
        let mut above = self.common.log(floor);
        above.add(self.rest);
        above
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
    /// Returns the transition of no step to a place.
    pub(super) fn to(place: Place) -> Transition {
        let Place { client, shared, witnesses, left } = place;
        let (all, objection, length) = (None, None, 0);
        Transition { client, all, shared, witnesses, length, left, objection }
    }

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

/// One step that a client can take, without what monitors make of it: a function of the client's piece, the footprint,
/// and the kinds of faults that are left.
#[derive(Clone, Debug)]
pub(super) struct OwnStep {
    pub(super) step: Step,
    /// Whether the step can as well be taken at any later moment, as far as ZooKeeper and the programs are concerned,
    /// see `steps.rs`.
    pub(super) private: bool,
    pub(super) at_once: AtOnce,
    /// The account that pays for the step.
    pub(super) account: Option<Account>,
    /// The new piece of the client that acts.
    pub(super) client: Number,
    /// All clients' pieces, if the step changes other clients too (programs send each other messages).
    pub(super) all: Option<Arc<[Number]>>,
    pub(super) shared: Change,
    /// The events of the step, if there are any.
    pub(super) events: Option<Number>,
    /// An objection that is not a monitor's.
    pub(super) objection: Option<Arc<Objection>>,
}

impl OwnStep {
    /// Returns the entry of a step whose result is kept separately.
    pub(super) fn deferred(step: Step, account: Option<Account>, client: Number) -> OwnStep {
        OwnStep {
            step,
            private: false,
            at_once: AtOnce::No,
            account,
            client,
            all: None,
            shared: Change::Deferred,
            events: None,
            objection: None,
        }
    }
}

/// Whether a step is the only one that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtOnce {
    No,
    /// If it is private and concerns no monitor.
    IfUnheard,
    /// If it is private.
    IfPrivate,
}

/// What a step does to the shared piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Nothing,
    /// A live session of the client expires. The client reads no more than whether it is alive.
    Expiry(SessionId),
    To(Number),
    /// What the step does depends on the whole shared piece, so its result is a separate entry. Except for the step
    /// itself and its account, the fields of this entry mean nothing.
    Deferred,
}

/// The steps that a client can take, without what monitors make of them.
pub(super) struct OwnSteps {
    /// All steps including faults, except the program's timers that fire only where nothing else can happen.
    pub(super) all: Box<[OwnStep]>,
    /// The steps that occur as time passes, where nothing else can happen.
    pub(super) in_time: Box<[OwnStep]>,
    /// True if only faults are possible.
    pub(super) idle: bool,
    /// True if the client's program sleeps and no timer may end early.
    pub(super) withheld: bool,
    /// True if the program's next input exceeds the bound of inputs.
    pub(super) input_withheld: bool,
    /// True if a step changes another client's piece: then the steps depend on more than their footprint.
    pub(super) depends_on_others: bool,
}

/// What monitors make of the events of a step.
pub(super) struct Witnessed {
    /// The piece of the monitors afterwards.
    pub(super) to: Number,
    /// Whether no monitor minds when these events happen.
    pub(super) invisible: bool,
    /// Whether the events concern no monitor.
    pub(super) unheard: bool,
    pub(super) objection: Option<Arc<Objection>>,
}

/// The events of a step.
pub(super) struct Events {
    pub(super) events: Box<[Event]>,
    /// Whether a monitor that such an event can concern looks at the tip of the history, or at all of it.
    pub(super) looks: vivarium_model::property::LooksBack,
}

/// One step that a client can take at a place.
#[derive(Clone)]
pub(super) struct Took {
    pub(super) step: Step,
    /// Whether the step can as well be taken at any later moment, see `steps.rs`.
    pub(super) private: bool,
    /// Whether the step concerns no monitor.
    pub(super) unheard: bool,
    pub(super) to: Transition,
}

/// The actions of a client in a state.
#[derive(Default)]
pub(super) struct Choices {
    /// Single steps, or blocks of steps.
    pub(super) blocks: Vec<Transition>,
    /// True if only faults are possible.
    pub(super) idle: bool,
    /// True if the client's program sleeps at a place of its blocks and no timer may end early. Something is withheld
    /// then if another client can take a step that is no fault.
    pub(super) withheld: bool,
    /// True if something is withheld regardless of other clients: at such a place, the client itself has another step.
    pub(super) withheld_while_busy: bool,
    /// True if, at a place of the client's blocks, the program's next input exceeds the bound of inputs.
    pub(super) input_withheld: bool,
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

impl Weighed for Listener {
    fn heap_bytes(&self) -> usize {
        0
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

impl Weighed for OwnSteps {
    fn heap_bytes(&self) -> usize {
        (self.all.len() + self.in_time.len()) * size_of::<OwnStep>() + ALLOCATION
    }
}

impl Weighed for OwnStep {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl Weighed for Events {
    fn heap_bytes(&self) -> usize {
        self.events.len() * size_of::<Event>() + ALLOCATION
    }
}

impl Weighed for Witnessed {
    fn heap_bytes(&self) -> usize {
        0
    }
}
