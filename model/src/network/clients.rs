//! Connections of client machines.

use super::connection::break_both;
use super::{ClientLinks, Network, Opened};
use crate::vocabulary::effect::Effects;
use crate::vocabulary::fingerprint::Tracked;
use crate::vocabulary::id::{ClientConnection, ClientId, ServerId};
use crate::vocabulary::packet::{ClientPacket, Delivered, ServerPacket};
use crate::vocabulary::step::Step;

impl Network {
    /// A client machine opens a connection and sends its first packet.
    pub fn open_client(&mut self, client: ClientId, to: ServerId) -> ClientConnection {
        let slot = self.clients[client.index()].make_mut().open(to);
        ClientConnection { client, slot }
    }

    /// How many clients there are, those outside of the run included.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// A client outside of the run opens a connection. It has been here, or is the next one.
    pub fn open_outside(&mut self, client: ClientId, to: ServerId) -> ClientConnection {
        if client.index() == self.clients.len() {
            self.clients.push(Tracked::new(Opened::new()));
        }
        self.open_client(client, to)
    }

    /// Whether a client's own end of a connection is open.
    pub fn is_open_at_client(&self, connection: ClientConnection) -> bool {
        self.links_of(connection.client)
            .and_then(|links| links.get(connection.slot))
            .is_some_and(|open| open.opener_open)
    }

    /// The connections of a client; `None` for one outside of the run that has not been here.
    pub(super) fn links_of(&self, client: ClientId) -> Option<&ClientLinks> {
        self.clients.get(client.index()).map(|links| &**links)
    }

    /// The server that a connection leads to.
    pub fn server_of(&self, connection: ClientConnection) -> Option<ServerId> {
        self.links_of(connection.client)?.get(connection.slot).map(|open| open.to)
    }

    /// A client machine sends a packet.
    pub fn send_to_server(
        &mut self,
        connection: ClientConnection,
        packet: ClientPacket,
        effects: &mut Effects,
    ) {
        let links = self.clients[connection.client.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.opener_open && open.acceptor_open && !open.up.ended {
            effects.absorb(&packet);
            open.up.packets.push_back(packet);
            effects.due(Step::ToServer(connection));
        }
    }

    /// A server sends a packet to a client machine.
    pub fn send_to_client(
        &mut self,
        connection: ClientConnection,
        packet: ServerPacket,
        effects: &mut Effects,
    ) {
        let links = self.clients[connection.client.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.acceptor_open && open.opener_open && !open.down.ended {
            effects.absorb(&packet);
            open.down.packets.push_back(packet);
            effects.due(Step::ToClient(connection));
        }
    }

    /// A server accepts the connection: closing it from now on is no refusal.
    pub fn accept_client(&mut self, connection: ClientConnection) {
        if let Some(open) =
            self.clients[connection.client.index()].make_mut().get_mut(connection.slot)
        {
            open.accepted = true;
        }
    }

    /// A server reads from a connection.
    pub fn read_from_client(
        &mut self,
        connection: ClientConnection,
    ) -> Option<Delivered<ClientPacket>> {
        let links = self.clients[connection.client.index()].make_mut();
        let delivered = links.get_mut(connection.slot)?.read_up();
        links.tidy(connection.slot);
        delivered
    }

    /// A client machine reads from a connection.
    pub fn read_from_server(
        &mut self,
        connection: ClientConnection,
    ) -> Option<Delivered<ServerPacket>> {
        let links = self.clients[connection.client.index()].make_mut();
        let delivered = links.get_mut(connection.slot)?.read_down();
        links.tidy(connection.slot);
        delivered
    }

    /// Whether a client machine would find something to read.
    pub fn has_news(&self, connection: ClientConnection) -> bool {
        let open = self.links_of(connection.client).and_then(|links| links.get(connection.slot));
        open.is_some_and(|open| open.has_for_opener())
    }

    /// A client machine closes its end.
    pub fn close_by_client(&mut self, connection: ClientConnection, effects: &mut Effects) {
        let links = self.clients[connection.client.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.opener_open && open.close_opener() {
            effects.due(Step::ToServer(connection));
        }
        links.tidy(connection.slot);
    }

    /// A server closes its end.
    pub fn close_by_server(&mut self, connection: ClientConnection, effects: &mut Effects) {
        let links = self.clients[connection.client.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.acceptor_open && open.close_acceptor() {
            effects.due(Step::ToClient(connection));
        }
        links.tidy(connection.slot);
    }

    /// Every connection whose server-side end is open at `server`.
    pub fn clients_of(&self, server: ServerId) -> Vec<ClientConnection> {
        let mut found = Vec::new();
        for (at, links) in self.clients.iter().enumerate() {
            for (slot, open) in links.slots.iter().enumerate() {
                if open.as_ref().is_some_and(|open| open.to == server && open.acceptor_open) {
                    found.push(ClientConnection { client: ClientId::at(at), slot: slot as u8 });
                }
            }
        }
        found
    }

    /// The packets under way: to the server, to the client.
    pub fn under_way(&self, connection: ClientConnection) -> (usize, usize) {
        self.clients[connection.client.index()]
            .get(connection.slot)
            .map_or((0, 0), |open| (open.up.packets.len(), open.down.packets.len()))
    }

    /// A connection breaks, keeping this many packets under way in each direction. Returns whether
    /// there was one to break.
    pub fn break_client(
        &mut self,
        connection: ClientConnection,
        to_server: u8,
        to_client: u8,
        effects: &mut Effects,
    ) -> bool {
        let links = self.clients[connection.client.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return false };
        let Some((up, down)) = break_both(open, to_server, to_client) else { return false };
        if up {
            effects.due(Step::ToServer(connection));
        }
        if down {
            effects.due(Step::ToClient(connection));
        }
        true
    }

    /// Whether a client's connection is not broken yet.
    pub fn is_breakable_client(&self, connection: ClientConnection) -> bool {
        let open = self.links_of(connection.client).and_then(|links| links.get(connection.slot));
        open.is_some_and(|open| open.is_breakable())
    }
}
