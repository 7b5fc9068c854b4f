//! Clients without a client machine, for tools that speak the client protocol themselves and need every packet, such
//! as the comparison with a real server.
//!
//! A raw client takes the place of a client machine of the configuration that is never started. It opens connections,
//! sends packets and receives the answers; the steps of the servers in between are ordinary ones, chosen by the
//! engine.

use super::Ensemble;
use crate::network::Delivered;
use crate::vocabulary::effect::Effects;
use crate::vocabulary::id::{ClientConnection, ClientId, ServerId};
use crate::vocabulary::packet::{ClientPacket, ServerPacket};

impl Ensemble {
    /// Opens a connection for a client, which may have others.
    pub fn open_raw(&mut self, client: ClientId, server: ServerId) -> ClientConnection {
        self.network.open_client(client, server)
    }

    /// Sends a packet on a connection: the step in which the server reads it becomes due.
    pub fn send_raw(
        &mut self,
        connection: ClientConnection,
        packet: ClientPacket,
        effects: &mut Effects,
    ) {
        self.network.send_to_server(connection, packet, effects);
    }

    /// Receives the next packet of a connection, or its end; `None` if nothing has arrived.
    pub fn receive_raw(&mut self, connection: ClientConnection) -> Option<Delivered<ServerPacket>> {
        self.network.read_from_server(connection)
    }

    /// Returns true if there is something to receive.
    pub fn has_news_raw(&self, connection: ClientConnection) -> bool {
        self.network.has_news(connection)
    }

    /// Closes a connection without a closeSession.
    pub fn close_raw(&mut self, connection: ClientConnection, effects: &mut Effects) {
        self.network.close_by_client(connection, effects);
    }
}
