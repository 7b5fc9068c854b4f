//! When a step can be taken immediately, because every other order gives the same result.
//!
//! Precondition: no fault can affect the client any more: no connection is lost, no session expires, no program is
//! killed, no call is cancelled, and no timer ends early. Then a packet that its machine reads only adds to the
//! program's inbox, and a request of its program only adds to the connection. These two and the steps of the server
//! commute, as long as nothing else adds to the inbox or abandons calls, and nothing that is in flight, or can
//! arrive, ends the session.

use super::Service;
use crate::client::ClientState;
use crate::program::host::{Operation, Output};
use crate::vocabulary::id::{ClientId, SessionId};
use crate::vocabulary::op::Request;
use crate::vocabulary::packet::{ClientPacket, ServerPacket};

/// The state of a client's session, if nothing can end it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The client is requesting its first session.
    Joining,
    /// The client is re-attaching.
    Returning,
    /// The client is connected, and packets are in flight or can arrive.
    Busy,
    /// The client is connected, and nothing is in flight or can arrive except in answer to its requests.
    Idle,
}

impl Service {
    /// Returns true if the client's program can take its next input now, or after any steps of its server or of other
    /// clients, with the same result. The program's reaction is `outputs`.
    pub fn can_take_at_once(&self, client: ClientId, outputs: &[Output]) -> bool {
        let Some(standing) = self.standing(client) else { return false };
        outputs.iter().all(|output| match output {
            Output::Submit { operation, .. } => self.can_begin(client, standing, operation),
            // A client that re-attaches sends its list of watches to the server.
            Output::Abandon { .. } => standing != Standing::Returning,
            Output::Observe(_) => true,
            // Packets in flight on the connection would be lost.
            Output::Finished(_) => standing == Standing::Idle,
            Output::Send { .. } | Output::Panicked(_) => false,
        })
    }

    /// Returns true if the client machine can read its next packet now, or after any other possible steps, with the
    /// same result.
    pub fn can_read_at_once(&self, client: ClientId) -> bool {
        let standing = self.standing(client);
        standing == Some(Standing::Busy) && !self.clients[client.index()].has_input()
    }

    /// Returns true if the client is connected, so that its requests are sent immediately.
    pub fn sends_at_once(&self, client: ClientId) -> bool {
        matches!(self.standing(client), Some(Standing::Busy | Standing::Idle))
    }

    /// Returns true if a write of this client, or the creation or end of one of its sessions, is in flight.
    pub fn has_commit_under_way(&self, client: ClientId) -> bool {
        let link = &self.links.links[client.index()];
        let writes = |packet: &ClientPacket| match packet {
            ClientPacket::Request { request, .. } => super::link::is_write(request),
            ClientPacket::Connect { session, .. } => session.is_none(),
            _ => false,
        };
        let mine = |session: SessionId| session.client() == client;
        link.to_server.iter().any(writes)
            || self.links.late.keys().any(|session| mine(*session))
            || self.prep.sessions().iter().any(|(session, _)| {
                mine(session) && (self.is_closing(session) || self.is_orphan(session))
            })
    }

    /// Returns true if a call can begin before or after the packets that the machine reads meanwhile.
    fn can_begin(&self, client: ClientId, standing: Standing, operation: &Operation) -> bool {
        let session = self.clients[client.index()].machine.session();
        let connected = matches!(standing, Standing::Busy | Standing::Idle);
        match operation {
            Operation::Request { request, scope, .. } => {
                standing != Standing::Joining
                    && !matches!(**request, Request::CloseSession)
                    && scope.is_none_or(|scope| Some(scope) == session)
            }
            Operation::RemoveWatches { scope, .. } => {
                standing != Standing::Joining && scope.is_none_or(|scope| Some(scope) == session)
            }
            // A connected client answers these immediately.
            Operation::Connect => !connected || standing == Standing::Idle,
            Operation::Close => standing == Standing::Idle,
            Operation::Sleep(_) | Operation::Cancelled => true,
            Operation::Random | Operation::Now | Operation::Resource(_) => true,
            Operation::Receive | Operation::AddAuth { .. } => false,
        }
    }

    /// Returns `None` if something could end the session, or if the program can get inputs from outside ZooKeeper.
    fn standing(&self, client: ClientId) -> Option<Standing> {
        let node = &self.clients[client.index()];
        let machine = &node.machine;
        if !node.awaits_only_zookeeper() || machine.is_closing() || machine.has_identities() {
            return None;
        }
        let link = &self.links.links[client.index()];
        let alive = machine.session().map(|session| self.is_alive(session));
        match machine.state() {
            ClientState::Connecting(_) if alive.is_none() && !link.hung_up => {
                link.to_client.is_empty().then_some(Standing::Joining)
            }
            ClientState::Connecting(_) | ClientState::Waiting => {
                (alive == Some(true) && !link.hung_up).then_some(Standing::Returning)
            }
            ClientState::Connected(_) if alive == Some(true) && self.is_plain(client) => {
                let under_way = !link.to_server.is_empty() || !link.to_client.is_empty();
                let busy = under_way || !link.watches.is_empty();
                Some(if busy { Standing::Busy } else { Standing::Idle })
            }
            _ => None,
        }
    }

    /// Returns true if the connection has been accepted and carries only requests and their answers.
    fn is_plain(&self, client: ClientId) -> bool {
        let link = &self.links.links[client.index()];
        let answers = |packet: &ServerPacket| {
            matches!(
                packet,
                ServerPacket::Reply { .. }
                    | ServerPacket::Notification(_)
                    | ServerPacket::WatchesSet { .. }
            )
        };
        let asks = |packet: &ClientPacket| match packet {
            ClientPacket::Request { request, .. } => !matches!(**request, Request::CloseSession),
            ClientPacket::SetWatches { .. } => true,
            _ => false,
        };
        link.is_served()
            && link.session == self.session(client)
            && link.to_client.iter().all(answers)
            && link.to_server.iter().all(asks)
    }
}
