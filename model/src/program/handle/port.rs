//! The transport of simulated programs: one port for each life of a program's process.
//!
//! A host delivers inputs at one side and takes outputs; the program's handle is the other side. A
//! port is never reopened. A process that starts again gets a new port, so what is left of the old
//! one (a future that is dropped late, a clone of the handle that somebody kept) talks to a closed
//! port, which says nothing and answers nothing.
//!
//! A call's slot ([`CallId`]) is free again as soon as its answer is delivered, which may be before
//! the program has looked at it. Hence two tables: slots, and cells that keep an answer until it is
//! taken.
//!
//! The slot of a watch that stays is free only when the watch has ended. Its events gather in the
//! cell until the program takes them, and they are taken before the end is.

use super::answer::{ends, fits, registers, stays};
use super::run_queue::{RunQueue, lock};
use super::transport::{BoxFuture, Subscription, Ticket, Transport, Unseen};
use crate::program::host::{Input, Operation, Outcome, Output};
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{CallId, ClientId, SessionId};
use crate::vocabulary::observation::Observed;
use crate::vocabulary::op::{Request, SessionState, WatchedEvent};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// Between a host and one life of a program.
pub struct Port {
    client: ClientId,
    queue: Arc<RunQueue>,
    state: Mutex<PortState>,
}

struct PortState {
    open: bool,
    started: bool,
    outputs: Vec<Output>,
    /// By call slot: the cell that waits for its answer.
    slots: Vec<Option<Ticket>>,
    /// By ticket.
    cells: Vec<Cell>,
    free_cells: Vec<Ticket>,
    subscribers: BTreeMap<Subscription, Subscriber>,
    next_subscription: u32,
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
struct Cell {
    awaits: Awaits,
    unseen: Unseen,
    /// Of a watch that stays: its events that the program has not taken.
    events: VecDeque<WatchedEvent>,
    waker: Option<Waker>,
}

#[derive(Default)]
enum Awaits {
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
struct WatchSlot {
    /// The reply has registered it.
    registered: bool,
    /// It stays when it fires.
    stays: bool,
}

#[derive(Default)]
struct Subscriber {
    states: VecDeque<SessionState>,
    waker: Option<Waker>,
}

/// The host's side.
impl Port {
    /// An open port of a program that has not started.
    pub fn new(client: ClientId) -> Arc<Port> {
        Arc::new(Port {
            client,
            queue: RunQueue::new(),
            state: Mutex::new(PortState {
                open: true,
                started: false,
                outputs: Vec::new(),
                slots: Vec::new(),
                cells: Vec::new(),
                free_cells: Vec::new(),
                subscribers: BTreeMap::new(),
                next_subscription: 0,
            }),
        })
    }

    /// Delivers an input. The program is then to be run by its executor, until
    /// [`Port::is_blocked`]; where that is a future of another runtime, [`Port::wake_executor`]
    /// comes first.
    ///
    /// # Panics
    /// If a program could not get this input, which is a mistake of the world: a reply to a free
    /// slot, an answer of another kind than the operation's, an event of a watch that is not
    /// registered, a second kind of event on the slot of a watch, anything before `Start`, anything after the program's end.
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
        // Wakers are woken without the lock: they may be the program's own.
        match woken {
            Woken::None => {}
            Woken::One(waker) => waker.into_iter().for_each(Waker::wake),
            Woken::Many(wakers) => wakers.into_iter().for_each(Waker::wake),
        }
    }

    /// After an input: wakes whoever polls the executor as a future, if there is anything to run.
    pub fn wake_executor(&self) {
        self.queue.wake_host();
    }

    /// Moves what the program has done since the last time to the end of `outputs`.
    pub fn take_outputs(&self, outputs: &mut Vec<Output>) {
        outputs.append(&mut lock(&self.state).outputs);
    }

    /// Whether the program has run as far as it can with the inputs delivered so far.
    pub fn is_blocked(&self) -> bool {
        self.queue.is_blocked()
    }

    /// Whether the program can still say something.
    pub fn is_open(&self) -> bool {
        lock(&self.state).open
    }

    /// Whether the executor behind this port is dropped, and with it all futures of the program.
    pub fn is_gone(&self) -> bool {
        self.queue.is_gone()
    }

    /// Whether the program was ever woken by something else than its handle: a channel shared with
    /// another program, another runtime's timer. Its runs are then no function of its inputs, and
    /// neither the explorer nor a recorded case can have it.
    pub fn is_foreign(&self) -> bool {
        self.queue.is_foreign()
    }

    /// What the program waits for, by call slot.
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

    /// Parts of the replies and events it waits for that the program does not observe, by slot; slots
    /// whose answer it sees whole are left out.
    pub fn unseen(&self) -> Vec<(CallId, Unseen)> {
        let state = lock(&self.state);
        let cells = state.slots.iter().zip(0..).filter_map(|(ticket, slot)| {
            let unseen = state.cells[(*ticket)?.0 as usize].unseen;
            (unseen != Unseen::Nothing).then_some((CallId(slot), unseen))
        });
        cells.collect()
    }

    /// Whether nothing of the program reaches from before this moment beyond it: no call, no watch, no
    /// answer that was not looked at, no subscription and no task.
    pub(super) fn is_bare(&self) -> bool {
        let state = lock(&self.state);
        state.free_cells.len() == state.cells.len()
            && state.slots.iter().all(Option::is_none)
            && state.subscribers.is_empty()
            && self.queue.live() == 0
    }

    /// How much the program has done that nobody has taken yet.
    pub(super) fn said(&self) -> usize {
        lock(&self.state).outputs.len()
    }

    /// Whether anybody in the program would hear of a change of the session's state.
    pub fn listens(&self) -> bool {
        !lock(&self.state).subscribers.is_empty()
    }

    /// Silences the program: from now on nothing that it does has an effect.
    pub fn close(&self) {
        self.shut(None);
    }

    pub(super) fn finish(&self, last: Output) {
        self.shut(Some(last));
    }

    pub(super) fn queue(&self) -> &Arc<RunQueue> {
        &self.queue
    }

    /// Closes after one last output.
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
        // Not under the lock: to drop a waker may be to drop a future that holds the handle.
        drop(state);
        drop((cells, subscribers));
    }
}

enum Woken {
    None,
    One(Option<Waker>),
    Many(Vec<Waker>),
}

impl PortState {
    fn reply(&mut self, call: CallId, outcome: Outcome) -> Option<Waker> {
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
    fn event(&mut self, call: CallId, event: WatchedEvent) -> Option<Waker> {
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

    fn session(&mut self, change: SessionState) -> Vec<Waker> {
        self.subscribers
            .values_mut()
            .filter_map(|subscriber| {
                subscriber.states.push_back(change);
                subscriber.waker.take()
            })
            .collect()
    }

    /// Takes the lowest free slot and a cell for what `awaits` makes of it.
    fn begin(&mut self, awaits: impl FnOnce(CallId) -> Awaits) -> (CallId, Ticket) {
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
    fn release(&mut self, ticket: Ticket) -> Cell {
        self.free_cells.push(ticket);
        std::mem::take(&mut self.cells[ticket.0 as usize])
    }
}

/// The program's side.
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
        // The reply's slot is the lower one; it needs the other's number.
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

    fn subscribe(&self) -> Subscription {
        let mut state = lock(&self.state);
        let subscription = Subscription(state.next_subscription);
        if state.open {
            state.next_subscription += 1;
            state.subscribers.insert(subscription, Subscriber::default());
        }
        subscription
    }

    fn poll_session(&self, subscription: Subscription, waker: &Waker) -> Poll<SessionState> {
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

/// Puts a waker in its place; the one that it displaces is for the caller to drop, unlocked.
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
