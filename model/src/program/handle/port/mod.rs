//! The transport of simulated programs: one port for each start of a program's process.
//!
//! A host delivers inputs on one side and takes outputs; the program's handle is the other side. A port is never
//! reopened: a process that starts again gets a new port. What remains of the old process (a future that is dropped
//! late, a clone of the handle) uses a closed port, which emits nothing and answers nothing.
//!
//! A call's slot ([`CallId`]) becomes free as soon as its answer is delivered, which can be before the program has
//! read it. So there are two tables: slots, and cells that keep an answer until it is taken.
//!
//! A watch has a slot of its own, which becomes pending if the reply registers the watch and free otherwise. The slot
//! of a one-shot watch becomes free with its event. The slot of a persistent watch (`addWatch`) becomes free only
//! when the watch ends, with PersistentWatchRemoved or because the session ended: its events are [`Input::Event`]s
//! and its end is an [`Input::Reply`], so the kind of input alone tells a host whether a slot is free. The events
//! wait in the cell until the program takes them, all before the end. Untaken events are part of the program's
//! pending calls ([`Pending::Events`]), so the explorer distinguishes states that differ in them.
//!
//! Paths are whole everywhere except between a program and its client machine, which adds and removes the chroot.

mod state;

pub use state::Pending;

use super::answer::stays;
use super::run_queue::{RunQueue, lock};
use super::transport::{BoxFuture, Subscription, Ticket, Transport, Unseen};
use crate::program::host::{Input, Operation, Outcome, Output};
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{CallId, ClientId, SessionId};
use crate::vocabulary::observation::Observed;
use crate::vocabulary::op::{Request, SessionChange, WatchedEvent};
use state::{Awaits, Cell, PortState, Subscriber, WatchSlot, Woken};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// The interface between a host and one start of a program.
pub struct Port {
    client: ClientId,
    queue: Arc<RunQueue>,
    state: Mutex<PortState>,
}

/// The host's side of a port.
impl Port {
    /// Returns an open port for a program that has not started.
    pub fn new(client: ClientId) -> Arc<Port> {
        Arc::new(Port { client, queue: RunQueue::new(), state: Mutex::new(PortState::new()) })
    }

    /// Delivers an input. Afterwards the executor must run the program until [`Port::is_blocked`]. If the executor is
    /// a future of another runtime, call [`Port::wake_executor`] first.
    ///
    /// # Panics
    /// If the program cannot get this input, which is an error of the world: a reply to a free slot, an answer of a
    /// kind other than the operation's, an event of a watch that is not registered or of a kind other than the
    /// watch's, any input before `Start` or after the program's end.
    pub fn deliver(&self, input: Input) {
        let woken = {
            let mut state = lock(&self.state);
            assert!(state.open, "{}: {input:?} after the program's end", self.client);
            assert!(
                state.started != (input == Input::Start),
                "{}: a program is started once, before anything else, and now gets {input:?}",
                self.client
            );
            match input {
                Input::Start => {
                    state.started = true;
                    Woken::None
                }
                Input::Reply { call, outcome } => Woken::One(state.reply(call, outcome)),
                Input::Session(change) => Woken::Many(state.session(change)),
                Input::Event { call, event } => Woken::One(state.event(call, event)),
            }
        };
        self.queue.open();
        // Wakers are woken without the lock, because they may belong to the program.
        match woken {
            Woken::None => {}
            Woken::One(waker) => waker.into_iter().for_each(Waker::wake),
            Woken::Many(wakers) => wakers.into_iter().for_each(Waker::wake),
        }
    }

    /// Wakes the runtime that polls the executor as a future, if a task is ready. Call it after an input.
    pub fn wake_executor(&self) {
        self.queue.wake_host();
    }

    /// Appends the program's outputs since the last call to `outputs`.
    pub fn take_outputs(&self, outputs: &mut Vec<Output>) {
        outputs.append(&mut lock(&self.state).outputs);
    }

    /// Returns true if the program has run as far as possible with the inputs delivered so far.
    pub fn is_blocked(&self) -> bool {
        self.queue.is_blocked()
    }

    /// Returns true if the program can still emit outputs.
    pub fn is_open(&self) -> bool {
        lock(&self.state).open
    }

    /// Returns true if the executor of this port was dropped, and with it all futures of the program.
    pub fn is_gone(&self) -> bool {
        self.queue.is_gone()
    }

    /// Returns true if the program was ever woken by something other than its handle, such as a channel shared with
    /// another program or a timer of another runtime. Its runs are then not a function of its inputs, so the explorer
    /// and recorded cases must refuse it.
    pub fn is_foreign(&self) -> bool {
        self.queue.is_foreign()
    }

    /// Returns the program's pending calls, by slot.
    pub fn pending(&self) -> Vec<(CallId, Pending)> {
        let state = lock(&self.state);
        let cells = state.slots.iter().flatten().map(|ticket| &state.cells[ticket.0 as usize]);
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

    /// Returns, by slot, the parts of pending replies and events that the program does not observe. Slots whose
    /// answers it observes completely are left out.
    pub fn unseen(&self) -> Vec<(CallId, Unseen)> {
        let state = lock(&self.state);
        let cells = state.slots.iter().zip(0..).filter_map(|(ticket, slot)| {
            let unseen = state.cells[(*ticket)?.0 as usize].unseen;
            (unseen != Unseen::Nothing).then_some((CallId(slot), unseen))
        });
        cells.collect()
    }

    /// Returns true if no call, watch, unread answer, subscription or task of the program exists at this moment.
    pub(super) fn is_bare(&self) -> bool {
        let state = lock(&self.state);
        state.free_cells.len() == state.cells.len()
            && state.slots.iter().all(Option::is_none)
            && state.subscribers.is_empty()
            && self.queue.live() == 0
    }

    /// Returns the number of outputs not taken yet.
    pub(super) fn said(&self) -> usize {
        lock(&self.state).outputs.len()
    }

    /// Returns true if the program has subscribed to the session's state.
    pub fn listens(&self) -> bool {
        !lock(&self.state).subscribers.is_empty()
    }

    /// Returns true if a task of the program reads the session ids of changes.
    pub fn listens_for_sessions(&self) -> bool {
        lock(&self.state).subscribers.values().any(|subscriber| subscriber.of_sessions)
    }

    /// Closes the port: from now on the program has no effect.
    pub fn close(&self) {
        self.shut(None);
    }

    pub(super) fn finish(&self, last: Output) {
        self.shut(Some(last));
    }

    pub(super) fn queue(&self) -> &Arc<RunQueue> {
        &self.queue
    }

    /// Closes the port after one last output.
    fn shut(&self, last: Option<Output>) {
        let mut state = lock(&self.state);
        if !state.open {
            return;
        }
        state.open = false;
        state.outputs.extend(last);
        state.slots.clear();
        let cells = std::mem::take(&mut state.cells);
        let subscribers = std::mem::take(&mut state.subscribers);
        // Dropped without the lock, because dropping a waker may drop a future that holds the handle.
        drop(state);
        drop((cells, subscribers));
    }
}

/// The program's side of a port.
impl Transport for Port {
    fn client(&self) -> ClientId {
        self.client
    }

    fn submit(&self, operation: Operation, waker: &Waker) -> Ticket {
        let mut state = lock(&self.state);
        if !state.open {
            return Ticket::DEAD;
        }
        let (call, ticket) = state.begin(|call| Awaits::Answer(call, operation.clone()));
        state.cells[ticket.0 as usize].waker = Some(waker.clone());
        state.outputs.push(Output::Submit { call, operation });
        ticket
    }

    fn submit_watching(
        &self,
        request: Arc<Request>,
        scope: Option<SessionId>,
        waker: &Waker,
    ) -> (Ticket, Ticket) {
        let mut state = lock(&self.state);
        if !state.open {
            return (Ticket::DEAD, Ticket::DEAD);
        }
        // The reply's slot is the lower one, and needs the number of the other.
        let watched = WatchSlot { registered: false, stays: stays(&request) };
        let (call, reply) = state.begin(|call| Awaits::Event(call, watched));
        let (watch, event) = state.begin(|watch| Awaits::Event(watch, watched));
        let operation = Operation::Request { request, watch: Some(watch), scope };
        let awaits = Awaits::Answer(call, operation.clone());
        state.cells[reply.0 as usize] =
            Cell { awaits, waker: Some(waker.clone()), ..Cell::default() };
        state.outputs.push(Output::Submit { call, operation });
        (reply, event)
    }

    fn keep_back(&self, ticket: Ticket, unseen: Unseen) {
        let mut state = lock(&self.state);
        if state.open {
            state.cells[ticket.0 as usize].unseen = unseen;
        }
    }

    fn poll(&self, ticket: Ticket, waker: &Waker) -> Poll<Outcome> {
        let mut state = lock(&self.state);
        if !state.open {
            return Poll::Pending;
        }
        let cell = &mut state.cells[ticket.0 as usize];
        if let Awaits::Taker(_) = cell.awaits {
            let Cell { awaits: Awaits::Taker(outcome), waker, .. } = state.release(ticket) else {
                unreachable!("the cell has just been looked at")
            };
            drop(state);
            drop(waker);
            return Poll::Ready(outcome);
        }
        let old = remember(&mut cell.waker, waker);
        drop(state);
        drop(old);
        Poll::Pending
    }

    fn poll_events(&self, ticket: Ticket, waker: &Waker) -> Poll<Result<WatchedEvent, Error>> {
        let mut state = lock(&self.state);
        if !state.open {
            return Poll::Pending;
        }
        if let Some(event) = state.cells[ticket.0 as usize].events.pop_front() {
            return Poll::Ready(Ok(event));
        }
        drop(state);
        self.poll(ticket, waker).map(|outcome| match outcome {
            Outcome::Watch(end) => end,
            other => unreachable!("a watch was answered with {other:?}"),
        })
    }

    fn abandon(&self, ticket: Ticket) {
        let mut state = lock(&self.state);
        if !state.open {
            return;
        }
        let cell = state.release(ticket);
        if let Awaits::Answer(call, _) | Awaits::Event(call, _) = cell.awaits {
            state.slots[usize::from(call.0)] = None;
            state.outputs.push(Output::Abandon { call });
        }
        drop(state);
        drop(cell);
    }

    fn subscribe(&self, of_sessions: bool) -> Subscription {
        let mut state = lock(&self.state);
        let subscription = Subscription(state.next_subscription);
        if state.open {
            state.next_subscription += 1;
            let subscriber = Subscriber { of_sessions, ..Subscriber::default() };
            state.subscribers.insert(subscription, subscriber);
        }
        subscription
    }

    fn poll_session(&self, subscription: Subscription, waker: &Waker) -> Poll<SessionChange> {
        let mut state = lock(&self.state);
        let Some(subscriber) = state.subscribers.get_mut(&subscription) else {
            return Poll::Pending;
        };
        if let Some(change) = subscriber.states.pop_front() {
            return Poll::Ready(change);
        }
        let old = remember(&mut subscriber.waker, waker);
        drop(state);
        drop(old);
        Poll::Pending
    }

    fn unsubscribe(&self, subscription: Subscription) {
        let subscriber = lock(&self.state).subscribers.remove(&subscription);
        drop(subscriber);
    }

    fn spawn(&self, future: BoxFuture<()>) {
        self.queue.spawn(future);
    }

    fn observe(&self, observation: Observed) {
        self.say(Output::Observe(observation));
    }

    fn send(&self, to: ClientId, body: Arc<[u8]>) {
        self.say(Output::Send { to, body });
    }
}

impl Port {
    fn say(&self, output: Output) {
        let mut state = lock(&self.state);
        if state.open {
            state.outputs.push(output);
        }
    }
}

/// Stores a waker and returns the one it replaces, for the caller to drop without the lock.
fn remember(place: &mut Option<Waker>, waker: &Waker) -> Option<Waker> {
    match place {
        Some(old) if old.will_wake(waker) => None,
        _ => place.replace(waker.clone()),
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.state);
        f.debug_struct("Port")
            .field("client", &self.client)
            .field("open", &state.open)
            .field("pending", &state.slots.iter().flatten().count())
            .finish_non_exhaustive()
    }
}
