//! Requests of this server's clients, and the order of commits and replies (semantics 4.2, 4.5).
//!
//! Per session, requests complete in submission order: a read behind a write of the same session
//! that is not committed yet waits; reads of other sessions do not. A commit whose (session, cxid)
//! matches the head of a session's waiting requests completes it.

use super::attach::State;
use super::tracker::Owner;
use super::{Context, Role, Server};
use crate::error::Error;
use crate::event::Event;
use crate::id::{ClientConnection, SessionId, Xid};
use crate::op::{Request, Response};
use crate::packet::{ClientPacket, ServerPacket, ServerRequest};
use crate::tree::Applied;
use crate::txn::{Txn, TxnBody};
use std::sync::Arc;

/// A request that waits in its session's queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pending {
    /// For its commit.
    Write(Xid),
    /// For the leader's SYNC.
    Sync(Xid),
    /// For those before it.
    Read(Xid, Arc<Request>),
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
        let session = attachment.session;
        self.touch(session, context);
        match packet {
            ClientPacket::Request { xid, request } => {
                self.request(connection, session, xid, request, context);
            }
            ClientPacket::Ping => context.to_client(connection, ServerPacket::Pong),
            ClientPacket::SetWatches { relative_zxid, data, exist, child } => {
                let events = self.watches.set_watches(
                    &self.tree,
                    connection,
                    relative_zxid,
                    &data,
                    &exist,
                    &child,
                );
                for event in events {
                    context.to_client(connection, ServerPacket::Notification(event));
                }
                let zxid = self.tree.last_processed();
                context.to_client(connection, ServerPacket::WatchesSet { zxid });
            }
            ClientPacket::Connect { .. } => unreachable!("a machine connects once per connection"),
        }
    }

    fn request(
        &mut self,
        connection: ClientConnection,
        session: SessionId,
        xid: Xid,
        request: Arc<Request>,
        context: &mut Context<'_>,
    ) {
        let is_sync = matches!(*request, Request::Sync { .. });
        let attachment = self.attachments.get_mut(&connection).expect("it was just looked at");
        let waits = !attachment.pending.is_empty();
        if request.is_read() {
            if waits {
                attachment.pending.push_back(Pending::Read(xid, request));
            } else {
                self.read(connection, xid, &request, context);
            }
        } else if is_sync && matches!(self.role, Role::Leading(_)) {
            // On the leader a sync needs no commit: it passes like a read (semantics 4.5 iv).
            if waits {
                attachment.pending.push_back(Pending::Read(xid, request));
            } else {
                self.reply(connection, xid, Ok(Response::Synced), context);
            }
        } else {
            let pending = if is_sync { Pending::Sync(xid) } else { Pending::Write(xid) };
            attachment.pending.push_back(pending);
            self.submit_write(session, xid, ServerRequest::Client(request), context);
        }
    }

    /// To the leader: by the network, or into this server's own prep.
    pub(super) fn submit_write(
        &mut self,
        session: SessionId,
        xid: Xid,
        request: ServerRequest,
        context: &mut Context<'_>,
    ) {
        match &self.role {
            Role::Following(learner) => learner.forward(session, xid, request, context),
            Role::Leading(_) => self.prepare(session, Owner::Leader, xid, &request, context),
            Role::Looking => unreachable!("only a serving server takes requests"),
        }
    }

    /// A read, answered from this server's own tree (semantics 1.8).
    fn read(
        &mut self,
        connection: ClientConnection,
        xid: Xid,
        request: &Request,
        context: &mut Context<'_>,
    ) {
        let result = match request {
            Request::Exists { path, watch } => {
                if *watch {
                    // Also where the znode is absent.
                    self.watches.add_data(Arc::clone(path), connection);
                }
                self.tree.stat(path).map(Response::Exists).ok_or(Error::NoNode)
            }
            Request::GetData { path, watch } => match self.tree.node(path) {
                Some(node) => {
                    if *watch {
                        self.watches.add_data(Arc::clone(path), connection);
                    }
                    let stat = self.tree.stat(path).expect("it was just found");
                    Ok(Response::Data(Arc::clone(&node.data), stat))
                }
                None => Err(Error::NoNode),
            },
            Request::GetChildren { path, watch } => match self.tree.children(path) {
                Some(children) => {
                    if *watch {
                        self.watches.add_child(Arc::clone(path), connection);
                    }
                    let stat = self.tree.stat(path).expect("it was just found");
                    Ok(Response::Children(children, stat))
                }
                None => Err(Error::NoNode),
            },
            Request::Sync { .. } => Ok(Response::Synced),
            Request::Write(_) | Request::Multi(_) | Request::CloseSession => {
                unreachable!("a write is no read")
            }
        };
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
        let Applied { result, changes } = self.tree.apply(&txn);
        self.committed_log.add(Arc::clone(&txn), context.config.commit_log_count);
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
            for change in &changes {
                self.watches.trigger(change, txn.zxid, &mut fired);
            }
            for (connection, event) in fired {
                context.to_client(connection, ServerPacket::Notification(event));
            }
        }
        match &txn.body {
            TxnBody::CreateSession { timeout } => {
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
        let Some(connection) = self.sessions.get(&txn.session).copied() else { return };
        let attachment = self.attachments.get_mut(&connection).expect("sessions name attachments");
        if attachment.pending.front() != Some(&Pending::Write(txn.cxid)) {
            return;
        }
        attachment.pending.pop_front();
        if result == Err(Error::SessionMoved) {
            // Never answered: the server hangs up (semantics 9 rule 14).
            self.hang_up(connection, context);
            return;
        }
        self.reply(connection, txn.cxid, result, context);
        self.drain_reads(connection, context);
    }

    /// The leader's SYNC for a client of this learner.
    pub(super) fn synced(&mut self, session: SessionId, xid: Xid, context: &mut Context<'_>) {
        let Some(connection) = self.sessions.get(&session).copied() else { return };
        let attachment = self.attachments.get_mut(&connection).expect("sessions name attachments");
        if attachment.pending.front() == Some(&Pending::Sync(xid)) {
            attachment.pending.pop_front();
            self.reply(connection, xid, Ok(Response::Synced), context);
            self.drain_reads(connection, context);
        }
    }

    /// Reads that waited behind what was just completed.
    fn drain_reads(&mut self, connection: ClientConnection, context: &mut Context<'_>) {
        while let Some(attachment) = self.attachments.get_mut(&connection)
            && let Some(Pending::Read(xid, request)) = attachment.pending.front().cloned()
        {
            attachment.pending.pop_front();
            self.read(connection, xid, &request, context);
        }
    }
}
