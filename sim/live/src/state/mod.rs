//! A client's state: the machine, the calls of its program, and the connection that the machine wants.
//!
//! A call or the driver takes the lock, gives the machine an input and carries out its effects; no method waits. The
//! [driver](super::driver) connects, reads, writes and keeps the time.

mod after;
mod link;
mod program;

pub(crate) use after::After;
pub(crate) use link::Link;

use super::limits::Limits;
use super::order::{Order, Source};
use super::settings::Settings;
use super::timers::{Due, Timers, later};
use program::Outside;
use std::collections::VecDeque;
use std::task::Waker;
use std::time::Duration;
use tokio::time::Instant;
use vivarium_model::client::{ClientEffect, ClientInput, ClientMachine};
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::handle::calls::Calls;
use vivarium_model::handle::transport::Subscription;
use vivarium_model::host::{Input, Operation, Outcome};
use vivarium_model::id::ClientConnection;
use vivarium_model::op::{SessionChange, SessionState};
use vivarium_model::release::Bugs;
use vivarium_model::timer::ClientTimer;
use vivarium_model::wire::Password;

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
    /// True once no driver serves the client any more: every request fails at once.
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

/// A request that waits for a connection or for its reply.
struct Outstanding {
    /// The bytes that it occupies of the limit, if it was admitted.
    bytes: Option<u32>,
    since: Instant,
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

    fn arm(&mut self, timer: ClientTimer, mut after: Duration, spread: Duration) {
        let mut spread = spread;
        match timer {
            ClientTimer::Connect => after = after.min(self.settings.connect_limit),
            ClientTimer::Reconnect => {
                after += self.back_off();
                spread = spread.min(self.settings.reconnect_limit);
            }
            _ => {}
        }
        after += spread.mul_f64(self.random.f64());
        self.timers.arm(timer, later(after));
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
                // The machine has answered at once, and no caller waits.
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
}
