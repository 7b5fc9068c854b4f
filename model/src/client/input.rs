//! The inputs of a client machine as values.

use super::{ClientEffect, ClientMachine, ClientState};
use crate::program::host::Operation;
use crate::vocabulary::id::{CallId, ClientConnection, ServerId, SessionId};
use crate::vocabulary::packet::ServerPacket;
use crate::vocabulary::timer::ClientTimer;

/// Everything that can happen to a client machine. Machines that start alike and get the same inputs have the same
/// effects.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum ClientInput {
    /// [`ClientMachine::start`].
    Start,
    /// [`ClientMachine::resume`].
    Resume(SessionId),
    /// [`ClientMachine::call`].
    Call { call: CallId, operation: Operation },
    /// [`ClientMachine::abandon`].
    Abandon { call: CallId },
    /// [`ClientMachine::opened`].
    Opened(ClientConnection),
    /// [`ClientMachine::packet`].
    Packet(ServerPacket),
    /// [`ClientMachine::disconnected`].
    Disconnected,
    /// [`ClientMachine::timer`].
    Timer(ClientTimer),
    /// [`ClientMachine::not_found`].
    NotFound,
    /// [`ClientMachine::give_up`].
    GiveUp,
}

impl ClientMachine {
    /// Handles an input.
    pub fn handle(&mut self, input: ClientInput, out: &mut Vec<ClientEffect>) {
        match input {
            ClientInput::Start => self.start(out),
            ClientInput::Resume(session) => self.resume(session, out),
            ClientInput::Call { call, operation } => self.call(call, operation, out),
            ClientInput::Abandon { call } => self.abandon(call),
            ClientInput::Opened(connection) => self.opened(connection),
            ClientInput::Packet(packet) => self.packet(packet, out),
            ClientInput::Disconnected => self.disconnected(out),
            ClientInput::Timer(timer) => self.timer(timer, out),
            ClientInput::NotFound => self.not_found(out),
            ClientInput::GiveUp => self.give_up(out),
        }
    }

    /// Starts the program's process with a session that another process has begun, like a `ZooKeeper` object that is
    /// made with a session id and a password. No effect if the machine is running.
    pub fn resume(&mut self, session: SessionId, out: &mut Vec<ClientEffect>) {
        if self.state == ClientState::NotStarted {
            self.session.id = Some(session);
            self.session.seen_rw_server = true;
            self.attempt(out);
        }
    }

    /// Returns the number of requests that are queued or in flight.
    pub fn outstanding(&self) -> usize {
        self.session.queued.len() + self.session.in_flight.len()
    }

    /// Returns the server that the next attempt to connect is made to; `None` without servers.
    pub fn next_server(&self) -> Option<ServerId> {
        self.servers.get(self.next_server).copied()
    }

    /// Handles the result of a probe beside the connection (`pingRwServer`; rule 2.7.3): the next server has no quorum
    /// either. The client stays with its read-only server and probes the server after that one, later. A caller that
    /// cannot probe passes [`ClientTimer::Probe`] to [`ClientMachine::timer`] instead. No effect unless the client is
    /// connected to a read-only server.
    pub fn not_found(&mut self, out: &mut Vec<ClientEffect>) {
        if let ClientState::ConnectedReadOnly(_) = self.state {
            self.next_server = (self.next_server + 1) % self.servers.len();
            self.probe_later(out);
        }
    }
}
