//! The requests of clients as far as the server's role matters: the handshake, and the forwarding of requests to the
//! leader (rules 2.1, 2.4 and 4.2).

use super::clients::{Pending, State};
use super::context::{Leave, Stays};
use super::local::creates_ephemeral;
use super::prep::Asker;
use super::read_only::needs_leader;
use super::tracker::Owner;
use super::{Context, InRole, Role, Server};
use crate::network::Delivered;
use crate::vocabulary::acl::Id;
use crate::vocabulary::config::Config;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientConnection, SessionId, Xid};
use crate::vocabulary::note::Note;
use crate::vocabulary::op::{Op, Request};
use crate::vocabulary::packet::{ClientPacket, ServerPacket, ServerRequest};
use crate::vocabulary::release::Bug;
use crate::vocabulary::time::Duration;
use crate::vocabulary::zxid::Zxid;
use crate::wire::Opcodes;
use crate::wire::request::encode_client;
use std::sync::Arc;

impl Server {
    /// Reads from a client's connection, and emits [`Event::Heard`] for its session. A server that does not serve
    /// clients closes the connection.
    pub(crate) fn read_from_client(
        &mut self,
        connection: ClientConnection,
        delivered: Delivered<ClientPacket>,
        context: &mut Context<'_>,
    ) {
        let is_handshake = matches!(delivered, Delivered::Packet(ClientPacket::Connect { .. }));
        // A packet longer than jute.maxbuffer ends the connection (rule 1.11.1) and is no sign of life.
        let before = self.attends(connection).filter(|_| {
            matches!(&delivered, Delivered::Packet(packet) if !is_too_long(packet, context.config))
        });
        self.client_delivered(connection, delivered, context);
        // An accepted ConnectRequest keeps its session alive too.
        let session = before.or_else(|| self.attends(connection).filter(|_| is_handshake));
        if let Some(session) = session {
            context.effects.event(Event::Heard { server: context.id, session });
        }
    }

    fn client_delivered(
        &mut self,
        connection: ClientConnection,
        delivered: Delivered<ClientPacket>,
        context: &mut Context<'_>,
    ) {
        let is_read_only = self.clients.read_only;
        if !self.is_serving() && !is_read_only {
            context.network.close_by_server(connection, context.effects);
            return;
        }
        // Every packet, even a ping, passes the CommitProcessor.
        self.commits.wake(context);
        match delivered {
            Delivered::End { .. } => self.clients.forget_connection(connection),
            Delivered::Packet(ClientPacket::Connect {
                last_zxid_seen,
                timeout,
                session,
                read_only,
            }) if !self.clients.attachments.contains_key(&connection) => {
                if is_read_only && !read_only {
                    // Rule 2.1.1: the client does not accept a read-only server.
                    context.network.close_by_server(connection, context.effects);
                    return;
                }
                let stays = self.connect(connection, last_zxid_seen, timeout, session, context);
                self.stay_or_leave(stays, context);
            }
            Delivered::Packet(packet) if is_too_long(&packet, context.config) => {
                context.effects.note(|| Note::PacketTooLong);
                self.clients.hang_up(connection, context);
            }
            Delivered::Packet(packet) => {
                let stays = self.client_packet(connection, packet, context);
                self.stay_or_leave(stays, context);
            }
        }
    }

    /// Executes the handshake (rule 2.1).
    fn connect(
        &mut self,
        connection: ClientConnection,
        last_zxid_seen: Zxid,
        timeout: Duration,
        session: Option<SessionId>,
        context: &mut Context<'_>,
    ) -> Stays {
        if last_zxid_seen > self.database.tree.last_processed() {
            // Rule 2.1.2: the client has seen more than this server, and must try another.
            context.effects.note(|| Note::ClientIsAhead { server: context.id, last_zxid_seen });
            context.network.close_by_server(connection, context.effects);
            return Ok(());
        }
        if self.serving().refuses_session(session) {
            context.network.close_by_server(connection, context.effects);
            return Ok(());
        }
        context.network.accept_client(connection);
        let timeout = context.config.negotiate(timeout);
        match session {
            None => self.create_session(connection, timeout, context),
            Some(session) => {
                self.reopen_session(connection, session, timeout, context);
                Ok(())
            }
        }
    }

    /// Creates a session (rule 2.1.4): an id from this server, then createSession through the leader. If the
    /// connection breaks before the answer, the session exists nevertheless. A local session (rule 2.6.1) needs no
    /// transaction, and is answered immediately.
    fn create_session(
        &mut self,
        connection: ClientConnection,
        timeout: Duration,
        context: &mut Context<'_>,
    ) -> Stays {
        let session = SessionId::new(self.id, self.start, self.next_session);
        self.next_session += 1;
        if context.config.options.local_sessions {
            self.clients.attach(connection, session, State::Established, context);
            self.clients.track_local(session, timeout, context);
            let read_only = self.clients.read_only;
            context.to_client(connection, ServerPacket::Connected { session, timeout, read_only });
            return Ok(());
        }
        let auth = self.clients.attach(connection, session, State::Creating, context);
        if self.clients.read_only {
            // A client that waits for a ConnectResponse does not understand this answer.
            self.serving().not_read_only(connection, Xid(0), context);
            return Ok(());
        }
        let request = ServerRequest::CreateSession { timeout };
        self.submit_write(session, Xid(0), request, auth, context)
    }

    /// Re-attaches a session (rule 2.1.5): closes any other connection of it on this server, then asks the leader,
    /// unless the session is local, which no leader knows.
    fn reopen_session(
        &mut self,
        connection: ClientConnection,
        session: SessionId,
        negotiated: Duration,
        context: &mut Context<'_>,
    ) {
        let clients = &mut self.clients;
        if let Some(old) = clients.sessions.get(&session).copied() {
            context.effects.event(Event::Reattached { server: self.id, session });
            if !context.config.bugs.has(Bug::PlantedOldConnectionStays) {
                clients.hang_up(old, context);
            }
        }
        clients.attach(connection, session, State::Revalidating, context);
        if let Some(timeout) = clients.touch_local(session, context) {
            clients.revalidated(session, connection, Some(timeout), context);
            return;
        }
        match self.in_role() {
            InRole::Following(it) => it.learner.revalidate(session, connection, context),
            InRole::Leading(mut leading) => {
                let timeout = leading.revalidate(session, Owner::Leader, context);
                leading.clients.revalidated(session, connection, timeout, context);
            }
            // Read-only: there is no leader to ask.
            InRole::Looking(it) => {
                let alive = !context.config.options.local_sessions;
                it.clients.revalidated(session, connection, alive.then_some(negotiated), context);
            }
        }
    }

    /// Handles a packet of a client, after the handshake.
    fn client_packet(
        &mut self,
        connection: ClientConnection,
        packet: ClientPacket,
        context: &mut Context<'_>,
    ) -> Stays {
        // Packets on a connection that is closed, or has not completed its handshake, are ignored.
        let attachment = self.clients.attachments.get(&connection);
        let attachment = attachment.filter(|attachment| attachment.state == State::Established);
        let Some(attachment) = attachment else { return Ok(()) };
        let (session, auth) = (attachment.session, Arc::clone(&attachment.auth));
        if let ClientPacket::Request { xid, request } = &packet
            && matches!(**request, Request::Sync { .. })
            && self.is_established_leader()
        {
            let (leader, xid, by_learner) = (context.id, *xid, false);
            context.effects.event(Event::SyncRead { leader, session, xid, by_learner });
        }
        self.touch(session, context);
        if let ClientPacket::Request { xid, request } = &packet
            && !context.config.options.operations_of.knows(request)
        {
            self.unimplemented(connection, *xid, context);
            return Ok(());
        }
        let is_leading = matches!(self.role, Role::Leading(_));
        let is_read_only = self.clients.read_only;
        let closes_local = matches!(&packet, ClientPacket::Request { request, .. }
            if **request == Request::CloseSession && self.clients.local.contains(session));
        match packet {
            ClientPacket::Request { xid, request }
                if is_read_only && needs_leader(&request) && !closes_local =>
            {
                self.serving().not_read_only(connection, xid, context);
            }
            ClientPacket::Request { xid, request }
                if needs_commit(&request, is_leading) && !closes_local =>
            {
                let is_sync = matches!(*request, Request::Sync { .. });
                let what = if is_sync { Pending::Sync(xid) } else { Pending::Write(xid) };
                let exception = self.upgrade_session(session, &request, context)?;
                let planted = context.config.bugs.has(Bug::PlantedLocalSync)
                    && is_sync
                    && !self.clients.pending.contains_key(&session);
                self.clients.wait(session, connection, what, exception);
                if planted {
                    self.serving().synced(session, xid, context);
                    return Ok(());
                }
                let request = ServerRequest::Client(request);
                return self.submit_write(session, xid, request, auth, context);
            }
            // Not ordered with the requests: the packet thread does it immediately.
            ClientPacket::Auth { scheme, auth } => {
                self.clients.authenticate(connection, &scheme, &auth, context);
            }
            // Everything else only waits for earlier requests.
            packet if self.clients.pending.contains_key(&session) => {
                self.clients.wait(session, connection, Pending::Turn(packet, auth), None);
            }
            packet => self.serving().take_turn(connection, packet, &auth, context),
        }
        Ok(())
    }

    /// Refuses a request that the server's release does not know, and closes the connection (rule 4.2.2).
    fn unimplemented(&mut self, connection: ClientConnection, xid: Xid, context: &mut Context<'_>) {
        let (zxid, result) = (Zxid::ZERO, Err(Error::Unimplemented));
        context.to_client(connection, ServerPacket::Reply { xid, zxid, result });
        self.clients.hang_up(connection, context);
    }

    /// Restarts the timeout of a session that sent a packet to this server.
    fn touch(&mut self, session: SessionId, context: &mut Context<'_>) {
        if self.clients.touch_local(session, context).is_some() {
            return;
        }
        match self.in_role() {
            InRole::Following(following) => following.learner.touch(session),
            InRole::Leading(mut leading) => leading.touch(session, context),
            // Read-only: no leader measures the time of a session that is not local.
            InRole::Looking(_) => {}
        }
    }

    /// Submits a write to the leader: over the network, or to this server's own prep.
    fn submit_write(
        &mut self,
        session: SessionId,
        xid: Xid,
        request: ServerRequest,
        auth: Arc<[Id]>,
        context: &mut Context<'_>,
    ) -> Stays {
        let local = self.clients.local.contains(session);
        match self.in_role() {
            InRole::Following(following) => {
                following.learner.forward(session, xid, request, auth, context);
                Ok(())
            }
            InRole::Leading(mut leading) => {
                let asker = Asker { local, ..Asker::new(session, Owner::Leader, auth) };
                leading.prepare(&asker, xid, &request, context)
            }
            InRole::Looking(_) => unreachable!("read-only, it refuses what needs a leader"),
        }
    }

    /// Upgrades a local session before its request creates an ephemeral (checkUpgradeSession): sends a createSession
    /// to the leader first. If sessions are not upgraded, returns the error that the client gets instead.
    fn upgrade_session(
        &mut self,
        session: SessionId,
        request: &Request,
        context: &mut Context<'_>,
    ) -> Result<Option<Error>, Leave> {
        if !self.clients.local.contains(session) || !creates_ephemeral(request) {
            return Ok(None);
        }
        if !context.config.options.local_sessions_upgrading {
            return Ok(Some(Error::EphemeralOnLocalSession));
        }
        let timeout = self.clients.forget_local(session, context).expect("it is a local session");
        context.effects.note(|| Note::SessionUpgraded { server: context.id, session });
        let request = ServerRequest::CreateSession { timeout };
        self.submit_write(session, Xid(0), request, Arc::from([]), context)?;
        Ok(None)
    }
}

/// Returns true if a request waits for the leader: writes on every server, syncs only on learners (rule 4.5.6).
fn needs_commit(request: &Request, is_leading: bool) -> bool {
    match request {
        Request::Sync { .. } => !is_leading,
        request => !request.is_read(),
    }
}

/// Below this limit in bytes, the fields besides paths and data matter.
const SHORT: usize = 0x1_0000;

/// Returns true if a packet is longer than `jute.maxbuffer`, which breaks the connection, not the request (rule
/// 1.11.1). Only requests with much data are measured.
fn is_too_long(packet: &ClientPacket, config: &Config) -> bool {
    let ClientPacket::Request { request, .. } = packet else { return false };
    let limit = config.options.max_buffer;
    let of_op = |op: &Op| match op {
        Op::Create { path, data, .. } | Op::SetData { path, data, .. } => path.len() + data.len(),
        Op::Delete { path, .. } | Op::Check { path, .. } => path.len(),
    };
    let content = match &**request {
        Request::Write(op) => of_op(op),
        Request::Multi(ops) => ops.iter().map(of_op).sum(),
        _ => return false,
    };
    (content > limit / 2 || limit < SHORT) && encode_client(packet, Opcodes::Newest).len() > limit
}
