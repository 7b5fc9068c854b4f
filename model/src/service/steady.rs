//! Where nothing can come between a program and what it is told next, but what makes no difference.
//!
//! It is given that no fault can strike the client any more: no connection can be lost, no session
//! expire, no program be killed, no call cancelled and no timer end early. Then a packet that its machine reads only adds to the
//! program's inbox, and a request that its program makes only adds to the connection. Those two, and
//! what the server does, can be taken in any order with the same result, as long as nothing else adds to
//! the inbox or takes calls away, and as long as nothing that is under way, or can come, ends the session.

use super::Service;
use crate::client::ClientState;
use crate::program::host::{Operation, Output};
use crate::vocabulary::id::{ClientId, SessionId};
use crate::vocabulary::op::Request;
use crate::vocabulary::packet::{ClientPacket, ServerPacket};

/// How a client stands to its session, where nothing can end it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It asks for its first one.
    Joining,
    /// It is on its way back to it.
    Returning,
    /// It is connected, and something is under way or can come.
    Busy,
    /// It is connected, and nothing is under way or can come but what it asks for.
    Idle,
}

impl Service {
    /// Whether the client's program can take its next input now or behind anything that its server or
    /// another client does first, with the same result. The program's reaction is `outputs`.
    pub fn can_take_at_once(&self, client: ClientId, outputs: &[Output]) -> bool {
        let Some(standing) = self.standing(client) else { return false };
        outputs.iter().all(|output| match output {
            Output::Submit { operation, .. } => self.can_begin(client, standing, operation),
            // A client that comes back tells its server which watches it has.
            Output::Abandon { .. } => standing != Standing::Returning,
            Output::Observe(_) => true,
            // What is on the connection is lost with it.
            Output::Finished(_) => standing == Standing::Idle,
            Output::Send { .. } | Output::Panicked(_) => false,
        })
    }

    /// Whether the client machine can read its next packet now or behind anything else that can
    /// happen, with the same result.
    pub fn can_read_at_once(&self, client: ClientId) -> bool {
        let standing = self.standing(client);
        standing == Some(Standing::Busy) && !self.clients[client.index()].has_input()
    }

    /// Whether the client is connected: what its program asks for is sent at once.
    pub fn sends_at_once(&self, client: ClientId) -> bool {
        matches!(self.standing(client), Some(Standing::Busy | Standing::Idle))
    }

    /// Whether a write or the end of a session of this client is under way.
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

    /// Whether a call can begin before or behind what the machine reads meanwhile.
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
            // These are answered at once where the client is connected.
            Operation::Connect => !connected || standing == Standing::Idle,
            Operation::Close => standing == Standing::Idle,
            Operation::Sleep(_) | Operation::Cancelled => true,
            Operation::Random | Operation::Now | Operation::Resource(_) => true,
            Operation::Receive | Operation::AddAuth { .. } => false,
        }
    }

    /// `None` where something could end the session, or where something else than ZooKeeper can tell
    /// the program something.
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

    /// Whether the connection is an accepted one on which nothing but requests and answers is under way.
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
