//! Clients' connections to this server: handshake, revalidation, end (rules 2.1 and 2.4).

use super::access;
use super::clients::{Attachment, Clients, State};
use super::context::Context;
use crate::vocabulary::acl::Id;
use crate::vocabulary::config::localhost;
use crate::vocabulary::id::{ClientConnection, SessionId};
use crate::vocabulary::packet::ServerPacket;
use crate::vocabulary::release::Bug;
use crate::vocabulary::time::Duration;
use std::sync::Arc;

impl Clients {
    /// Accepts a connection for a session. Returns the identities of its address.
    pub(super) fn attach(
        &mut self,
        connection: ClientConnection,
        session: SessionId,
        state: State,
        context: &Context<'_>,
    ) -> Arc<[Id]> {
        let address = address_of(connection, context);
        let auth: Arc<[Id]> = Arc::from([access::of_address(&address)]);
        let attachment = Attachment { session, state, auth: Arc::clone(&auth) };
        self.attachments.insert(connection, attachment);
        self.sessions.insert(session, connection);
        auth
    }

    /// Returns the session of a connection that has completed its handshake.
    pub(super) fn established(&self, connection: ClientConnection) -> Option<SessionId> {
        let attachment = self.attachments.get(&connection);
        let established = attachment.filter(|it| it.state == State::Established);
        established.map(|attachment| attachment.session)
    }

    /// Executes `addAuth`: the connection gets another identity, or is closed (rule 1.9.5).
    pub(super) fn authenticate(
        &mut self,
        connection: ClientConnection,
        scheme: &str,
        auth: &[u8],
        context: &mut Context<'_>,
    ) {
        let Some(attachment) = self.attachments.get_mut(&connection) else { return };
        let address = address_of(connection, context);
        match access::authenticate(scheme, auth, &address, &context.config.options) {
            Ok(proven) => {
                let replaced = context.config.bugs.has(Bug::PlantedIdentitiesReplaced);
                let kept = if replaced { &[] } else { &attachment.auth[..] };
                attachment.auth = access::with(kept, proven);
                context.to_client(connection, ServerPacket::Authenticated { result: Ok(()) });
            }
            Err(error) => {
                context.to_client(connection, ServerPacket::Authenticated { result: Err(error) });
                self.hang_up(connection, context);
            }
        }
    }

    /// Handles the answer to a revalidation. A client whose session is over gets Expired (rule 2.1.6).
    pub(super) fn revalidated(
        &mut self,
        session: SessionId,
        connection: ClientConnection,
        timeout: Option<Duration>,
        context: &mut Context<'_>,
    ) {
        // The slot may have been reused for another session meanwhile.
        let waits = self.attachments.get_mut(&connection).filter(|attachment| {
            attachment.session == session && attachment.state == State::Revalidating
        });
        let Some(attachment) = waits else { return };
        match timeout {
            Some(timeout) => {
                attachment.state = State::Established;
                let read_only = self.read_only;
                let planted = context.config.bugs.has(Bug::PlantedTimeoutTold);
                let timeout = if planted { timeout + context.config.tick } else { timeout };
                context
                    .to_client(connection, ServerPacket::Connected { session, timeout, read_only });
            }
            None => {
                context.to_client(connection, ServerPacket::Expired);
                self.hang_up(connection, context);
            }
        }
    }

    /// Completes a handshake after createSession was applied: the client gets its session (rule 2.1.4).
    pub(super) fn session_created(
        &mut self,
        session: SessionId,
        timeout: Duration,
        context: &mut Context<'_>,
    ) {
        let Some(connection) = self.sessions.get(&session).copied() else { return };
        let attachment = self.attachments.get_mut(&connection).expect("sessions name attachments");
        if attachment.state == State::Creating {
            attachment.state = State::Established;
            context.to_client(
                connection,
                ServerPacket::Connected { session, timeout, read_only: false },
            );
        }
    }

    /// Closes a connection from the server's side.
    pub(super) fn hang_up(&mut self, connection: ClientConnection, context: &mut Context<'_>) {
        context.network.close_by_server(connection, context.effects);
        self.forget_connection(connection);
    }

    /// Forgets a closed connection: its watches are removed, its session remains.
    pub(super) fn forget_connection(&mut self, connection: ClientConnection) {
        if let Some(attachment) = self.attachments.remove(&connection) {
            if self.sessions.get(&attachment.session) == Some(&connection) {
                self.sessions.remove(&attachment.session);
            }
            self.watches.remove_connection(connection);
            // The connection's requests continue, but their replies are dropped.
            for waiting in self.pending.get_mut(&attachment.session).into_iter().flatten() {
                if waiting.connection == Some(connection) {
                    waiting.connection = None;
                }
            }
        }
    }

    /// Closes all connections when the role ends (closeAllConnections); local sessions end with them.
    pub(super) fn detach_all_clients(&mut self, context: &mut Context<'_>) {
        for connection in context.network.clients_of(context.id) {
            if self.attachments.contains_key(&connection) {
                self.hang_up(connection, context);
            }
        }
        self.forget_all_local(context);
        self.pending.clear();
        debug_assert!(self.sessions.is_empty() && self.watches.is_empty());
    }
}

/// Returns the address of a client. Clients outside of the run connect from the loopback address.
fn address_of(connection: ClientConnection, context: &Context<'_>) -> Arc<str> {
    let machine = context.config.clients.get(connection.client.index());
    machine.map_or_else(localhost, |machine| Arc::clone(&machine.address))
}
