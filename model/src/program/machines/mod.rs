//! Client machines and their programs: the effects of a program's outputs, and the sources of its inputs. Both grains
//! use this code with different `Wire`s to the servers.
//!
//! A program's inputs wait in its inbox, one [`Step::Input`] each; the inbox models the client's event thread. A
//! paused machine stops, inbox included.

mod clock;
mod knowledge;
#[cfg(feature = "world")]
mod lines;
mod node;
mod resource;

use crate::vocabulary::note::Note;
use clock::Clock;
pub use knowledge::Told;
pub(crate) use node::ClientNode;
pub use node::ProgramState;
pub(crate) use resource::FencedResource;

use crate::client::{ClientEffect, ClientMachine};
use crate::network::Delivered;
use crate::program::exchange::Exchange;
use crate::program::host::{Input, Message, Operation, Outcome, Output};
use crate::vocabulary::effect::{Effect, Effects, Status};
use crate::vocabulary::event::Event;
use crate::vocabulary::fingerprint::Tracked;
use crate::vocabulary::id::{CallId, ClientConnection, ClientId, ServerId, SessionId};
use crate::vocabulary::packet::{ClientPacket, ServerPacket};
use crate::vocabulary::step::Step;
use crate::vocabulary::time::Time;
use crate::vocabulary::timer::Timer;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The connection between client machines and servers.
pub(crate) trait Wire {
    /// True if no time passes: the reading of a program's clock is then a step of its own ([`Step::Clock`]).
    const CHOOSES_CLOCKS: bool;

    /// Opens a connection of a client machine to a server.
    fn open(&mut self, client: ClientId, server: ServerId) -> ClientConnection;

    /// Sends a packet from a client machine.
    fn send(&mut self, connection: ClientConnection, packet: ClientPacket, effects: &mut Effects);

    /// Closes a client machine's connection.
    fn close(&mut self, connection: ClientConnection, effects: &mut Effects);
}

/// The resources outside ZooKeeper, by name.
pub(crate) type Resources = BTreeMap<Arc<str>, FencedResource>;

/// All client machines of a grain, borrowed for one step.
pub(crate) struct Machines<'a, W> {
    pub(crate) nodes: &'a mut [Tracked<ClientNode>],
    pub(crate) resources: &'a mut Resources,
    pub(crate) wire: &'a mut W,
    /// The session to which the handle of the present call is pinned, if it is not the client's current session.
    /// Immediate answers then concern this session.
    pub(crate) scope: Option<SessionId>,
}

impl<W: Wire> Machines<'_, W> {
    /// Appends an input to a program's inbox.
    pub(crate) fn push_input(&mut self, client: ClientId, input: Input, effects: &mut Effects) {
        let node = self.nodes[client.index()].make_mut();
        if node.program == ProgramState::Running {
            effects.absorb(&input);
            let session = self.scope.or(node.machine.session());
            node.inbox.push_back(Told::of(input, session));
            effects.due(Step::Input(client));
        }
    }

    /// Takes a program's next input out of its inbox.
    pub(crate) fn take_input(&mut self, client: ClientId) -> Result<Told, Status> {
        self.nodes[client.index()].allows(client, &Step::Input(client))?;
        let node = self.nodes[client.index()].make_mut();
        Ok(node.inbox.pop_front().expect("it was just looked at"))
    }

    // ---- outputs of programs ----

    /// Carries out one output of a program.
    pub(crate) fn output(
        &mut self,
        client: ClientId,
        output: Output,
        at: Time,
        effects: &mut Effects,
    ) {
        match output {
            Output::Submit { call, operation } => self.submit(client, call, operation, at, effects),
            Output::Abandon { call } => self.abandon(client, call, effects),
            Output::Observe(observation) => {
                let machine = &self.nodes[client.index()].machine;
                let (session, next_xid) = (machine.session(), machine.next_xid());
                effects.event(Event::Observed { client, session, next_xid, observation });
            }
            Output::Send { to, body } => {
                // A message to a client machine that does not exist is dropped.
                if to.0 > 0 && to.index() < self.nodes.len() {
                    let node = self.nodes[to.index()].make_mut();
                    node.under_way.entry(client).or_default().push_back(body);
                    effects.due(Step::Message { from: client, to });
                }
            }
            Output::Finished(result) => {
                self.end_process(client, ProgramState::Finished, effects);
                effects.event(Event::Finished { client, result });
            }
            Output::Panicked(message) => {
                self.end_process(client, ProgramState::Finished, effects);
                effects.event(Event::Panicked { client, message });
            }
        }
    }

    fn submit(
        &mut self,
        client: ClientId,
        call: CallId,
        operation: Operation,
        at: Time,
        effects: &mut Effects,
    ) {
        effects.exchange(client, || Exchange::Asked { call, operation: operation.clone() });
        let node = self.nodes[client.index()].make_mut();
        match operation {
            Operation::Request { .. }
            | Operation::RemoveWatches { .. }
            | Operation::AddAuth { .. }
            | Operation::Connect
            | Operation::Close => {
                let own = node.machine.session();
                self.scope = operation.scope().filter(|scope| Some(*scope) != own);
                self.with_machine(client, effects, |machine, out| {
                    machine.call(call, operation, out);
                });
                self.scope = None;
            }
            Operation::Sleep(after) => {
                node.sleeping.insert(call);
                node.clock.sleeps(call, after);
                effects.arm(Timer::Sleep(client, call), after);
            }
            Operation::Now if W::CHOOSES_CLOCKS => node.clock.asked(call),
            Operation::Now => {
                let outcome = Outcome::Now(at);
                self.push_input(client, Input::Reply { call, outcome }, effects);
            }
            Operation::Random => {
                node.drawing.insert(call);
                effects.push(Effect::Random(client, call));
            }
            Operation::Receive => match node.received.pop_front() {
                Some(message) => {
                    let outcome = Outcome::Message(message);
                    self.push_input(client, Input::Reply { call, outcome }, effects);
                }
                None => node.receiving.push_back(call),
            },
            Operation::Cancelled => node.cancellable.push(call),
            Operation::Resource(request) => {
                node.to_resources.insert(call, request);
                effects.due(Step::Resource { client, call });
            }
        }
    }

    /// Frees a call's slot: pending inputs for it are discarded.
    fn abandon(&mut self, client: ClientId, call: CallId, effects: &mut Effects) {
        effects.exchange(client, || Exchange::Abandoned { call });
        let node = self.nodes[client.index()].make_mut();
        node.machine.abandon(call);
        node.inbox.retain(|told| told.input.call() != Some(call));
        node.clock.abandon(call);
        if node.sleeping.remove(&call) {
            effects.disarm(Timer::Sleep(client, call));
        }
        node.drawing.remove(&call);
        node.receiving.retain(|other| *other != call);
        node.cancellable.retain(|other| *other != call);
        if let Some(request) = node.to_resources.remove(&call) {
            node.orphaned.push_back(request);
        }
    }

    /// Ends the program's process, for whatever reason: its connection breaks, its session stays.
    fn end_process(&mut self, client: ClientId, state: ProgramState, effects: &mut Effects) {
        for call in self.nodes[client.index()].sleeping.clone() {
            effects.disarm(Timer::Sleep(client, call));
        }
        self.nodes[client.index()].make_mut().program = state;
        effects.exchange(client, || Exchange::Ended);
        self.with_machine(client, effects, |machine, out| machine.kill(out));
        let node = self.nodes[client.index()].make_mut();
        node.forget_calls();
        if state == ProgramState::Finished {
            // A finished program has no replacement, which would have to draw other numbers.
            node.drawn = 0;
            node.clock = Clock::default();
        }
    }

    /// Takes a step of a client machine or its program. The step must be possible (`ClientNode::allows`).
    pub(crate) fn take(&mut self, step: &Step, effects: &mut Effects) {
        match *step {
            Step::Start(client) => self.start_program(client, effects),
            Step::Fire(Timer::Client(client, timer)) => {
                // A timer that was disarmed while its machine was paused does not fire.
                if self.nodes[client.index()].machine.is_armed(timer) {
                    effects.exchange(client, || Exchange::Fired(timer));
                }
                self.with_machine(client, effects, |machine, out| machine.timer(timer, out));
            }
            Step::Fire(Timer::Sleep(client, call)) => self.slept(client, call, effects),
            Step::Random { client, call, value } => self.random(client, call, value, effects),
            Step::Clock { client, call, reading } => self.clock(client, call, reading, effects),
            Step::Resource { client, call } => self.resource(client, call, effects),
            Step::Message { from, to } => self.message(from, to, effects),
            Step::Kill(client) => {
                self.end_process(client, ProgramState::Killed, effects);
                effects.event(Event::Killed { client });
            }
            Step::Cancel(client) => self.cancel(client, effects),
            _ => unreachable!("{step} is no step of a client machine"),
        }
    }

    fn start_program(&mut self, client: ClientId, effects: &mut Effects) {
        self.nodes[client.index()].make_mut().program = ProgramState::Running;
        effects.event(Event::Started { client });
        effects.exchange(client, || Exchange::Started);
        self.with_machine(client, effects, |machine, out| machine.start(out));
        self.push_input(client, Input::Start, effects);
    }

    // ---- the client machine ----

    /// Runs a function on a client's session machine and carries out the resulting effects.
    fn with_machine(
        &mut self,
        client: ClientId,
        effects: &mut Effects,
        run: impl FnOnce(&mut ClientMachine, &mut Vec<ClientEffect>),
    ) {
        let mut out = std::mem::take(&mut effects.client_effects);
        run(&mut self.nodes[client.index()].make_mut().machine, &mut out);
        for effect in out.drain(..) {
            self.client_effect(client, effect, effects);
        }
        effects.client_effects = out;
    }

    fn client_effect(&mut self, client: ClientId, effect: ClientEffect, effects: &mut Effects) {
        let node = self.nodes[client.index()].make_mut();
        if node.program == ProgramState::Running {
            passing(client, &effect, effects);
        }
        match effect {
            ClientEffect::Open { server } => {
                debug_assert!(node.connection.is_none(), "one connection in use at a time");
                let connection = self.wire.open(client, server);
                node.connection = Some(connection);
                node.machine.opened(connection);
            }
            ClientEffect::Send(packet) => {
                if let Some(connection) = node.connection {
                    self.wire.send(connection, packet, effects);
                }
            }
            ClientEffect::Close => {
                if let Some(connection) = node.connection.take() {
                    self.wire.close(connection, effects);
                }
            }
            ClientEffect::Arm { timer, after, spread } => {
                effects.push(Effect::Arm { timer: Timer::Client(client, timer), after, spread });
            }
            ClientEffect::Disarm(timer) => effects.disarm(Timer::Client(client, timer)),
            ClientEffect::Input(input) => self.push_input(client, input, effects),
            ClientEffect::Event(event) => effects.event(event),
        }
    }

    pub(crate) fn client_reads(
        &mut self,
        connection: ClientConnection,
        delivered: Delivered<ServerPacket>,
        effects: &mut Effects,
    ) {
        let client = connection.client;
        let node = &self.nodes[client.index()];
        if node.connection != Some(connection) {
            effects.note(|| Note::Ignored);
            return;
        }
        match delivered {
            Delivered::Packet(packet) => {
                effects.exchange(client, || Exchange::Read(packet.clone()));
                self.with_machine(client, effects, |machine, out| machine.packet(packet, out));
            }
            Delivered::End { .. } => {
                effects.exchange(client, || Exchange::Broke);
                self.nodes[client.index()].make_mut().connection = None;
                self.with_machine(client, effects, |machine, out| machine.disconnected(out));
            }
        }
    }

    // ---- answers that do not come from ZooKeeper ----

    fn slept(&mut self, client: ClientId, call: CallId, effects: &mut Effects) {
        let node = self.nodes[client.index()].make_mut();
        assert!(node.sleeping.remove(&call), "{client} does not sleep");
        node.clock.slept(call);
        self.push_input(client, Input::Reply { call, outcome: Outcome::Elapsed }, effects);
    }

    fn random(&mut self, client: ClientId, call: CallId, value: u64, effects: &mut Effects) {
        let node = self.nodes[client.index()].make_mut();
        assert!(node.drawing.remove(&call), "{client} does not wait for a random number");
        node.drawn += 1;
        self.push_input(client, Input::Reply { call, outcome: Outcome::Random(value) }, effects);
    }

    fn clock(&mut self, client: ClientId, call: CallId, reading: Time, effects: &mut Effects) {
        self.nodes[client.index()].make_mut().clock.read(call, reading);
        self.push_input(client, Input::Reply { call, outcome: Outcome::Now(reading) }, effects);
    }

    /// Executes a request at its resource, whether or not its program is still alive.
    fn resource(&mut self, client: ClientId, call: CallId, effects: &mut Effects) {
        let node = self.nodes[client.index()].make_mut();
        let (request, wanted) = match node.to_resources.remove(&call) {
            Some(request) => (request, true),
            None => (node.orphaned.pop_front().expect("a request is on its way"), false),
        };
        let resource = self.resources.entry(Arc::clone(&request.resource)).or_default();
        let result = resource.execute(&request);
        effects.event(Event::ResourceWrite {
            client,
            resource: request.resource,
            token: request.token,
            accepted: result.is_ok(),
        });
        if wanted {
            let outcome = Outcome::Resource(result);
            self.push_input(client, Input::Reply { call, outcome }, effects);
        }
    }

    /// Delivers a message. It is lost if the machine has no running program.
    fn message(&mut self, from: ClientId, to: ClientId, effects: &mut Effects) {
        let node = self.nodes[to.index()].make_mut();
        let body = node.under_way.get_mut(&from).and_then(VecDeque::pop_front);
        let body = body.expect("a message is on its way");
        if node.under_way.get(&from).is_some_and(VecDeque::is_empty) {
            node.under_way.remove(&from);
        }
        if node.program != ProgramState::Running {
            return;
        }
        let message = Message { from, body };
        match node.receiving.pop_front() {
            Some(call) => {
                let outcome = Outcome::Message(message);
                self.push_input(to, Input::Reply { call, outcome }, effects);
            }
            None => node.received.push_back(message),
        }
    }

    /// Answers every pending `cancelled()` of the program.
    fn cancel(&mut self, client: ClientId, effects: &mut Effects) {
        let calls = std::mem::take(&mut self.nodes[client.index()].make_mut().cancellable);
        for call in calls {
            effects.event(Event::Cancelled { client, call });
            self.push_input(client, Input::Reply { call, outcome: Outcome::Cancelled }, effects);
        }
    }
}

/// Records the traffic caused by a client machine's effect.
fn passing(client: ClientId, effect: &ClientEffect, effects: &mut Effects) {
    match effect {
        ClientEffect::Open { server } => {
            effects.exchange(client, || Exchange::Opened { server: *server });
        }
        ClientEffect::Send(packet) => effects.exchange(client, || Exchange::Wrote(packet.clone())),
        ClientEffect::Close => effects.exchange(client, || Exchange::HungUp),
        ClientEffect::Arm { .. }
        | ClientEffect::Disarm(_)
        | ClientEffect::Input(_)
        | ClientEffect::Event(_) => {}
    }
}
