//! Requests of this server's clients, and the order of commits and replies (rules 4.2.1, 4.5.4 and 4.5.5).
//!
//! Requests of a session complete in the order of submission: a read waits for an uncommitted earlier write of the
//! same session; reads of other sessions do not wait. The queue belongs to the session, not to the connection: on a
//! server to which a session re-attaches, new requests wait for those that it submitted *here* before, but not for
//! those that it submitted elsewhere. A commit whose (session, cxid) matches the head of a session's queue completes
//! it.

use super::access;
use super::clients::{Clients, Pending, Serving, Waiting};
use super::commit_processor::Committed;
use super::context::Context;
use super::read::Reader;
use crate::tree::{Applied, Change};
use crate::vocabulary::acl::{AclList, Id, Permissions};
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientConnection, SessionId, Xid};
use crate::vocabulary::op::{Request, Response};
use crate::vocabulary::packet::{ClientPacket, ServerPacket};
use crate::vocabulary::release::Bug;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::watch::Rearming;
use std::sync::Arc;

impl Clients {
    /// Appends a request to its session's queue.
    pub(super) fn wait(
        &mut self,
        session: SessionId,
        connection: ClientConnection,
        what: Pending,
        exception: Option<Error>,
    ) {
        let waiting = Waiting { connection: Some(connection), what, exception };
        self.pending.entry(session).or_default().push_back(waiting);
    }

    /// Queues a request of a learner, or of the leader itself, at the leader: it has no client to answer here, but
    /// later requests of the session at this server wait for it (rule 4.5.7).
    pub(super) fn hold(&mut self, session: SessionId, xid: Xid) {
        self.hold_what(session, Pending::Write(xid));
    }

    /// Queues a sync of an observer's client at the observer master in the same way (rule 5.9.6).
    pub(super) fn hold_sync(&mut self, session: SessionId, xid: Xid) {
        self.hold_what(session, Pending::Sync(xid));
    }

    fn hold_what(&mut self, session: SessionId, what: Pending) {
        let waiting = Waiting { connection: None, what, exception: None };
        self.pending.entry(session).or_default().push_back(waiting);
    }
}

impl Serving<'_> {
    /// Executes a request that needs no commit.
    pub(super) fn take_turn(
        &mut self,
        connection: ClientConnection,
        packet: ClientPacket,
        auth: &[Id],
        context: &mut Context<'_>,
    ) {
        match packet {
            ClientPacket::Request { xid, request } if *request == Request::CloseSession => {
                let Some(attachment) = self.clients.attachments.get(&connection) else { return };
                self.close_local(connection, attachment.session, xid, context);
            }
            ClientPacket::Request { xid, request } => {
                let Some(attachment) = self.clients.attachments.get(&connection) else { return };
                match self.commits_before(attachment.session, &request, context) {
                    0 => self.read(connection, xid, &request, auth, context),
                    place => self.sync_after_commits(place, connection, xid, context),
                }
            }
            ClientPacket::Ping => context.to_client(connection, ServerPacket::Pong),
            ref packet @ ClientPacket::SetWatches { .. } => {
                let rearming = Rearming::of(packet).expect("a SetWatches");
                let bugs = context.config.bugs;
                let events =
                    self.clients.watches.set_watches(self.tree, connection, rearming, bugs);
                for event in events {
                    context.to_client(connection, ServerPacket::Notification(event));
                }
                let zxid = self.tree.last_processed();
                context.to_client(connection, ServerPacket::WatchesSet { zxid });
            }
            ClientPacket::Auth { .. } => unreachable!("it does not wait for its turn"),
            // A second ConnectRequest is not a valid request.
            ClientPacket::Connect { .. } => self.clients.hang_up(connection, context),
        }
    }

    /// Returns the number of committed and not yet applied transactions for which a leader's own sync must wait (see
    /// [`Bug::SyncOvertakesCommits`]): those before the first write that its session has submitted here after it.
    fn commits_before(
        &self,
        session: SessionId,
        request: &Request,
        context: &Context<'_>,
    ) -> usize {
        let waits = matches!(request, Request::Sync { .. })
            && !context.config.bugs.has(Bug::SyncOvertakesCommits);
        if !waits {
            return 0;
        }
        let later = self.clients.pending.get(&session);
        let is_later = |txn: &Txn| {
            let write = Pending::Write(txn.cxid);
            let mut later = later.into_iter().flatten();
            txn.session == session && later.any(|waiting| waiting.what == write)
        };
        self.commits.before(is_later)
    }

    /// Queues a sync after the first `place` commits; later requests of its session wait for it.
    fn sync_after_commits(
        &mut self,
        place: usize,
        connection: ClientConnection,
        xid: Xid,
        context: &mut Context<'_>,
    ) {
        let Some(attachment) = self.clients.attachments.get(&connection) else { return };
        let session = attachment.session;
        let (what, exception) = (Pending::Sync(xid), None);
        let waiting = Waiting { connection: Some(connection), what, exception };
        self.clients.pending.entry(session).or_default().push_front(waiting);
        if place < self.commits.len() {
            self.commits.insert_sync(place, session, xid);
        } else {
            self.commits.push(Committed::Sync(session, xid), context);
        }
    }

    /// Executes a read on this server's own tree (rules 1.8.1 and 1.8.2).
    fn read(
        &mut self,
        connection: ClientConnection,
        xid: Xid,
        request: &Request,
        auth: &[Id],
        context: &mut Context<'_>,
    ) {
        let Some(attachment) = self.clients.attachments.get(&connection) else { return };
        let reader = Reader { session: attachment.session, auth, config: context.config };
        let result = reader.read(self.tree, &mut self.clients.watches, connection, request);
        self.reply(connection, xid, result, context);
    }

    /// Sends a reply, with the last processed zxid at this moment (rule 2.8.6).
    fn reply(
        &mut self,
        connection: ClientConnection,
        xid: Xid,
        result: Result<Response, Error>,
        context: &mut Context<'_>,
    ) {
        let zxid = self.tree.last_processed();
        let planted = xid.0 % 16 == 7 && context.config.bugs.has(Bug::PlantedWrongXid);
        let xid = if planted { xid.next() } else { xid };
        context.to_client(connection, ServerPacket::Reply { xid, zxid, result });
    }

    // ---- commits ----

    /// Delivers an applied transaction: watches fire, then the client gets its reply, in one step, so that a
    /// notification always precedes a reply that reflects it (rule 3.2.1).
    pub(super) fn deliver(
        &mut self,
        txn: &Arc<Txn>,
        Applied { result, changes }: Applied,
        is_serving: bool,
        context: &mut Context<'_>,
    ) {
        if is_serving {
            context.effects.event(Event::Applied {
                server: context.id,
                txn: Arc::clone(txn),
                digest: self.tree.digest(),
            });
        }
        self.fire(txn, &changes, context);
        match &txn.body {
            TxnBody::CreateSession { timeout } => {
                // commitSession: a global session is no longer a local one.
                self.clients.forget_local(txn.session, context);
                self.clients.session_created(txn.session, *timeout, context);
                // A leader queues createSession too, but no client waits for that entry.
                let _held = self.complete(txn.session, &Pending::Write(txn.cxid));
            }
            _ => self.complete_write(txn, result, context),
        }
        if matches!(txn.body, TxnBody::CloseSession { .. })
            && let Some(connection) = self.clients.sessions.get(&txn.session).copied()
        {
            // A client that requested the close already has its reply (rule 2.5.3). Later requests of the session
            // would be answered on a closed connection.
            self.clients.hang_up(connection, context);
        }
        if !context.config.bugs.has(Bug::PlantedReadsWait) || !self.has_turn(txn.session) {
            self.take_turns(txn.session, context);
        }
    }

    /// Fires the watches of these changes.
    pub(super) fn fire(&mut self, txn: &Txn, changes: &[Change], context: &mut Context<'_>) {
        if self.clients.watches.is_empty() {
            return;
        }
        let mut fired = Vec::new();
        let (attachments, config) = (&self.clients.attachments, context.config);
        let may_read = |connection: ClientConnection, acl: &AclList| {
            let auth = attachments.get(&connection).map_or(&[][..], |it| &it.auth);
            config.bugs.has(Bug::EventsAskNoAcl)
                || access::permits(acl, Permissions::READ, auth, &config.options)
        };
        for change in changes {
            self.clients.watches.trigger(change, txn.zxid, &may_read, config.bugs, &mut fired);
        }
        if context.config.bugs.has(Bug::PlantedCloseOrder)
            && matches!(txn.body, TxnBody::CloseSession { .. })
        {
            let own = self.clients.sessions.get(&txn.session);
            fired.retain(|(connection, _)| Some(connection) != own);
        }
        for (connection, event) in fired {
            context.to_client(connection, ServerPacket::Notification(event));
        }
    }

    /// Returns true if the head of a session's queue waits only for its turn.
    fn has_turn(&self, session: SessionId) -> bool {
        let queue = self.clients.pending.get(&session);
        let head = queue.and_then(|queue| queue.front());
        head.is_some_and(|waiting| matches!(waiting.what, Pending::Turn(..)))
    }

    /// Replies to the client that waits for this transaction, if it is attached here.
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
            // This error is not sent: the server closes the connection (rule 2.4.4).
            Some(connection) if result == Err(Error::SessionMoved) => {
                self.clients.hang_up(connection, context);
            }
            Some(connection) => self.reply(connection, txn.cxid, result, context),
            None => {}
        }
    }

    /// Removes the head of a session's queue and returns it, if it is `what`.
    fn complete(&mut self, session: SessionId, what: &Pending) -> Option<Waiting> {
        let queue = self.clients.pending.get_mut(&session)?;
        if queue.front().map(|waiting| &waiting.what) != Some(what) {
            return None;
        }
        queue.pop_front()
    }

    /// Handles the leader's SYNC for a client of this server.
    pub(super) fn synced(&mut self, session: SessionId, xid: Xid, context: &mut Context<'_>) {
        let Some(waiting) = self.complete(session, &Pending::Sync(xid)) else { return };
        if let Some(connection) = waiting.connection {
            self.reply(connection, xid, Ok(Response::Synced), context);
        }
        self.take_turns(session, context);
    }

    /// Executes the requests that waited only for the one just completed.
    fn take_turns(&mut self, session: SessionId, context: &mut Context<'_>) {
        while let Some(queue) = self.clients.pending.get_mut(&session) {
            match queue.front() {
                None => {
                    self.clients.pending.remove(&session);
                }
                Some(Waiting { what: Pending::Turn(..), .. }) => {
                    let waiting = queue.pop_front().expect("it was just looked at");
                    // A closed connection gets no answer.
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
