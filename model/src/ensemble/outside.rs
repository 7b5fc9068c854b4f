//! Clients outside of the run: they have connections to servers, and no machine, program or timer.

use super::Ensemble;
use crate::vocabulary::effect::{Effects, Status};
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientConnection, ClientId, Xid};
use crate::vocabulary::note::Note;
use crate::vocabulary::observation::Observed;
use crate::vocabulary::outside::Outside;
use crate::vocabulary::packet::ServerPacket;

impl Ensemble {
    /// Returns true if a client is outside of the run: it is no machine of the configuration.
    pub(crate) fn is_outside(&self, client: ClientId) -> bool {
        client.0 > 0 && client.index() >= self.clients.len()
    }

    /// Returns the number of the next client from outside that has not connected yet.
    pub fn next_outside(&self) -> ClientId {
        ClientId::at(self.network.clients())
    }

    /// Returns the connections of a client from outside whose own end is open.
    pub fn open_connections(&self, client: ClientId) -> Vec<ClientConnection> {
        self.network.open_at_client(client)
    }

    /// Returns the packet that a client would read next.
    pub fn next_for_client(&self, connection: ClientConnection) -> Option<&ServerPacket> {
        self.network.next_for_client(connection)
    }

    /// From now on, reports what clients outside send and read to the monitors of clients.
    pub fn see_outside(&mut self) {
        self.seen = Some(Box::default());
    }

    /// Returns the number of sessions from outside that are not judged, because their clients re-attached them with a smaller
    /// zxid than they had read.
    pub fn unjudged_outside(&self) -> usize {
        self.seen.as_ref().map_or(0, |seen| seen.unjudged())
    }

    /// Takes an input from outside. `NotEnabled` if it makes no sense: a connection that is not open, a server that does
    /// not exist.
    pub(crate) fn outside(&mut self, input: &Outside, effects: &mut Effects) -> Status {
        if !self.allows_outside(input) {
            return Status::NotEnabled;
        }
        effects.note(|| Note::Outside(input.clone()));
        match input {
            Outside::Opens { client, server } => _ = self.network.open_outside(*client, *server),
            Outside::Sends { connection, packet } => {
                if let Some(seen) = &mut self.seen
                    && let Some(server) = self.network.server_of(*connection)
                {
                    seen.sends(*connection, server, packet, effects);
                }
                self.network.send_to_server(*connection, packet.clone(), effects);
            }
            Outside::HangsUp { connection } => {
                if let Some(seen) = &mut self.seen {
                    seen.ends(*connection, effects);
                }
                self.network.close_by_client(*connection, effects);
            }
            Outside::Observes { client, session, observation, .. } => {
                self.network.admit(*client);
                effects.event(Event::Observed {
                    client: *client,
                    session: *session,
                    // Its requests are those of connections, which have numbers of their own.
                    next_xid: Xid(0),
                    observation: Observed::new(observation.clone()),
                });
            }
            Outside::Ends { client } => effects.event(Event::Killed { client: *client }),
        }
        Status::Done
    }

    fn allows_outside(&self, input: &Outside) -> bool {
        let is_open = |connection: &ClientConnection| self.network.is_open_at_client(*connection);
        self.config.outside
            && self.is_outside(input.client())
            && match input {
                Outside::Opens { client, server } => {
                    client.index() <= self.network.clients()
                        && self.config.server_ids().any(|id| id == *server)
                }
                Outside::Sends { connection, .. } | Outside::HangsUp { connection } => {
                    is_open(connection)
                }
                Outside::Observes { client, .. } => client.index() <= self.network.clients(),
                Outside::Ends { client } => client.index() < self.network.clients(),
            }
    }
}
