//! What a port knows of the calls that are under way: slots, cells and subscribers.

use crate::program::handle::answer::{ends, fits, registers};
use crate::program::handle::transport::{Subscription, Ticket, Unseen};
use crate::program::host::{Operation, Outcome, Output};
use crate::vocabulary::id::CallId;
use crate::vocabulary::op::{SessionChange, WatchedEvent};
use std::collections::{BTreeMap, VecDeque};
use std::task::Waker;

/// The state of a port.
pub(super) struct PortState {
    pub(super) open: bool,
    pub(super) started: bool,
    pub(super) outputs: Vec<Output>,
    /// By call slot: the cell that waits for its answer.
    pub(super) slots: Vec<Option<Ticket>>,
    /// By ticket.
    pub(super) cells: Vec<Cell>,
    pub(super) free_cells: Vec<Ticket>,
    pub(super) subscribers: BTreeMap<Subscription, Subscriber>,
    pub(super) next_subscription: u32,
}

/// What a call slot that is not free waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pending {
    /// The answer to this operation.
    Answer(Operation),
    /// The event of a watch.
    Event {
        /// Whether the reply has registered the watch yet.
        registered: bool,
    },
    /// The events of a watch that stays.
    Events {
        /// Whether the reply has registered the watch yet.
        registered: bool,
        /// Those that the program has been told of and has not looked at.
        unread: Vec<WatchedEvent>,
    },
}

/// Where a call's answer is kept until it is taken.
#[derive(Default)]
pub(super) struct Cell {
    pub(super) awaits: Awaits,
    pub(super) unseen: Unseen,
    /// Of a watch that stays: its events that the program has not taken.
    pub(super) events: VecDeque<WatchedEvent>,
    pub(super) waker: Option<Waker>,
}

/// What a cell waits for.
#[derive(Default)]
pub(super) enum Awaits {
    /// Unused.
    #[default]
    Free,
    /// The answer to this operation, in this slot.
    Answer(CallId, Operation),
    /// The event of a watch, in this slot.
    Event(CallId, WatchSlot),
    /// Nothing: the reply did not register the watch.
    Nothing,
    /// The program, to take this.
    Taker(Outcome),
}

/// What is known of a watch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct WatchSlot {
    /// The reply has registered it.
    pub(super) registered: bool,
    /// It stays when it fires.
    pub(super) stays: bool,
}

/// Who listens to the session's states.
#[derive(Default)]
pub(super) struct Subscriber {
    pub(super) states: VecDeque<SessionChange>,
    /// The program asks for the session of each change.
    pub(super) of_sessions: bool,
    pub(super) waker: Option<Waker>,
}

/// Who is to be woken after an input.
pub(super) enum Woken {
    None,
    One(Option<Waker>),
    Many(Vec<Waker>),
}

impl PortState {
    pub(super) fn new() -> PortState {
        PortState {
            open: true,
            started: false,
            outputs: Vec::new(),
            slots: Vec::new(),
            cells: Vec::new(),
            free_cells: Vec::new(),
            subscribers: BTreeMap::new(),
            next_subscription: 0,
        }
    }

    pub(super) fn reply(&mut self, call: CallId, outcome: Outcome) -> Option<Waker> {
        let slot = self.slots.get_mut(usize::from(call.0)).and_then(Option::take);
        let ticket =
            slot.unwrap_or_else(|| panic!("a reply to the free slot {call:?}: {outcome:?}"));
        let cell = &mut self.cells[ticket.0 as usize];
        let answered = std::mem::replace(&mut cell.awaits, Awaits::Nothing);
        let waker = cell.waker.take();
        match answered {
            Awaits::Answer(_, operation) => {
                assert!(fits(&operation, &outcome), "{operation:?} was answered with {outcome:?}");
                if let Operation::Request { request, watch: Some(watch), .. } = &operation {
                    self.settle_watch(*watch, registers(request, &outcome));
                }
            }
            Awaits::Event(_, WatchSlot { registered, stays }) => assert!(
                registered && ends(stays, &outcome),
                "a watch that awaits its event (registered: {registered}, stays: {stays}) got \
                 {outcome:?}"
            ),
            Awaits::Free | Awaits::Nothing | Awaits::Taker(_) => {
                unreachable!("a slot belongs to a cell that awaits")
            }
        }
        self.cells[ticket.0 as usize].awaits = Awaits::Taker(outcome);
        waker
    }

    /// A watch that stays has fired.
    pub(super) fn event(&mut self, call: CallId, event: WatchedEvent) -> Option<Waker> {
        let slot = self.slots.get(usize::from(call.0)).copied().flatten();
        let ticket =
            slot.unwrap_or_else(|| panic!("an event on the free slot {call:?}: {event:?}"));
        let cell = &mut self.cells[ticket.0 as usize];
        let expected = WatchSlot { registered: true, stays: true };
        assert!(
            matches!(cell.awaits, Awaits::Event(_, watch) if watch == expected),
            "slot {call:?} is not that of a watch that stays, and got {event:?}"
        );
        cell.events.push_back(event);
        cell.waker.take()
    }

    /// The reply to a request with a watch is there: the watch is registered, or its slot is free.
    fn settle_watch(&mut self, watch: CallId, registered: bool) {
        let slot = &mut self.slots[usize::from(watch.0)];
        let ticket = slot.expect("a watch lives at least as long as its request");
        let cell = &mut self.cells[ticket.0 as usize];
        match &mut cell.awaits {
            Awaits::Event(its, watched) if *its == watch && !watched.registered => {
                watched.registered = registered;
            }
            _ => unreachable!("a watch is settled once"),
        }
        if !registered {
            cell.awaits = Awaits::Nothing;
            *slot = None;
        }
    }

    pub(super) fn session(&mut self, change: SessionChange) -> Vec<Waker> {
        self.subscribers
            .values_mut()
            .filter_map(|subscriber| {
                subscriber.states.push_back(change);
                subscriber.waker.take()
            })
            .collect()
    }

    /// Takes the lowest free slot and a cell for what `awaits` makes of it.
    pub(super) fn begin(&mut self, awaits: impl FnOnce(CallId) -> Awaits) -> (CallId, Ticket) {
        let ticket = self.free_cells.pop().unwrap_or_else(|| {
            self.cells.push(Cell::default());
            Ticket(u32::try_from(self.cells.len() - 1).expect("fewer than 2^32 calls at once"))
        });
        let at = self.slots.iter().position(Option::is_none).unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[at] = Some(ticket);
        let call = CallId(u16::try_from(at).expect("at most 65,536 calls at once"));
        self.cells[ticket.0 as usize].awaits = awaits(call);
        (call, ticket)
    }

    /// Makes a cell free for the next call; what it held is for the caller to drop, unlocked.
    pub(super) fn release(&mut self, ticket: Ticket) -> Cell {
        self.free_cells.push(ticket);
        std::mem::take(&mut self.cells[ticket.0 as usize])
    }
}
