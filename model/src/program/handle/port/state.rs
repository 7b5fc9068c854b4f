//! The state of a port: slots, cells and subscribers.

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
    /// By call slot: the cell that waits for the answer.
    pub(super) slots: Vec<Option<Ticket>>,
    /// Indexed by ticket.
    pub(super) cells: Vec<Cell>,
    pub(super) free_cells: Vec<Ticket>,
    pub(super) subscribers: BTreeMap<Subscription, Subscriber>,
    pub(super) next_subscription: u32,
}

/// What an occupied call slot waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pending {
    /// The answer to this operation.
    Answer(Operation),
    /// The event of a watch.
    Event {
        /// True once the reply has registered the watch.
        registered: bool,
    },
    /// The events of a persistent watch.
    Events {
        /// True once the reply has registered the watch.
        registered: bool,
        /// Events that were delivered and that the program has not read.
        unread: Vec<WatchedEvent>,
    },
}

/// The place of a call's answer until the program takes it.
#[derive(Default)]
pub(super) struct Cell {
    pub(super) awaits: Awaits,
    pub(super) unseen: Unseen,
    /// For a persistent watch, the events that the program has not taken.
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
    /// Nothing, because the reply did not register the watch.
    Nothing,
    /// The program, which is to take this outcome.
    Taker(Outcome),
}

/// The state of a watch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct WatchSlot {
    /// True once the reply has registered it.
    pub(super) registered: bool,
    /// True for a persistent watch.
    pub(super) stays: bool,
}

/// A subscriber to the session's state.
#[derive(Default)]
pub(super) struct Subscriber {
    pub(super) states: VecDeque<SessionChange>,
    /// True if the program reads the session id of each change.
    pub(super) of_sessions: bool,
    pub(super) waker: Option<Waker>,
}

/// The wakers to wake after an input.
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

    /// Records an event of a persistent watch.
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

    /// Handles the reply to a request with a watch: registers the watch, or frees its slot.
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

    /// Takes the lowest free slot and a cell, which is set to the result of `awaits`.
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

    /// Frees a cell and returns its content, for the caller to drop without the lock.
    pub(super) fn release(&mut self, ticket: Ticket) -> Cell {
        self.free_cells.push(ticket);
        std::mem::take(&mut self.cells[ticket.0 as usize])
    }
}
