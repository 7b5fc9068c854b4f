//! A program's calls: their slots, and the cells that keep an answer until the program takes it.
//!
//! A call's slot ([`CallId`]) becomes free as soon as its answer is delivered, which can be before the program has
//! read it. So there are two tables: slots, and cells that keep an answer until it is taken.
//!
//! A watch has a slot of its own, which becomes pending if the reply registers the watch and free otherwise. The slot
//! of a one-shot watch becomes free with its event. The slot of a persistent watch (`addWatch`) becomes free only
//! when the watch ends, with PersistentWatchRemoved or because the session ended: its events are
//! [`Input::Event`](crate::program::host::Input::Event)s and its end is an
//! [`Input::Reply`](crate::program::host::Input::Reply), so the kind of input alone tells a host whether a slot is
//! free. The events wait in the cell until the program takes them, all before the end.
//!
//! The table wakes and drops nothing by itself. Wakers may belong to the program, and dropping one may drop a future
//! that holds the handle, so the owner wakes and drops what it gets from here without its lock.

use super::answer::{ends, fits, registers, stays};
use super::transport::{Subscription, Ticket, Unseen};
use crate::program::host::{Operation, Outcome};
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{CallId, SessionId};
use crate::vocabulary::op::{Request, SessionChange, WatchedEvent};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::task::{Poll, Waker};

/// The calls of one program. See the [module](self).
#[derive(Default)]
pub struct Calls {
    /// By call slot: the cell that waits for the answer.
    slots: Vec<Option<Ticket>>,
    free_slots: BinaryHeap<Reverse<u32>>,
    /// Indexed by ticket.
    cells: Vec<Cell>,
    free_cells: Vec<Ticket>,
    subscribers: BTreeMap<Subscription, Subscriber>,
    next_subscription: u32,
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
pub struct Cell {
    awaits: Awaits,
    unseen: Unseen,
    /// For a persistent watch, the events that the program has not taken.
    events: VecDeque<WatchedEvent>,
    waker: Option<Waker>,
}

/// What a cell waits for.
#[derive(Default)]
enum Awaits {
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
struct WatchSlot {
    /// True once the reply has registered it.
    registered: bool,
    /// True for a persistent watch.
    stays: bool,
}

/// A subscriber to the session's state.
#[derive(Default)]
struct Subscriber {
    states: VecDeque<SessionChange>,
    /// True if the program reads the session id of each change.
    of_sessions: bool,
    waker: Option<Waker>,
}

/// The two calls of a request that asks for a watch.
pub struct Watching {
    /// The call of the reply.
    pub call: CallId,
    /// The operation, which names the call of the watch.
    pub operation: Operation,
    /// The ticket of the reply.
    pub reply: Ticket,
    /// The ticket of the watch.
    pub event: Ticket,
}

/// What a cell held, for the owner to drop without its lock.
#[must_use = "it is dropped without the lock"]
pub struct Discarded(#[allow(dead_code, reason = "only dropped")] Vec<Cell>);

/// Beginning and ending calls.
impl Calls {
    /// Begins a call; `waker` is woken by its answer.
    pub fn begin(&mut self, operation: Operation, waker: &Waker) -> (CallId, Ticket) {
        let (call, ticket) = self.occupy();
        *self.cell(ticket) = Cell {
            awaits: Awaits::Answer(call, operation),
            waker: Some(waker.clone()),
            ..Cell::default()
        };
        (call, ticket)
    }

    /// Begins a request that asks for a watch; `waker` is woken by the reply.
    pub fn begin_watching(
        &mut self,
        request: Arc<Request>,
        scope: Option<SessionId>,
        waker: &Waker,
    ) -> Watching {
        // The reply's slot is the lower one, and needs the number of the other.
        let watched = WatchSlot { registered: false, stays: stays(&request) };
        let (call, reply) = self.occupy();
        let (watch, event) = self.occupy();
        self.cell(event).awaits = Awaits::Event(watch, watched);
        let operation = Operation::Request { request, watch: Some(watch), scope };
        *self.cell(reply) = Cell {
            awaits: Awaits::Answer(call, operation.clone()),
            waker: Some(waker.clone()),
            ..Cell::default()
        };
        Watching { call, operation, reply, event }
    }

    /// Records the parts of an answer that the program does not observe.
    pub fn keep_back(&mut self, ticket: Ticket, unseen: Unseen) {
        self.cell(ticket).unseen = unseen;
    }

    /// Frees the cell of an answer that the program no longer wants. If the answer had not arrived, its slot is free
    /// as well, and is returned: whoever would answer must forget it.
    pub fn abandon(&mut self, ticket: Ticket) -> (Option<CallId>, Discarded) {
        let cell = self.release(ticket);
        let mut abandoned = None;
        if let Awaits::Answer(call, _) | Awaits::Event(call, _) = cell.awaits {
            self.free_slot(call);
            abandoned = Some(call);
        }
        (abandoned, Discarded(vec![cell]))
    }

    /// Empties the table.
    pub fn clear(&mut self) -> impl Sized + use<> {
        std::mem::take(self)
    }

    /// Takes the lowest free slot and a free cell.
    fn occupy(&mut self) -> (CallId, Ticket) {
        let ticket = self.free_cells.pop().unwrap_or_else(|| {
            self.cells.push(Cell::default());
            Ticket(u32::try_from(self.cells.len() - 1).expect("fewer than 2^32 calls at once"))
        });
        let at = match self.free_slots.pop() {
            Some(Reverse(at)) => at,
            None => {
                self.slots.push(None);
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 calls at once")
            }
        };
        self.slots[at as usize] = Some(ticket);
        (CallId(at), ticket)
    }

    fn free_slot(&mut self, call: CallId) -> Option<Ticket> {
        let ticket = self.slots.get_mut(call.0 as usize).and_then(Option::take)?;
        self.free_slots.push(Reverse(call.0));
        Some(ticket)
    }

    /// Frees a cell and returns its content.
    fn release(&mut self, ticket: Ticket) -> Cell {
        self.free_cells.push(ticket);
        std::mem::take(self.cell(ticket))
    }

    fn cell(&mut self, ticket: Ticket) -> &mut Cell {
        &mut self.cells[ticket.0 as usize]
    }
}

/// Delivering inputs. Each returns the wakers to wake.
///
/// # Panics
/// If the program cannot get this input, see [`Port::deliver`](super::port::Port::deliver).
impl Calls {
    /// Records the answer of a call.
    pub fn reply(&mut self, call: CallId, outcome: Outcome) -> Option<Waker> {
        let ticket = self.free_slot(call);
        let ticket =
            ticket.unwrap_or_else(|| panic!("a reply to the free slot {call:?}: {outcome:?}"));
        let cell = self.cell(ticket);
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
        self.cell(ticket).awaits = Awaits::Taker(outcome);
        waker
    }

    /// Records an event of a persistent watch.
    pub fn event(&mut self, call: CallId, event: WatchedEvent) -> Option<Waker> {
        let ticket = self.ticket(call);
        let ticket =
            ticket.unwrap_or_else(|| panic!("an event on the free slot {call:?}: {event:?}"));
        let cell = self.cell(ticket);
        let expected = WatchSlot { registered: true, stays: true };
        assert!(
            matches!(cell.awaits, Awaits::Event(_, watch) if watch == expected),
            "slot {call:?} is not that of a watch that stays, and got {event:?}"
        );
        cell.events.push_back(event);
        cell.waker.take()
    }

    /// Records a change of the session for each subscriber.
    pub fn session(&mut self, change: SessionChange) -> Vec<Waker> {
        self.subscribers
            .values_mut()
            .filter_map(|subscriber| {
                subscriber.states.push_back(change);
                subscriber.waker.take()
            })
            .collect()
    }

    /// Handles the reply to a request with a watch: registers the watch, or frees its slot.
    fn settle_watch(&mut self, watch: CallId, registered: bool) {
        let ticket = self.ticket(watch).expect("a watch lives at least as long as its request");
        let cell = self.cell(ticket);
        match &mut cell.awaits {
            Awaits::Event(its, watched) if *its == watch && !watched.registered => {
                watched.registered = registered;
            }
            _ => unreachable!("a watch is settled once"),
        }
        if !registered {
            cell.awaits = Awaits::Nothing;
            self.free_slot(watch);
        }
    }
}

/// Taking answers. A poll that is pending returns the waker that it has replaced, for the owner to drop.
impl Calls {
    /// Takes a call's answer, or stores the waker that it will wake.
    pub fn poll(&mut self, ticket: Ticket, waker: &Waker) -> (Poll<Outcome>, Option<Waker>) {
        let cell = self.cell(ticket);
        if let Awaits::Taker(_) = cell.awaits {
            let Cell { awaits: Awaits::Taker(outcome), waker, .. } = self.release(ticket) else {
                unreachable!("the cell has just been looked at")
            };
            return (Poll::Ready(outcome), waker);
        }
        (Poll::Pending, remember(&mut cell.waker, waker))
    }

    /// Takes the next event of a watch that stays, or its end, or stores the waker that it will wake.
    pub fn poll_events(
        &mut self,
        ticket: Ticket,
        waker: &Waker,
    ) -> (Poll<Result<WatchedEvent, Error>>, Option<Waker>) {
        if let Some(event) = self.cell(ticket).events.pop_front() {
            return (Poll::Ready(Ok(event)), None);
        }
        let (polled, old) = self.poll(ticket, waker);
        let polled = polled.map(|outcome| match outcome {
            Outcome::Watch(end) => end,
            other => unreachable!("a watch was answered with {other:?}"),
        });
        (polled, old)
    }

    /// Begins a subscription to the session's state; `of_sessions` if the program reads the session of each change.
    pub fn subscribe(&mut self, of_sessions: bool) -> Subscription {
        let subscription = Subscription(self.next_subscription);
        self.next_subscription += 1;
        self.subscribers.insert(subscription, Subscriber { of_sessions, ..Subscriber::default() });
        subscription
    }

    /// Takes a subscriber's next change, or stores the waker that it will wake.
    pub fn poll_session(
        &mut self,
        subscription: Subscription,
        waker: &Waker,
    ) -> (Poll<SessionChange>, Option<Waker>) {
        let Some(subscriber) = self.subscribers.get_mut(&subscription) else {
            return (Poll::Pending, None);
        };
        match subscriber.states.pop_front() {
            Some(change) => (Poll::Ready(change), None),
            None => (Poll::Pending, remember(&mut subscriber.waker, waker)),
        }
    }

    /// Ends a subscription, and returns its waker for the owner to drop.
    pub fn unsubscribe(&mut self, subscription: Subscription) -> Option<Waker> {
        self.subscribers.remove(&subscription).and_then(|subscriber| subscriber.waker)
    }
}

/// What the table holds.
impl Calls {
    /// Returns the cell of a pending call; `None` if its slot is free.
    pub fn ticket(&self, call: CallId) -> Option<Ticket> {
        self.slots.get(call.0 as usize).copied().flatten()
    }

    /// Returns true if a cell is unused: its last answer was taken.
    pub fn is_free(&self, ticket: Ticket) -> bool {
        matches!(self.cells[ticket.0 as usize].awaits, Awaits::Free)
    }

    /// Returns the pending calls, by slot.
    pub fn pending(&self) -> Vec<(CallId, Pending)> {
        let cells = self.slots.iter().flatten().map(|ticket| &self.cells[ticket.0 as usize]);
        cells
            .map(|cell| match &cell.awaits {
                Awaits::Answer(call, operation) => (*call, Pending::Answer(operation.clone())),
                Awaits::Event(call, WatchSlot { registered, stays: false }) => {
                    (*call, Pending::Event { registered: *registered })
                }
                Awaits::Event(call, WatchSlot { registered, stays: true }) => {
                    let unread = cell.events.iter().cloned().collect();
                    (*call, Pending::Events { registered: *registered, unread })
                }
                Awaits::Free | Awaits::Nothing | Awaits::Taker(_) => {
                    unreachable!("a slot belongs to a cell that awaits")
                }
            })
            .collect()
    }

    /// Returns, by slot, the parts of pending answers that the program does not observe. Slots whose answers it
    /// observes completely are left out.
    pub fn unseen(&self) -> Vec<(CallId, Unseen)> {
        let cells = self.slots.iter().zip(0..).filter_map(|(ticket, slot)| {
            let unseen = self.cells[(*ticket)?.0 as usize].unseen;
            (unseen != Unseen::Nothing).then_some((CallId(slot), unseen))
        });
        cells.collect()
    }

    /// Returns the number of pending calls.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free_slots.len()
    }

    /// Returns true if there is no call, watch, unread answer or subscription.
    pub fn is_empty(&self) -> bool {
        self.free_cells.len() == self.cells.len() && self.len() == 0 && self.subscribers.is_empty()
    }

    /// Returns the subscriptions.
    pub fn subscriptions(&self) -> impl Iterator<Item = Subscription> + '_ {
        self.subscribers.keys().copied()
    }

    /// Returns true if a task of the program reads the session ids of changes.
    pub fn listens_for_sessions(&self) -> bool {
        self.subscribers.values().any(|subscriber| subscriber.of_sessions)
    }
}

/// Stores a waker and returns the one it replaces.
fn remember(place: &mut Option<Waker>, waker: &Waker) -> Option<Waker> {
    match place {
        Some(old) if old.will_wake(waker) => None,
        _ => place.replace(waker.clone()),
    }
}
