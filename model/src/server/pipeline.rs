//! Requests of this server's clients, and the order of commits and replies (semantics 4.2, 4.5).
//!
//! Per session, requests complete in submission order: a read behind a write of the same session
//! that is not committed yet waits; reads of other sessions do not. The queue is the session's, not
//! the connection's: on a server to which a session re-attaches, whatever it asks waits behind what
//! it had asked *here* before (but not behind what it had asked elsewhere). A commit whose (session,
//! cxid) matches the head of a session's queue completes it.

use super::attach::State;
use super::prep::Asker;
use super::read::Reader;
use super::read_only::needs_leader;
use super::tracker::Owner;
use super::{Context, Role, Server, access};
use crate::tree::Applied;
use crate::vocabulary::acl::{AclList, Id, Permissions};
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientConnection, SessionId, Xid};
use crate::vocabulary::op::{Request, Response};
use crate::vocabulary::packet::{ClientPacket, ServerPacket, ServerRequest};
use crate::vocabulary::release::Bug;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::watch::Rearming;
use std::sync::Arc;

/// A request in its session's queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    /// The connection it came by; `None` once that is gone.
    pub(super) connection: Option<ClientConnection>,
    what: Pending,
    /// `Request.exception`: what the client is told instead of the error that the leader decides on.
    exception: Option<Error>,
}

/// What a request waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Pending {
    /// For its commit.
    Write(Xid),
    /// For the leader's SYNC.
    Sync(Xid),
    /// For those before it: a read, a sync on the leader itself, a ping, SetWatches. The identities are
    /// those that the connection had when it came (`Request.authInfo`).
    Turn(ClientPacket, Arc<[Id]>),
}

impl Server {
    /// A packet of an attached client, after the handshake.
    pub(super) fn client_packet(
        &mut self,
        connection: ClientConnection,
        packet: ClientPacket,
        context: &mut Context<'_>,
    ) {
        let Some(attachment) = self.attachments.get(&connection) else { return };
        if attachment.state != State::Established {
            return;
        }
        let (session, auth) = (attachment.session, Arc::clone(&attachment.auth));
        if self.touch_local(session, context).is_none() {
            self.touch(session, context);
        }
        let is_leading = matches!(self.role, Role::Leading(_));
        let closes_local = matches!(&packet, ClientPacket::Request { request, .. }
            if **request == Request::CloseSession && self.local.contains(session));
        match packet {
            ClientPacket::Request { xid, request }
                if self.read_only && needs_leader(&request) && !closes_local =>
            {
                self.not_read_only(connection, xid, context);
            }
            ClientPacket::Request { xid, request }
                if needs_commit(&request, is_leading) && !closes_local =>
            {
                let is_sync = matches!(*request, Request::Sync { .. });
                let what = if is_sync { Pending::Sync(xid) } else { Pending::Write(xid) };
                let exception = self.upgrade_session(session, &request, context);
                self.wait(session, connection, what, exception);
                self.submit_write(session, xid, ServerRequest::Client(request), auth, context);
            }
            // Not in order with the requests: the packet thread does it at once.
            ClientPacket::Auth { scheme, auth } => {
                self.authenticate(connection, &scheme, &auth, context);
            }
            // Everything else only waits for its turn.
            packet if self.pending.contains_key(&session) => {
                self.wait(session, connection, Pending::Turn(packet, auth), None);
            }
            packet => self.take_turn(connection, packet, &auth, context),
        }
    }

    fn wait(
        &mut self,
        session: SessionId,
        connection: ClientConnection,
        what: Pending,
        exception: Option<Error>,
    ) {
        let waiting = Waiting { connection: Some(connection), what, exception };
        self.pending.entry(session).or_default().push_back(waiting);
    }

    /// Does what needs no commit.
    fn take_turn(
        &mut self,
        connection: ClientConnection,
        packet: ClientPacket,
        auth: &[Id],
        context: &mut Context<'_>,
    ) {
        match packet {
            ClientPacket::Request { xid, request } if *request == Request::CloseSession => {
                let Some(attachment) = self.attachments.get(&connection) else { return };
                self.close_local(connection, attachment.session, xid, context);
            }
            ClientPacket::Request { xid, request } => {
                self.read(connection, xid, &request, auth, context);
            }
            ClientPacket::Ping => context.to_client(connection, ServerPacket::Pong),
            ref packet @ ClientPacket::SetWatches { .. } => {
                let rearming = Rearming::of(packet).expect("a SetWatches");
                let bugs = context.config.bugs;
                let events = self.watches.set_watches(&self.tree, connection, rearming, bugs);
                for event in events {
                    context.to_client(connection, ServerPacket::Notification(event));
                }
                let zxid = self.tree.last_processed();
                context.to_client(connection, ServerPacket::WatchesSet { zxid });
            }
            ClientPacket::Auth { .. } => unreachable!("it does not wait for its turn"),
            // A second ConnectRequest is no request that a server knows.
            ClientPacket::Connect { .. } => self.hang_up(connection, context),
        }
    }

    /// To the leader: by the network, or into this server's own prep.
    pub(super) fn submit_write(
        &mut self,
        session: SessionId,
        xid: Xid,
        request: ServerRequest,
        auth: Arc<[Id]>,
        context: &mut Context<'_>,
    ) {
        match &self.role {
            Role::Following(learner) => learner.forward(session, xid, request, auth, context),
            Role::Leading(_) => {
                let local = self.local.contains(session);
                let asker = Asker { local, ..Asker::new(session, Owner::Leader, auth) };
                self.prepare(&asker, xid, &request, context);
            }
            Role::Looking => unreachable!("only a serving server takes requests"),
        }
    }

    /// A read, answered from this server's own tree (semantics 1.8).
    fn read(
        &mut self,
        connection: ClientConnection,
        xid: Xid,
        request: &Request,
        auth: &[Id],
        context: &mut Context<'_>,
    ) {
        let Some(attachment) = self.attachments.get(&connection) else { return };
        let reader = Reader { session: attachment.session, auth, config: context.config };
        let result = reader.read(&self.tree, &mut self.watches, connection, request);
        self.reply(connection, xid, result, context);
    }

    /// A reply carries the last processed zxid of the moment it is built (semantics 2.8 rule 6).
    fn reply(
        &mut self,
        connection: ClientConnection,
        xid: Xid,
        result: Result<Response, Error>,
        context: &mut Context<'_>,
    ) {
        let zxid = self.tree.last_processed();
        context.to_client(connection, ServerPacket::Reply { xid, zxid, result });
    }

    // ---- commits ----

    /// A committed transaction is applied: watches fire, then its client is answered, in one step:
    /// so an event always precedes a reply that reflects it (semantics 3.2 W1).
    pub(super) fn deliver(&mut self, txn: Arc<Txn>, context: &mut Context<'_>) {
        let Applied { result, changes } =
            Arc::make_mut(&mut self.tree).apply_with(&txn, context.config.bugs);
        self.committed_log.add(Arc::clone(&txn), context.config);
        self.applied_at_leader(&txn, context);
        if self.is_serving() {
            context.effects.event(Event::Applied {
                server: self.id,
                txn: Arc::clone(&txn),
                digest: self.tree.digest(),
            });
        }
        if !self.watches.is_empty() {
            let mut fired = Vec::new();
            let (attachments, config) = (&self.attachments, context.config);
            let may_read = |connection: ClientConnection, acl: &AclList| {
                let auth = attachments.get(&connection).map_or(&[][..], |it| &it.auth);
                config.bugs.has(Bug::EventsAskNoAcl)
                    || access::permits(acl, Permissions::READ, auth, &config.options)
            };
            for change in &changes {
                self.watches.trigger(change, txn.zxid, &may_read, config.bugs, &mut fired);
            }
            if context.config.bugs.has(Bug::PlantedCloseOrder)
                && matches!(txn.body, TxnBody::CloseSession { .. })
            {
                let own = self.sessions.get(&txn.session);
                fired.retain(|(connection, _)| Some(connection) != own);
            }
            for (connection, event) in fired {
                context.to_client(connection, ServerPacket::Notification(event));
            }
        }
        match &txn.body {
            TxnBody::CreateSession { timeout } => {
                // commitSession: what is global is no local session any more.
                self.forget_local(txn.session, context);
                self.session_created(txn.session, *timeout, context);
            }
            _ => self.complete_write(&txn, result, context),
        }
        if matches!(txn.body, TxnBody::CloseSession { .. })
            && let Some(connection) = self.sessions.get(&txn.session).copied()
        {
            // A client that asked for it has its reply already (semantics 2.5 rule 3).
            self.hang_up(connection, context);
        }
    }

    /// Answers the client that waits for this transaction, if it is attached here.
    fn complete_write(
        &mut self,
        txn: &Txn,
        result: Result<Response, Error>,
        context: &mut Context<'_>,
    ) {
        let Some(waiting) = self.complete(txn.session, &Pending::Write(txn.cxid)) else {
            return;
        };
        let result = match (&txn.body, waiting.exception) {
            (TxnBody::Error(_), Some(exception)) => Err(exception),
            _ => result,
        };
        match waiting.connection {
            // Never answered: the server hangs up (semantics 9 rule 14).
            Some(connection) if result == Err(Error::SessionMoved) => {
                self.hang_up(connection, context);
            }
            Some(connection) => self.reply(connection, txn.cxid, result, context),
            None => {}
        }
        self.take_turns(txn.session, context);
    }

    /// Takes the head of a session's queue if it is this.
    fn complete(&mut self, session: SessionId, what: &Pending) -> Option<Waiting> {
        let queue = self.pending.get_mut(&session)?;
        if queue.front().map(|waiting| &waiting.what) != Some(what) {
            return None;
        }
        queue.pop_front()
    }

    /// The leader's SYNC for a client of this learner.
    pub(super) fn synced(&mut self, session: SessionId, xid: Xid, context: &mut Context<'_>) {
        let Some(waiting) = self.complete(session, &Pending::Sync(xid)) else { return };
        if let Some(connection) = waiting.connection {
            self.reply(connection, xid, Ok(Response::Synced), context);
        }
        self.take_turns(session, context);
    }

    /// Whatever waited only for what was just completed.
    fn take_turns(&mut self, session: SessionId, context: &mut Context<'_>) {
        while let Some(queue) = self.pending.get_mut(&session) {
            match queue.front() {
                None => {
                    self.pending.remove(&session);
                }
                Some(Waiting { what: Pending::Turn(..), .. }) => {
                    let waiting = queue.pop_front().expect("it was just looked at");
                    // Of a connection that is gone nobody would see the answer.
                    if let (Some(connection), Pending::Turn(packet, auth)) =
                        (waiting.connection, waiting.what)
                    {
                        self.take_turn(connection, packet, &auth, context);
                    }
                }
                Some(_) => return,
            }
        }
    }
}

/// Whether a request waits for the leader: writes everywhere, syncs on learners only (semantics 4.5
/// iv).
fn needs_commit(request: &Request, is_leading: bool) -> bool {
    match request {
        Request::Sync { .. } => !is_leading,
        request => !request.is_read(),
    }
}
