//! Read access to an ensemble, for engines and reports.

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
    /// Returns a server's process, if it is up.
    pub fn server(&self, server: ServerId) -> Option<&Server> {
        self.servers[server.index()].process.as_ref()
    }

    /// Returns a server's disk.
    pub fn disk(&self, server: ServerId) -> &Disk {
        &self.servers[server.index()].disk
    }

    /// Returns true if a server's process is up.
    pub fn is_up(&self, server: ServerId) -> bool {
        self.server(server).is_some()
    }

    /// Returns true if a server serves clients.
    pub fn is_serving(&self, server: ServerId) -> bool {
        self.server(server).is_some_and(Server::is_serving)
    }

    /// Returns the established leader. Of several (a deposed one that has not noticed), it is the one of the newest
    /// epoch.
    pub fn leader(&self) -> Option<ServerId> {
        let leading = self.config().server_ids().filter_map(|id| {
            let Role::Leading(leader) = self.server(id)?.role() else { return None };
            leader.is_established().then_some((leader.epoch(), id))
        });
        leading.max().map(|(_, id)| id)
    }

    /// Returns the connection that a client machine uses.
    pub fn client_connection(&self, client: ClientId) -> Option<ClientConnection> {
        self.clients[client.index()].connection
    }

    /// Returns the server at the other end of that connection.
    pub fn attached_to(&self, client: ClientId) -> Option<ServerId> {
        self.network.server_of(self.client_connection(client)?)
    }

    /// Returns the server that a client's connection leads to.
    pub fn server_of(&self, connection: ClientConnection) -> Option<ServerId> {
        self.network.server_of(connection)
    }

    /// Returns the server that a learner's connection leads to.
    pub fn leader_of(&self, connection: LearnerConnection) -> Option<ServerId> {
        self.network.leader_of(connection)
    }

    /// Returns a learner's connection to its leader.
    pub fn learner_connection(&self, server: ServerId) -> Option<LearnerConnection> {
        self.server(server)?.role().learner()?.connection()
    }

    /// Returns the number of packets in flight on a client's connection: to the server, and to the client.
    pub fn under_way(&self, connection: ClientConnection) -> (usize, usize) {
        self.network.under_way(connection)
    }

    /// Returns the number of packets in flight on a learner's connection: to the leader, and to the learner.
    pub fn under_way_learner(&self, connection: LearnerConnection) -> (usize, usize) {
        self.network.under_way_learner(connection)
    }

    /// Returns the number of transactions that a server has appended but not fsynced.
    pub fn unsynced(&self, server: ServerId) -> usize {
        self.disk(server).unsynced()
    }

    /// Returns a client's machine.
    pub fn machine(&self, client: ClientId) -> &ClientMachine {
        &self.clients[client.index()].machine
    }

    /// Returns a client's session, once it has an id.
    pub fn session(&self, client: ClientId) -> Option<SessionId> {
        self.clients[client.index()].machine.session()
    }

    /// Returns a client's requests in flight.
    pub fn in_flight(&self, client: ClientId) -> impl Iterator<Item = (Xid, &Arc<Request>)> {
        self.clients[client.index()].machine.pending()
    }

    /// Returns true if the link in this direction is cut.
    pub fn is_cut(&self, from: Machine, to: Machine) -> bool {
        self.network.is_cut(from, to)
    }

    /// Returns the state of a client's program.
    pub fn program(&self, client: ClientId) -> ProgramState {
        self.clients[client.index()].program
    }

    /// Returns true if a client machine is paused.
    pub fn is_paused(&self, client: ClientId) -> bool {
        self.clients[client.index()].paused
    }

    /// Returns true if a program awaits a cancellation.
    pub fn can_cancel(&self, client: ClientId) -> bool {
        !self.clients[client.index()].cancellable.is_empty()
    }

    /// Describes what a program waits for.
    pub fn waits_for(&self, client: ClientId) -> String {
        self.clients[client.index()].waits_for()
    }

    /// Describes the first difference between the tree of a serving server and the tree that the committed
    /// transactions yield up to its last processed zxid, with the server's name. Returns `None` if there is none.
    pub fn phantom(&self, committed: &[Arc<Txn>]) -> Option<String> {
        self.config.server_ids().find_map(|id| {
            let tree = self.server(id).filter(|server| server.is_serving())?.tree();
            let mut right = self.config.first_tree();
            let behind = committed.iter().take_while(|txn| txn.zxid <= tree.last_processed());
            behind.for_each(|txn| _ = right.apply(txn));
            Some(format!("On {id}, {}.", tree.difference(&right)?))
        })
    }

    /// Describes the state of a server.
    pub fn state_of(&self, server: ServerId) -> String {
        self.server(server).map_or_else(|| "down".into(), Server::describe)
    }
}
