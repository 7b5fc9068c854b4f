//! A client's state: the machine, the calls of its program, and the connection that the machine wants.
//!
//! Whoever has the lock gives the machine an input and carries out its effects; nothing here waits. The
//! [driver](super::driver) connects, reads, writes and keeps the time.

use super::frames;
use super::limits::Limits;
use super::order::{Order, Source};
use super::settings::Settings;
use super::timers::{Due, Timers};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;
use vivarium_model::client::{ClientEffect, ClientInput, ClientMachine, ClientState};
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::handle::calls::{Calls, Discarded, Pending};
use vivarium_model::handle::transport::{Subscription, Ticket};
use vivarium_model::host::{Input, Message, Operation, Outcome, ResourceRequest};
use vivarium_model::id::{CallId, ClientConnection, ClientId, ServerId};
use vivarium_model::observation::Observed;
use vivarium_model::op::{Request, Response, SessionChange, SessionState};
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::release::Bugs;
use vivarium_model::time::Time;
use vivarium_model::timer::ClientTimer;
use vivarium_model::wire::handshake::{decode_connected, encode_connect};
use vivarium_model::wire::reply::{answered, decode_server};
use vivarium_model::wire::request::encode_client;
use vivarium_model::wire::{Opcodes, Password, WireError};
use vivarium_model::zxid::Zxid;

/// A client's state. See the [module](self).
pub(crate) struct State {
    pub(crate) machine: ClientMachine,
    pub(crate) calls: Calls,
    pub(crate) order: Order,
    pub(crate) link: Link,
    pub(crate) timers: Timers,
    pub(crate) password: Password,
    /// The driver's task, if it waits for a change.
    pub(crate) driver: Option<Waker>,
    /// True if something has changed that concerns the driver.
    pub(crate) has_changed: bool,
    /// True if the client of a read-only server is to ask another server whether it has a quorum.
    pub(crate) probes: bool,
    /// True once the client is closed or its last handle was dropped: no session follows the present one.
    pub(crate) is_ending: bool,
    /// True once no driver serves the client any more: nothing is answered but what is answered here.
    pub(crate) is_over: bool,
    /// True once the last handle was dropped.
    pub(crate) is_unused: bool,
    /// The requests that the machine holds, oldest first.
    outstanding: VecDeque<Outstanding>,
    /// Attempts to connect since a server has accepted the session.
    failures: u32,
    /// Requests whose end was reported since the last input.
    reported: usize,
    /// True if a watch that stays holds more events than allowed, because its reader is slow.
    is_overfull: bool,
    outside: Outside,
    random: fastrand::Rng,
    effects: Vec<ClientEffect>,
    settings: Settings,
    limits: Limits,
}

/// What a program asks for that has nothing to do with ZooKeeper.
#[derive(Default)]
struct Outside {
    /// Calls that wait for a message, oldest first.
    receiving: VecDeque<CallId>,
    /// Messages that the program has not received.
    received: VecDeque<Message>,
    /// Calls that wait for a cancellation.
    cancellable: Vec<CallId>,
}

/// A request that waits for a connection or for its reply.
struct Outstanding {
    /// The bytes that it occupies of the limit, if it was admitted.
    bytes: Option<u32>,
    since: Instant,
}

/// The connection that the machine wants.
#[derive(Default)]
pub(crate) struct Link {
    /// Changes with every connection that is opened or closed.
    pub(crate) generation: u64,
    /// `None` if the machine wants none.
    pub(crate) server: Option<ServerId>,
    /// Frames to write on it.
    pub(crate) out: Vec<u8>,
    /// True if the driver has not seen the last change.
    pub(crate) is_dirty: bool,
}

/// What is to be woken and dropped once the lock is free.
#[derive(Default)]
pub(crate) struct After {
    wakers: Vec<Waker>,
    replaced: Vec<Waker>,
    discarded: Vec<Discarded>,
}

impl After {
    pub(crate) fn wake(&mut self, waker: Option<Waker>) {
        self.wakers.extend(waker);
    }

    /// Drops a waker.
    pub(crate) fn replace(&mut self, waker: Option<Waker>) {
        self.replaced.extend(waker);
    }

    /// Drops what a call has held.
    pub(crate) fn discard(&mut self, discarded: Discarded) {
        self.discarded.push(discarded);
    }

    /// Wakes and drops everything.
    pub(crate) fn finish(self) {
        self.wakers.into_iter().for_each(Waker::wake);
    }
}

impl State {
    pub(crate) fn new(settings: Settings, limits: Limits) -> State {
        let machine = ClientMachine::new(settings.client, &settings.config(), Bugs::NONE);
        if let Some(recorder) = &settings.recorder {
            recorder.begin(&machine);
        }
        State {
            machine,
            calls: Calls::default(),
            order: Order::default(),
            link: Link::default(),
            timers: Timers::default(),
            password: Password::default(),
            driver: None,
            has_changed: false,
            probes: false,
            is_ending: false,
            is_over: false,
            is_unused: false,
            outstanding: VecDeque::new(),
            failures: 0,
            reported: 0,
            is_overfull: false,
            outside: Outside::default(),
            random: settings.random(),
            effects: Vec::new(),
            settings,
            limits,
        }
    }

    // ---- the machine ----

    /// Gives the machine an input, and carries out its effects.
    pub(crate) fn input(&mut self, input: ClientInput, after: &mut After) {
        self.admitted_input(input, None, after);
    }

    fn admitted_input(&mut self, input: ClientInput, bytes: Option<u32>, after: &mut After) {
        let recorded = self.settings.recorder.is_some().then(|| input.clone());
        let mut effects = std::mem::take(&mut self.effects);
        self.machine.handle(input, &mut effects);
        if let (Some(recorder), Some(input)) = (&self.settings.recorder, recorded) {
            recorder.input(&input, &effects);
        }
        let mut opened = None;
        for effect in effects.drain(..) {
            if let ClientEffect::Open { .. } = effect {
                opened = Some(ClientConnection { client: self.settings.client, slot: 0 });
            }
            self.effect(effect, after);
        }
        self.effects = effects;
        self.settle(bytes);
        if let Some(connection) = opened {
            self.input(ClientInput::Opened(connection), after);
        }
        self.identify(after);
        if std::mem::take(&mut self.is_overfull) && self.link.server.is_some() {
            tracing::warn!("a watch has too many unread events: the connection is given up");
            self.disconnected(after);
        }
    }

    fn effect(&mut self, effect: ClientEffect, after: &mut After) {
        match effect {
            ClientEffect::Open { server } => self.open(server),
            ClientEffect::Send(packet) => self.send(&packet),
            ClientEffect::Close => self.link.close(),
            ClientEffect::Arm { timer, after, spread } => self.arm(timer, after, spread),
            ClientEffect::Disarm(timer) => self.timers.disarm(timer),
            ClientEffect::Input(input) => self.tell(input, after),
            ClientEffect::Event(event) => self.event(event),
        }
    }

    fn open(&mut self, server: ServerId) {
        let address = &self.settings.servers[server.index()];
        tracing::debug!(%address, "connecting");
        if let Some(metrics) = &self.settings.metrics {
            metrics.attempt(&address.to_string());
        }
        self.failures = self.failures.saturating_add(1);
        self.link.close();
        self.link.server = Some(server);
    }

    fn send(&mut self, packet: &ClientPacket) {
        if self.link.server.is_none() {
            return;
        }
        let bytes = match packet {
            ClientPacket::Connect { session, .. } => {
                if session.is_none() {
                    self.password = Password::default();
                }
                encode_connect(packet, &self.password)
            }
            packet => encode_client(packet, Opcodes::Newest),
        };
        frames::write(&bytes, &mut self.link.out);
        self.link.is_dirty = true;
    }

    fn arm(&mut self, timer: ClientTimer, mut after: Duration, spread: Duration) {
        match timer {
            ClientTimer::Connect => after = after.min(self.settings.connect_limit),
            ClientTimer::Reconnect => after += self.back_off(),
            _ => {}
        }
        after += spread.mul_f64(self.random.f64());
        self.timers.arm(timer, Instant::now() + after);
    }

    /// Returns the time to wait beside the machine's own delay after every server was tried in vain: it doubles with
    /// each round up to the limit, and half of it is random.
    fn back_off(&mut self) -> Duration {
        let servers = u32::try_from(self.settings.servers.len()).unwrap_or(u32::MAX).max(1);
        let rounds = self.failures / servers;
        if rounds == 0 || !self.failures.is_multiple_of(servers) {
            return Duration::ZERO;
        }
        let most = self.settings.back_off.min(self.machine.timeout() / 4);
        let whole = Duration::from_millis(100).saturating_mul(1 << (rounds - 1).min(16)).min(most);
        whole.mul_f64(0.5 + self.random.f64() / 2.0)
    }

    /// Keeps the list of outstanding requests equal to the machine's, which is first in, first out.
    fn settle(&mut self, mut bytes: Option<u32>) {
        self.reported = 0;
        let outstanding = self.machine.outstanding();
        while self.outstanding.len() > outstanding {
            let ended = self.outstanding.pop_front().expect("it is not empty");
            self.limits.release(ended.bytes);
        }
        if self.outstanding.len() < outstanding {
            self.outstanding.push_back(Outstanding { bytes: bytes.take(), since: Instant::now() });
        }
        debug_assert_eq!(self.outstanding.len(), outstanding, "one input adds one request");
        // What was refused at once occupies nothing.
        self.limits.release(bytes);
        if let Some(metrics) = &self.settings.metrics {
            metrics.outstanding(outstanding);
        }
    }

    /// Adds the identities of the settings to a session that has none.
    fn identify(&mut self, after: &mut After) {
        let is_new = self.machine.state().is_alive() && !self.machine.has_identities();
        if is_new && !self.settings.identities.is_empty() {
            for (scheme, auth) in self.settings.identities.clone() {
                let operation = Operation::AddAuth { scheme, auth, scope: None };
                let (call, ticket) = self.calls.begin(operation.clone(), Waker::noop());
                self.input(ClientInput::Call { call, operation }, after);
                // The answer is there already, and nobody asks for it.
                after.discard(self.calls.abandon(ticket).1);
                self.order.forget(Source::Call(ticket));
            }
        }
    }

    /// Hands an input to the program.
    fn tell(&mut self, input: Input, after: &mut After) {
        match input {
            Input::Reply { call, outcome } => {
                let ticket = self.calls.ticket(call).expect("an answer is to a pending call");
                self.order.arrived(Source::Call(ticket));
                after.wake(self.calls.reply(call, outcome));
            }
            Input::Event { call, event } => {
                let ticket = self.calls.ticket(call).expect("an event is of a pending watch");
                self.order.arrived(Source::Call(ticket));
                after.wake(self.calls.event(call, event));
                let unread = self.order.unread(Source::Call(ticket));
                self.is_overfull |= unread > self.settings.unread_events;
            }
            Input::Session(change) => self.changed(change, after),
            Input::Start => unreachable!("a client machine starts no program"),
        }
    }

    fn changed(&mut self, change: SessionChange, after: &mut After) {
        if let Some(metrics) = &self.settings.metrics {
            metrics.session(change.session, change.state);
        }
        if let SessionState::SyncConnected | SessionState::ConnectedReadOnly = change.state {
            self.failures = 0;
        }
        let session = change.session.map_or(0, |session| session.0);
        tracing::info!(session = format_args!("0x{session:x}"), state = %change.state, "session");
        let subscriptions: Vec<Subscription> = self.calls.subscriptions().collect();
        for subscription in subscriptions {
            self.order.arrived(Source::Session(subscription));
        }
        for waker in self.calls.session(change) {
            after.wake(Some(waker));
        }
    }

    fn event(&mut self, event: Event) {
        if let Some(metrics) = &self.settings.metrics {
            let ended = match &event {
                Event::Replied { request, result, .. } => {
                    Some((request, result.as_ref().err().copied()))
                }
                Event::Lost { request, .. } => Some((request, Some(Error::ConnectionLoss))),
                _ => None,
            };
            let oldest = self.outstanding.get(self.reported);
            if let (Some((request, error)), Some(oldest)) = (ended, oldest) {
                metrics.request(request, oldest.since.elapsed(), error);
                self.reported += 1;
            }
        }
        if let Some(events) = &self.settings.events {
            events.event(event);
        }
    }

    // ---- the driver ----

    /// Reads a frame of the server.
    pub(crate) fn read(&mut self, frame: &[u8], after: &mut After) -> Result<(), WireError> {
        let packet = match self.machine.state() {
            ClientState::Connecting(_) => {
                let (packet, password) = decode_connected(frame)?;
                if let ServerPacket::Connected { .. } = packet {
                    self.password = password;
                }
                packet
            }
            _ => {
                let oldest = self.machine.pending().next();
                let xid = answered(frame)?;
                let asked = oldest.filter(|(oldest, _)| Some(*oldest) == xid);
                let packet =
                    decode_server(frame, Opcodes::Newest, asked.map(|(_, request)| &**request))?;
                with_known_zxid(packet)
            }
        };
        self.input(ClientInput::Packet(packet), after);
        Ok(())
    }

    /// Handles the end of the connection, or of an attempt to connect.
    pub(crate) fn disconnected(&mut self, after: &mut After) {
        self.link.close();
        self.input(ClientInput::Disconnected, after);
    }

    /// Handles the timers and sleeps that are due.
    pub(crate) fn fire(&mut self, now: Instant, after: &mut After) {
        while let Some(due) = self.timers.due(now) {
            match due {
                Due::Timer(ClientTimer::Probe) => self.probes = true,
                Due::Timer(timer) => self.input(ClientInput::Timer(timer), after),
                Due::Sleep(call) => {
                    self.tell(Input::Reply { call, outcome: Outcome::Elapsed }, after);
                }
            }
        }
    }

    // ---- the program ----

    /// Begins a call; its answer may be there at once.
    pub(crate) fn submit(
        &mut self,
        operation: Operation,
        waker: &Waker,
        after: &mut After,
    ) -> Ticket {
        let (call, ticket) = self.calls.begin(operation.clone(), waker);
        self.order.asked(Source::Call(ticket), waker);
        self.begin(call, operation, after);
        ticket
    }

    /// Carries out an operation.
    pub(crate) fn begin(&mut self, call: CallId, operation: Operation, after: &mut After) {
        let outcome = match &operation {
            Operation::Sleep(span) => {
                self.timers.sleep(call, Instant::now() + *span);
                return;
            }
            Operation::Now => Outcome::Now(now()),
            Operation::Random => Outcome::Random(self.random.u64(..)),
            Operation::Connect if self.is_over || self.is_ending => return,
            Operation::Resource(request) => match self.write_resource(request) {
                Some(outcome) => outcome,
                None => return,
            },
            Operation::Receive => match self.outside.received.pop_front() {
                Some(message) => Outcome::Message(message),
                None => return self.outside.receiving.push_back(call),
            },
            Operation::Cancelled => return self.outside.cancellable.push(call),
            _ if self.is_over => {
                if let Operation::Request { request, .. } = &operation {
                    self.limits.release(Some(Limits::bytes(request)));
                }
                refusal(&operation)
            }
            Operation::Request { request, .. } => {
                let bytes = Some(Limits::bytes(request));
                return self.admitted_input(ClientInput::Call { call, operation }, bytes, after);
            }
            Operation::RemoveWatches { .. }
            | Operation::AddAuth { .. }
            | Operation::Connect
            | Operation::Close => {
                return self.input(ClientInput::Call { call, operation }, after);
            }
        };
        self.tell(Input::Reply { call, outcome }, after);
    }

    fn write_resource(&mut self, request: &ResourceRequest) -> Option<Outcome> {
        let surroundings = self.settings.surroundings.clone()?;
        let client = self.settings.client;
        let result = surroundings.write(client, request);
        self.event(Event::ResourceWrite {
            client,
            resource: Arc::clone(&request.resource),
            token: request.token,
            accepted: result.is_ok(),
        });
        Some(Outcome::Resource(result))
    }

    /// Returns true if programs can write to resources and send messages.
    pub(crate) fn has_surroundings(&self) -> bool {
        self.settings.surroundings.is_some()
    }

    /// Sends a message to another program.
    pub(crate) fn send_message(&self, to: ClientId, body: Arc<[u8]>) {
        if let Some(surroundings) = &self.settings.surroundings {
            surroundings.send(self.settings.client, to, body);
        }
    }

    /// Hands a message to the program.
    pub(crate) fn deliver(&mut self, message: Message, after: &mut After) {
        match self.outside.receiving.pop_front() {
            Some(call) => {
                let outcome = Outcome::Message(message);
                self.tell(Input::Reply { call, outcome }, after);
            }
            None => self.outside.received.push_back(message),
        }
    }

    /// Cancels what the program lets an engine cancel.
    pub(crate) fn cancel(&mut self, after: &mut After) {
        let client = self.settings.client;
        for call in std::mem::take(&mut self.outside.cancellable) {
            self.event(Event::Cancelled { client, call });
            self.tell(Input::Reply { call, outcome: Outcome::Cancelled }, after);
        }
    }

    /// Forgets a call whose answer is no longer wanted.
    pub(crate) fn abandon(&mut self, ticket: Ticket, after: &mut After) {
        self.order.forget(Source::Call(ticket));
        let (call, discarded) = self.calls.abandon(ticket);
        after.discard(discarded);
        if let Some(call) = call {
            self.timers.wake(call);
            self.outside.receiving.retain(|receiving| *receiving != call);
            self.outside.cancellable.retain(|cancellable| *cancellable != call);
            self.input(ClientInput::Abandon { call }, after);
        }
    }

    /// Takes an answer in its order.
    pub(crate) fn take<T>(
        &mut self,
        source: Source,
        waker: &Waker,
        after: &mut After,
        poll: impl FnOnce(&mut Calls) -> (Poll<T>, Option<Waker>),
    ) -> Poll<T> {
        self.order.asked(source, waker);
        if !self.order.may_take(source) {
            after.wake(Some(waker.clone()));
            return Poll::Pending;
        }
        let (polled, old) = poll(&mut self.calls);
        match source {
            _ if polled.is_pending() => {}
            Source::Call(ticket) if self.calls.is_free(ticket) => self.order.forget(source),
            _ => self.order.took(source),
        }
        after.replace(old);
        polled
    }

    /// Reports an observation of the program.
    pub(crate) fn observe(&mut self, observation: Observed) {
        let (client, session) = (self.settings.client, self.machine.session());
        let next_xid = self.machine.next_xid();
        self.event(Event::Observed { client, session, next_xid, observation });
    }

    /// Begins to close the session for good.
    pub(crate) fn end(&mut self, after: &mut After) {
        if !std::mem::replace(&mut self.is_ending, true) && !self.is_over {
            // What waits for a connection would begin another session.
            for (call, pending) in self.calls.pending() {
                if pending == Pending::Answer(Operation::Connect) {
                    self.input(ClientInput::Abandon { call }, after);
                }
            }
            let (call, ticket) = self.calls.begin(Operation::Close, Waker::noop());
            self.input(ClientInput::Call { call, operation: Operation::Close }, after);
            self.abandon(ticket, after);
        }
    }

    /// Gives up the session: no driver will serve the client.
    pub(crate) fn give_up(&mut self, after: &mut After) {
        (self.is_ending, self.is_over) = (true, true);
        self.input(ClientInput::GiveUp, after);
        self.link.close();
    }
}

impl Link {
    fn close(&mut self) {
        self.generation += 1;
        self.server = None;
        self.out.clear();
        self.is_dirty = true;
    }
}

/// The wall clock, in microseconds since 1970.
fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// Returns the answer to an operation on a client that has ended.
fn refusal(operation: &Operation) -> Outcome {
    match operation {
        Operation::AddAuth { .. } => Outcome::AuthAdded(Err(Error::SessionExpired)),
        Operation::Close => Outcome::Closed,
        Operation::Request { request, .. } if **request == Request::CloseSession => {
            Outcome::Response(Ok(Response::Closed))
        }
        _ => Outcome::Response(Err(Error::SessionExpired)),
    }
}

/// Replaces a zxid of -1, which stands for none, by 0: notifications of servers before 3.9 carry none, nor do some
/// refusals. `ClientCnxn` ignores every zxid that is not positive.
fn with_known_zxid(packet: ServerPacket) -> ServerPacket {
    let known = |zxid: Zxid| if zxid.0.cast_signed() > 0 { zxid } else { Zxid::ZERO };
    match packet {
        ServerPacket::Reply { xid, zxid, result } => {
            ServerPacket::Reply { xid, zxid: known(zxid), result }
        }
        ServerPacket::WatchesSet { zxid } => ServerPacket::WatchesSet { zxid: known(zxid) },
        ServerPacket::Notification(mut event) => {
            event.zxid = known(event.zxid);
            ServerPacket::Notification(event)
        }
        other => other,
    }
}
