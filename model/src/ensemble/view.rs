//! What engines and people may ask of an ensemble.

use super::Ensemble;
use crate::client::ClientMachine;
use crate::program::machines::ProgramState;
use crate::server::disk::Disk;
use crate::server::{Role, Server};
use crate::vocabulary::id::{
    CallId, ClientConnection, ClientId, LearnerConnection, Machine, ServerId, SessionId, Xid,
};
use crate::vocabulary::op::Request;
use crate::vocabulary::step::Step;
use std::sync::Arc;

impl Ensemble {
    /// A server's process, if it is up.
    pub fn server(&self, server: ServerId) -> Option<&Server> {
        self.servers[server.index()].process.as_ref()
    }

    /// A server's disk.
    pub fn disk(&self, server: ServerId) -> &Disk {
        &self.servers[server.index()].disk
    }

    /// Whether a server's process runs.
    pub fn is_up(&self, server: ServerId) -> bool {
        self.server(server).is_some()
    }

    /// Whether a server serves clients.
    pub fn is_serving(&self, server: ServerId) -> bool {
        self.server(server).is_some_and(Server::is_serving)
    }

    /// The established leader; of several (a deposed one that has not noticed), the one of the
    /// newest epoch.
    pub fn leader(&self) -> Option<ServerId> {
        let leading = self.config().server_ids().filter_map(|id| {
            let Role::Leading(leader) = self.server(id)?.role() else { return None };
            leader.is_established().then_some((leader.epoch(), id))
        });
        leading.max().map(|(_, id)| id)
    }

    /// The connection that a client machine uses.
    pub fn client_connection(&self, client: ClientId) -> Option<ClientConnection> {
        self.clients[client.index()].connection
    }

    /// The server at the other end of it.
    pub fn attached_to(&self, client: ClientId) -> Option<ServerId> {
        self.network.server_of(self.client_connection(client)?)
    }

    /// The server that a client's connection leads to.
    pub fn server_of(&self, connection: ClientConnection) -> Option<ServerId> {
        self.network.server_of(connection)
    }

    /// The server that a learner's connection leads to.
    pub fn leader_of(&self, connection: LearnerConnection) -> Option<ServerId> {
        self.network.leader_of(connection)
    }

    /// A learner's connection to its leader.
    pub fn learner_connection(&self, server: ServerId) -> Option<LearnerConnection> {
        match self.server(server)?.role() {
            Role::Following(learner) => learner.connection(),
            _ => None,
        }
    }

    /// Packets under way on a client's connection: to the server, to the client.
    pub fn under_way(&self, connection: ClientConnection) -> (usize, usize) {
        self.network.under_way(connection)
    }

    /// Packets under way on a learner's connection: to the leader, to the learner.
    pub fn under_way_learner(&self, connection: LearnerConnection) -> (usize, usize) {
        self.network.under_way_learner(connection)
    }

    /// How many transactions a server has appended but not fsynced.
    pub fn unsynced(&self, server: ServerId) -> usize {
        self.disk(server).unsynced()
    }

    /// A client's machine.
    pub fn machine(&self, client: ClientId) -> &ClientMachine {
        &self.clients[client.index()].machine
    }

    /// A client's session, once it has an id.
    pub fn session(&self, client: ClientId) -> Option<SessionId> {
        self.clients[client.index()].machine.session()
    }

    /// A client's requests in flight.
    pub fn in_flight(&self, client: ClientId) -> impl Iterator<Item = (Xid, &Arc<Request>)> {
        self.clients[client.index()].machine.pending()
    }

    /// Whether nothing passes from one machine to the other.
    pub fn is_cut(&self, from: Machine, to: Machine) -> bool {
        self.network.is_cut(from, to)
    }

    /// What a program is doing.
    pub fn program(&self, client: ClientId) -> ProgramState {
        self.clients[client.index()].program
    }

    /// Whether a client machine stands still.
    pub fn is_paused(&self, client: ClientId) -> bool {
        self.clients[client.index()].paused
    }

    /// Whether a program awaits a cancellation.
    pub fn can_cancel(&self, client: ClientId) -> bool {
        !self.clients[client.index()].cancellable.is_empty()
    }

    /// What a program waits for, in words.
    pub fn waits_for(&self, client: ClientId) -> String {
        self.clients[client.index()].waits_for()
    }

    /// What a server does, in words.
    pub fn state_of(&self, server: ServerId) -> String {
        self.server(server).map_or_else(|| "down".into(), Server::describe)
    }

    /// Every step that is possible now and is neither a fault nor a timer (which timers are armed
    /// is the engine's knowledge), in a fixed order. `draws` are the random numbers to try.
    pub fn enabled(&self, draws: &[u64], steps: &mut Vec<Step>) {
        let from = steps.len();
        self.network.deliveries(steps);
        for server in self.config().server_ids() {
            let Some(process) = self.server(server) else { continue };
            let enables = |step: &Step| process.enables(step, self.disk(server));
            let own = [Step::Append, Step::Fsync, Step::Write, Step::Snapshot];
            steps.extend(own.map(|step| step(server)).into_iter().filter(enables));
            if let Role::Leading(leader) = process.role() {
                steps.extend(leader.each_connection().map(Step::Stream).filter(enables));
            }
        }
        for at in 0..self.clients.len() {
            self.enabled_on_client(ClientId::at(at), draws, steps);
        }
        let mut kept = from;
        for at in from..steps.len() {
            if self.is_unblocked(&steps[at]) {
                steps.swap(kept, at);
                kept += 1;
            }
        }
        steps.truncate(kept);
    }

    fn enabled_on_client(&self, client: ClientId, draws: &[u64], steps: &mut Vec<Step>) {
        let node = &self.clients[client.index()];
        if node.program == ProgramState::NotStarted {
            steps.push(Step::Start(client));
        }
        if node.has_input() {
            steps.push(Step::Input(client));
        }
        for call in node.draws() {
            let draw = |value: &u64| Step::Random { client, call, value: *value };
            steps.extend(draws.iter().map(draw));
        }
        let calls: Vec<CallId> = node.resource_calls().collect();
        steps.extend(calls.into_iter().map(|call| Step::Resource { client, call }));
        steps.extend(node.senders().map(|from| Step::Message { from, to: client }));
    }

    /// Whether nothing blocks a possible step.
    pub(super) fn is_unblocked(&self, step: &Step) -> bool {
        let is_open = |from, to| !self.network.is_cut(from, to);
        let (server, client) = (Machine::Server, Machine::Client);
        match *step {
            Step::ToServer(connection) => self
                .network
                .server_of(connection)
                .is_some_and(|to| is_open(client(connection.client), server(to))),
            Step::ToClient(connection) => {
                !self.is_paused(connection.client)
                    && self
                        .network
                        .server_of(connection)
                        .is_some_and(|from| is_open(server(from), client(connection.client)))
            }
            Step::ToLeader(connection) => {
                let Some(leader) = self.network.leader_of(connection) else { return false };
                let is_deaf = self.server(leader).is_some_and(|process| match process.role() {
                    Role::Leading(role) => role.is_deaf(process.writing()),
                    _ => false,
                });
                !is_deaf && is_open(server(connection.learner), server(leader))
            }
            Step::ToLearner(connection) => {
                let Some(leader) = self.network.leader_of(connection) else { return false };
                let busy = self.server(connection.learner).is_some_and(|it| it.writing().is_some());
                !busy && is_open(server(leader), server(connection.learner))
            }
            Step::Vote { from, to } => self.is_up(to) && is_open(server(from), server(to)),
            Step::Start(client) | Step::Input(client) => !self.is_paused(client),
            _ => true,
        }
    }
}
