//! Connections of client machines.

use super::connection::{Next, break_both};
use super::{ClientLinks, Network, Opened};
use crate::vocabulary::effect::Effects;
use crate::vocabulary::fingerprint::Tracked;
use crate::vocabulary::id::{ClientConnection, ClientId, ServerId};
use crate::vocabulary::packet::{ClientPacket, Delivered, ServerPacket};
use crate::vocabulary::step::Step;

impl Network {
    /// Opens a connection of a client machine; the client then sends its first packet.
    pub(crate) fn open_client(&mut self, client: ClientId, to: ServerId) -> ClientConnection {
        let slot = self.clients[client.index()].make_mut().open(to);
        ClientConnection { client, slot }
    }

    /// Returns the number of clients, including those outside of the run.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Opens a connection for a client outside of the run: one that has connected before, or the next one.
    pub(crate) fn open_outside(&mut self, client: ClientId, to: ServerId) -> ClientConnection {
        self.admit(client);
        self.open_client(client, to)
    }

    /// Gives the next number to a client from outside that needs no connection yet.
    pub(crate) fn admit(&mut self, client: ClientId) {
        if client.index() == self.clients.len() {
            self.clients.push(Tracked::new(Opened::new()));
        }
    }

    /// Returns the connections of a client whose own end is open.
    pub(crate) fn open_at_client(&self, client: ClientId) -> Vec<ClientConnection> {
        let slots = self.links_of(client).map_or(0, |links| links.slots.len());
        let all = (0..slots).map(|slot| ClientConnection { client, slot: slot as u8 });
        all.filter(|connection| self.is_open_at_client(*connection)).collect()
    }

    /// Returns the packet that a client would read next.
    pub(crate) fn next_for_client(&self, connection: ClientConnection) -> Option<&ServerPacket> {
        match self.links_of(connection.client)?.next_for_opener(connection.slot)? {
            Next::Packet(packet) => Some(packet),
            Next::End => None,
        }
    }

    /// Returns true if the client's end of a connection is open.
    pub(crate) fn is_open_at_client(&self, connection: ClientConnection) -> bool {
        self.links_of(connection.client)
            .and_then(|links| links.get(connection.slot))
            .is_some_and(|open| open.opener_open)
    }

    /// Returns the connections of a client; `None` for a client outside of the run that has not connected yet.
    pub(super) fn links_of(&self, client: ClientId) -> Option<&ClientLinks> {
        self.clients.get(client.index()).map(|links| &**links)
    }

    /// Returns the server that a connection leads to.
    pub fn server_of(&self, connection: ClientConnection) -> Option<ServerId> {
        self.links_of(connection.client)?.get(connection.slot).map(|open| open.to)
    }

    /// Sends a packet from a client machine. No effect if the connection has ended.
    pub(crate) fn send_to_server(
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

    /// Sends a packet from a server to a client machine. No effect if the connection has ended.
    pub(crate) fn send_to_client(
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

    /// Accepts a connection at its server. If the server closes it before this, the client sees a refusal.
    pub(crate) fn accept_client(&mut self, connection: ClientConnection) {
        if let Some(open) =
            self.clients[connection.client.index()].make_mut().get_mut(connection.slot)
        {
            open.accepted = true;
        }
    }

    /// Reads from a connection at its server.
    pub fn read_from_client(
        &mut self,
        connection: ClientConnection,
    ) -> Option<Delivered<ClientPacket>> {
        let links = self.clients[connection.client.index()].make_mut();
        let delivered = links.get_mut(connection.slot)?.read_up();
        links.tidy(connection.slot);
        delivered
    }

    /// Reads from a connection at its client machine.
    pub(crate) fn read_from_server(
        &mut self,
        connection: ClientConnection,
    ) -> Option<Delivered<ServerPacket>> {
        let links = self.clients[connection.client.index()].make_mut();
        let delivered = links.get_mut(connection.slot)?.read_down();
        links.tidy(connection.slot);
        delivered
    }

    /// Returns true if the client machine has something to read.
    pub fn has_news(&self, connection: ClientConnection) -> bool {
        let open = self.links_of(connection.client).and_then(|links| links.get(connection.slot));
        open.is_some_and(|open| open.has_for_opener())
    }

    /// Closes the client's end of a connection.
    pub(crate) fn close_by_client(&mut self, connection: ClientConnection, effects: &mut Effects) {
        let links = self.clients[connection.client.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.opener_open && open.close_opener() {
            effects.due(Step::ToServer(connection));
        }
        links.tidy(connection.slot);
    }

    /// Closes the server's end of a connection.
    pub(crate) fn close_by_server(&mut self, connection: ClientConnection, effects: &mut Effects) {
        let links = self.clients[connection.client.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.acceptor_open && open.close_acceptor() {
            effects.due(Step::ToClient(connection));
        }
        links.tidy(connection.slot);
    }

    /// Returns every connection whose end at `server` is open.
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

    /// Returns the number of packets in flight: to the server, and to the client.
    pub fn under_way(&self, connection: ClientConnection) -> (usize, usize) {
        self.clients[connection.client.index()]
            .get(connection.slot)
            .map_or((0, 0), |open| (open.up.packets.len(), open.down.packets.len()))
    }

    /// Breaks a connection and keeps this many packets in flight in each direction. Returns false if it was broken or
    /// closed already.
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

    /// Returns true if a client's connection can still break.
    pub(crate) fn is_breakable_client(&self, connection: ClientConnection) -> bool {
        let open = self.links_of(connection.client).and_then(|links| links.get(connection.slot));
        open.is_some_and(|open| open.is_breakable())
    }
}
