//! Clients that are no machines: for a tool that speaks the client protocol itself and wants to see
//! every packet, such as the comparison with a real server.
//!
//! A raw client sits on the place of a client machine of the configuration that is never started. It
//! opens connections, sends packets and takes what comes back; what servers do in between are steps
//! as ever, and the engine's affair.

use super::Ensemble;
use crate::network::Delivered;
use crate::vocabulary::effect::Effects;
use crate::vocabulary::id::{ClientConnection, ClientId, ServerId};
use crate::vocabulary::packet::{ClientPacket, ServerPacket};

impl Ensemble {
    /// Opens a connection for a client; it may have others.
    pub fn open_raw(&mut self, client: ClientId, server: ServerId) -> ClientConnection {
        self.network.open_client(client, server)
    }

    /// Puts a packet on a connection: the server's step of reading it becomes due.
    pub fn send_raw(
        &mut self,
        connection: ClientConnection,
        packet: ClientPacket,
        effects: &mut Effects,
    ) {
        self.network.send_to_server(connection, packet, effects);
    }

    /// Takes the next packet of a connection, or its end; `None` where nothing has come.
    pub fn receive_raw(&mut self, connection: ClientConnection) -> Option<Delivered<ServerPacket>> {
        self.network.read_from_server(connection)
    }

    /// Whether there is something to receive.
    pub fn has_news_raw(&self, connection: ClientConnection) -> bool {
        self.network.has_news(connection)
    }

    /// Closes a connection without a word.
    pub fn close_raw(&mut self, connection: ClientConnection, effects: &mut Effects) {
        self.network.close_by_client(connection, effects);
    }
}
