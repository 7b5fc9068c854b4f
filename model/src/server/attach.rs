//! Clients' connections to this server: handshake, revalidation, end (semantics 2.1, 2.4).

use super::tracker::Owner;
use super::{Context, Role, Server, access};
use crate::network::Delivered;
use crate::vocabulary::acl::Id;
use crate::vocabulary::id::{ClientConnection, SessionId, Xid};
use crate::vocabulary::op::{Op, Request};
use crate::vocabulary::packet::{ClientPacket, ServerPacket, ServerRequest};
use crate::vocabulary::time::Duration;
use crate::vocabulary::zxid::Zxid;
use crate::wire::Opcodes;
use crate::wire::request::encode_client;
use std::sync::Arc;

/// One accepted connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attachment {
    /// The session that it has, or will have once the handshake is through.
    pub(super) session: SessionId,
    pub(super) state: State,
    /// The identities that the connection has: of its address, and what it has proven.
    pub(super) auth: Arc<[Id]>,
}

/// How far the handshake has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// createSession is on its way through the leader.
    Creating,
    /// The leader is asked whether the session is alive.
    Revalidating,
    /// ConnectResponse was sent.
    Established,
}

impl Server {
    /// Reads from a client's connection. A server that does not serve hangs up.
    pub fn from_client(
        &mut self,
        connection: ClientConnection,
        delivered: Delivered<ClientPacket>,
        context: &mut Context<'_>,
    ) {
        if !self.is_serving() && !self.read_only {
            context.network.close_by_server(connection, context.effects);
            return;
        }
        match delivered {
            Delivered::End { .. } => self.forget_connection(connection),
            Delivered::Packet(ClientPacket::Connect {
                last_zxid_seen,
                timeout,
                session,
                read_only,
            }) if !self.attachments.contains_key(&connection) => {
                if self.read_only && !read_only {
                    // Rule 1: it has asked for a server that can do more.
                    context.network.close_by_server(connection, context.effects);
                    return;
                }
                self.connect(connection, last_zxid_seen, timeout, session, context);
            }
            Delivered::Packet(packet) if is_too_long(&packet, context) => {
                context.effects.note(|| "the packet is longer than jute.maxbuffer".to_owned());
                self.hang_up(connection, context);
            }
            Delivered::Packet(packet) => self.client_packet(connection, packet, context),
        }
    }

    /// The handshake (semantics 2.1).
    fn connect(
        &mut self,
        connection: ClientConnection,
        last_zxid_seen: Zxid,
        timeout: Duration,
        session: Option<SessionId>,
        context: &mut Context<'_>,
    ) {
        if last_zxid_seen > self.tree.last_processed() {
            // Rule 2: the client has seen more than this server; it must try another.
            context
                .effects
                .note(|| format!("{} refuses: the client has seen {last_zxid_seen}", context.id));
            context.network.close_by_server(connection, context.effects);
            return;
        }
        if self.refuses_session(session) {
            context.network.close_by_server(connection, context.effects);
            return;
        }
        context.network.accept_client(connection);
        let timeout = context.config.negotiate(timeout);
        match session {
            None => self.create_session(connection, timeout, context),
            Some(session) => self.reopen_session(connection, session, timeout, context),
        }
    }

    /// Rule 4: an id from this server, then createSession through the leader. If the connection
    /// breaks before the answer, the session exists all the same. With local sessions (2.6) there is
    /// no transaction, and the answer comes at once.
    fn create_session(
        &mut self,
        connection: ClientConnection,
        timeout: Duration,
        context: &mut Context<'_>,
    ) {
        let session = SessionId::new(self.id, self.start, self.next_session);
        self.next_session += 1;
        if context.config.options.local_sessions {
            self.attach(connection, session, State::Established, context);
            self.track_local(session, timeout, context);
            let read_only = self.read_only;
            context.to_client(connection, ServerPacket::Connected { session, timeout, read_only });
            return;
        }
        let auth = self.attach(connection, session, State::Creating, context);
        if self.read_only {
            // No answer that a client waiting for a ConnectResponse understands.
            self.not_read_only(connection, Xid(0), context);
            return;
        }
        let request = ServerRequest::CreateSession { timeout };
        self.submit_write(session, Xid(0), request, auth, context);
    }

    /// Rule 5: any other connection of the session on this server is closed first; then the leader
    /// is asked, but for a local session, of which no leader knows.
    fn reopen_session(
        &mut self,
        connection: ClientConnection,
        session: SessionId,
        negotiated: Duration,
        context: &mut Context<'_>,
    ) {
        if let Some(old) = self.sessions.get(&session).copied() {
            self.hang_up(old, context);
        }
        self.attach(connection, session, State::Revalidating, context);
        if let Some(timeout) = self.touch_local(session, context) {
            self.revalidated(session, connection, Some(timeout), context);
            return;
        }
        if self.read_only {
            let alive = !context.config.options.local_sessions;
            self.revalidated(session, connection, alive.then_some(negotiated), context);
            return;
        }
        match &self.role {
            Role::Following(learner) => learner.revalidate(session, connection, context),
            Role::Leading(_) => {
                let timeout = self.revalidate_at_leader(session, Owner::Leader, context);
                self.revalidated(session, connection, timeout, context);
            }
            Role::Looking => unreachable!("only a serving server reads from clients"),
        }
    }

    fn attach(
        &mut self,
        connection: ClientConnection,
        session: SessionId,
        state: State,
        context: &Context<'_>,
    ) -> Arc<[Id]> {
        let address = &context.config.clients[connection.client.index()].address;
        let auth: Arc<[Id]> = Arc::from([access::of_address(address)]);
        let attachment = Attachment { session, state, auth: Arc::clone(&auth) };
        self.attachments.insert(connection, attachment);
        self.sessions.insert(session, connection);
        auth
    }

    /// `addAuth`: the connection has one identity more, or is closed (semantics 1.9).
    pub(super) fn authenticate(
        &mut self,
        connection: ClientConnection,
        scheme: &str,
        auth: &[u8],
        context: &mut Context<'_>,
    ) {
        let Some(attachment) = self.attachments.get_mut(&connection) else { return };
        let address = &context.config.clients[connection.client.index()].address;
        match access::authenticate(scheme, auth, address, &context.config.options) {
            Ok(proven) => {
                attachment.auth = access::with(&attachment.auth, proven);
                context.to_client(connection, ServerPacket::Authenticated { result: Ok(()) });
            }
            Err(error) => {
                context.to_client(connection, ServerPacket::Authenticated { result: Err(error) });
                self.hang_up(connection, context);
            }
        }
    }

    /// The answer to a revalidation: rule 6 for a session that is over.
    pub(super) fn revalidated(
        &mut self,
        session: SessionId,
        connection: ClientConnection,
        timeout: Option<Duration>,
        context: &mut Context<'_>,
    ) {
        // The slot may have been used again meanwhile, for another session.
        let waits = self.attachments.get_mut(&connection).filter(|attachment| {
            attachment.session == session && attachment.state == State::Revalidating
        });
        let Some(attachment) = waits else { return };
        match timeout {
            Some(timeout) => {
                attachment.state = State::Established;
                let read_only = self.read_only;
                context
                    .to_client(connection, ServerPacket::Connected { session, timeout, read_only });
            }
            None => {
                context.to_client(connection, ServerPacket::Expired);
                self.hang_up(connection, context);
            }
        }
    }

    /// createSession was applied here: the client gets its session (rule 4).
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

    /// The server closes a connection.
    pub(super) fn hang_up(&mut self, connection: ClientConnection, context: &mut Context<'_>) {
        context.network.close_by_server(connection, context.effects);
        self.forget_connection(connection);
    }

    /// The connection is over: its watches go, its session stays.
    fn forget_connection(&mut self, connection: ClientConnection) {
        if let Some(attachment) = self.attachments.remove(&connection) {
            if self.sessions.get(&attachment.session) == Some(&connection) {
                self.sessions.remove(&attachment.session);
            }
            self.watches.remove_connection(connection);
            // What it asked goes on; only nobody is answered.
            for waiting in self.pending.get_mut(&attachment.session).into_iter().flatten() {
                if waiting.connection == Some(connection) {
                    waiting.connection = None;
                }
            }
        }
    }

    /// closeAllConnections, when the role ends; local sessions end with it.
    pub(super) fn detach_all_clients(&mut self, context: &mut Context<'_>) {
        for connection in context.network.clients_of(self.id) {
            if self.attachments.contains_key(&connection) {
                self.hang_up(connection, context);
            }
        }
        self.forget_all_local(context);
        self.pending.clear();
        debug_assert!(self.sessions.is_empty() && self.watches.is_empty());
    }

    /// The server of this session's requests, for the connection that owns it here.
    pub fn has_session(&self, session: SessionId) -> bool {
        self.sessions.contains_key(&session)
    }
}

/// Whether a packet is longer than `jute.maxbuffer`: that breaks the connection, not the request
/// (semantics 1.11). Only what carries much data is measured.
fn is_too_long(packet: &ClientPacket, context: &Context<'_>) -> bool {
    let ClientPacket::Request { request, .. } = packet else { return false };
    let limit = context.config.options.max_buffer;
    let of_op = |op: &Op| match op {
        Op::Create { path, data, .. } | Op::SetData { path, data, .. } => path.len() + data.len(),
        Op::Delete { path, .. } | Op::Check { path, .. } => path.len(),
    };
    let content = match &**request {
        Request::Write(op) => of_op(op),
        Request::Multi(ops) => ops.iter().map(of_op).sum(),
        _ => return false,
    };
    content > limit / 2 && encode_client(packet, Opcodes::Newest).len() > limit
}
