//! The transport of simulated programs: one port for each start of a program's process.
//!
//! A host delivers inputs on one side and takes outputs; the program's handle is the other side. A port is never
//! reopened: a process that starts again gets a new port. What remains of the old process (a future that is dropped
//! late, a clone of the handle) uses a closed port, which emits nothing and answers nothing.
//!
//! Untaken events of a persistent watch are part of the program's pending calls ([`Pending::Events`]), so the explorer
//! distinguishes states that differ in them.
//!
//! Paths are whole everywhere except between a program and its client machine, which adds and removes the chroot.

use super::calls::Calls;
pub use super::calls::Pending;
use super::run_queue::{RunQueue, lock};
use super::transport::{BoxFuture, Subscription, Ticket, Transport, Unseen};
use crate::program::host::{Input, Operation, Outcome, Output};
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{CallId, ClientId, SessionId};
use crate::vocabulary::observation::Observed;
use crate::vocabulary::op::{Request, SessionChange, WatchedEvent};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// The interface between a host and one start of a program.
pub struct Port {
    client: ClientId,
    queue: Arc<RunQueue>,
    state: Mutex<PortState>,
}

struct PortState {
    open: bool,
    started: bool,
    outputs: Vec<Output>,
    calls: Calls,
}

/// The host's side of a port.
impl Port {
    /// Returns an open port for a program that has not started.
    pub fn new(client: ClientId) -> Arc<Port> {
        let state =
            PortState { open: true, started: false, outputs: Vec::new(), calls: Calls::default() };
        Arc::new(Port { client, queue: RunQueue::new(), state: Mutex::new(state) })
    }

    /// Delivers an input. Afterwards the executor must run the program until [`Port::is_blocked`]. If the executor is
    /// a future of another runtime, call [`Port::wake_executor`] first.
    ///
    /// # Panics
    /// If the program cannot get this input, which is an error of the world: a reply to a free slot, an answer of a
    /// kind other than the operation's, an event of a watch that is not registered or of a kind other than the
    /// watch's, any input before `Start` or after the program's end.
    pub fn deliver(&self, input: Input) {
        let (one, many) = {
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
                    (None, Vec::new())
                }
                Input::Reply { call, outcome } => (state.calls.reply(call, outcome), Vec::new()),
                Input::Session(change) => (None, state.calls.session(change)),
                Input::Event { call, event } => (state.calls.event(call, event), Vec::new()),
            }
        };
        self.queue.open();
        // Wakers are woken without the lock, because they may belong to the program.
        one.into_iter().chain(many).for_each(Waker::wake);
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
        lock(&self.state).calls.pending()
    }

    /// Returns, by slot, the parts of pending replies and events that the program does not observe. Slots whose
    /// answers it observes completely are left out.
    pub fn unseen(&self) -> Vec<(CallId, Unseen)> {
        lock(&self.state).calls.unseen()
    }

    /// Returns true if no call, watch, unread answer, subscription or task of the program exists at this moment.
    pub(super) fn is_bare(&self) -> bool {
        lock(&self.state).calls.is_empty() && self.queue.live() == 0
    }

    /// Returns the number of outputs not taken yet.
    pub(super) fn said(&self) -> usize {
        lock(&self.state).outputs.len()
    }

    /// Returns true if the program has subscribed to the session's state.
    pub fn listens(&self) -> bool {
        lock(&self.state).calls.subscriptions().next().is_some()
    }

    /// Returns true if a task of the program reads the session ids of changes.
    pub fn listens_for_sessions(&self) -> bool {
        lock(&self.state).calls.listens_for_sessions()
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
        let calls = state.calls.clear();
        // Dropped without the lock, because dropping a waker may drop a future that holds the handle.
        drop(state);
        drop(calls);
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
        let (call, ticket) = state.calls.begin(operation.clone(), waker);
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
        let began = state.calls.begin_watching(request, scope, waker);
        let (call, operation) = (began.call, began.operation);
        state.outputs.push(Output::Submit { call, operation });
        (began.reply, began.event)
    }

    fn keep_back(&self, ticket: Ticket, unseen: Unseen) {
        let mut state = lock(&self.state);
        if state.open {
            state.calls.keep_back(ticket, unseen);
        }
    }

    fn poll(&self, ticket: Ticket, waker: &Waker) -> Poll<Outcome> {
        self.take(|calls| calls.poll(ticket, waker))
    }

    fn poll_events(&self, ticket: Ticket, waker: &Waker) -> Poll<Result<WatchedEvent, Error>> {
        self.take(|calls| calls.poll_events(ticket, waker))
    }

    fn abandon(&self, ticket: Ticket) {
        let mut state = lock(&self.state);
        if !state.open {
            return;
        }
        let (call, discarded) = state.calls.abandon(ticket);
        state.outputs.extend(call.map(|call| Output::Abandon { call }));
        drop(state);
        drop(discarded);
    }

    fn subscribe(&self, of_sessions: bool) -> Subscription {
        let mut state = lock(&self.state);
        if state.open { state.calls.subscribe(of_sessions) } else { Subscription::DEAD }
    }

    fn poll_session(&self, subscription: Subscription, waker: &Waker) -> Poll<SessionChange> {
        self.take(|calls| calls.poll_session(subscription, waker))
    }

    fn unsubscribe(&self, subscription: Subscription) {
        let waker = lock(&self.state).calls.unsubscribe(subscription);
        drop(waker);
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
    /// Takes an answer, unless the port is closed. What it replaces is dropped without the lock.
    fn take<T>(&self, poll: impl FnOnce(&mut Calls) -> (Poll<T>, Option<Waker>)) -> Poll<T> {
        let mut state = lock(&self.state);
        if !state.open {
            return Poll::Pending;
        }
        let (polled, old) = poll(&mut state.calls);
        drop(state);
        drop(old);
        polled
    }

    fn say(&self, output: Output) {
        let mut state = lock(&self.state);
        if state.open {
            state.outputs.push(output);
        }
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.state);
        f.debug_struct("Port")
            .field("client", &self.client)
            .field("open", &state.open)
            .field("pending", &state.calls.len())
            .finish_non_exhaustive()
    }
}
