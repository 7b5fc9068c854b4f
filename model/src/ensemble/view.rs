//! What engines and people may ask of an ensemble.

use super::Ensemble;
use crate::client::ClientMachine;
use crate::program::machines::ProgramState;
use crate::server::disk::Disk;
use crate::server::{Role, Server};
use crate::vocabulary::id::{
    ClientConnection, ClientId, LearnerConnection, Machine, ServerId, SessionId, Xid,
};
use crate::vocabulary::op::Request;
use crate::vocabulary::txn::Txn;
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

    /// Where the tree of a server that serves is not what these committed transactions make: which server, and the
    /// first difference.
    pub fn phantom(&self, committed: &[Arc<Txn>]) -> Option<String> {
        self.config.server_ids().find_map(|id| {
            let tree = self.server(id).filter(|server| server.is_serving())?.tree();
            let mut right = self.config.setup.tree();
            let behind = committed.iter().take_while(|txn| txn.zxid <= tree.last_processed());
            behind.for_each(|txn| _ = right.apply(txn));
            Some(format!("On {id}, {}.", tree.difference(&right)?))
        })
    }

    /// What a server does, in words.
    pub fn state_of(&self, server: ServerId) -> String {
        self.server(server).map_or_else(|| "down".into(), Server::describe)
    }
}
