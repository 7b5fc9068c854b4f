//! Requests: accepted, numbered, sent, answered in order, or failed (rules 2.8.4, 2.8.5, 2.8.6 and 2.8.9).

use super::connection::reply;
use super::watches::WatchKind;
use super::{ClientEffect, ClientMachine, ClientState};
use crate::program::host::Outcome;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{CallId, SessionId, Xid};
use crate::vocabulary::op::{Data, Request, Response, WatchedEvent};
use crate::vocabulary::packet::{self, ClientPacket, ServerPacket};
use crate::vocabulary::release::Bug;
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

/// A request that is queued or in flight.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending {
    /// The request's number.
    pub xid: Xid,
    pub request: Arc<Request>,
    /// The call that gets the reply; `None` after it was abandoned.
    pub call: Option<CallId>,
    /// The call that gets the watch event.
    pub watch: Option<CallId>,
    /// For removeWatches: whether the client drops its watches even if the server did not.
    pub local: bool,
}

impl Pending {
    /// Returns a request without a number and without a watch.
    pub(super) fn new(request: Arc<Request>, call: Option<CallId>) -> Pending {
        Pending { xid: Xid(0), request, call, watch: None, local: false }
    }

    /// Detaches the request from an abandoned call. Without the call, its watch has no owner either.
    pub(super) fn forget(&mut self, call: CallId) {
        if self.call == Some(call) {
            (self.call, self.watch) = (None, None);
        } else if self.watch == Some(call) {
            self.watch = None;
        }
    }
}

impl ClientMachine {
    /// Accepts a request, or refuses it without asking a server.
    pub(super) fn request(
        &mut self,
        mut pending: Pending,
        scope: Option<SessionId>,
        out: &mut Vec<ClientEffect>,
    ) {
        match self.chroot.request(Arc::clone(&pending.request)) {
            Ok(request) => pending.request = request,
            Err(error) => return self.answer(&pending, Err(error), out),
        }
        match self.refusal(scope) {
            None => {}
            // The session is alive, so its watches can still be removed.
            Some(Error::ConnectionLoss) => {
                return self.finish(&pending, Err(Error::ConnectionLoss), out);
            }
            Some(error) => return self.answer(&pending, Err(error), out),
        }
        pending.xid = self.session.next_xid;
        self.session.next_xid = pending.xid.next();
        self.session.closing = *pending.request == Request::CloseSession;
        self.session.queued.push_back(pending);
        if self.link().is_some() {
            self.flush(out);
            self.arm_ping(out);
        }
    }

    /// Returns the error with which a request is refused, if it is. After a closeSession that has no reply yet, the
    /// error is ConnectionLoss, not SessionExpired (`ClientCnxn.queuePacket`: closing, but still alive).
    fn refusal(&self, scope: Option<SessionId>) -> Option<Error> {
        let is_pinned = scope.is_some() && !self.bugs.has(Bug::PlantedScopeIgnored);
        let foreign = is_pinned && scope != self.session.id;
        if self.state == ClientState::AuthFailed && !foreign {
            Some(Error::AuthFailed)
        } else if !self.state.is_alive() || foreign {
            Some(Error::SessionExpired)
        } else {
            self.session.closing.then_some(Error::ConnectionLoss)
        }
    }

    /// Handles `Connect`: answers immediately if connected, and begins a new session if the last one has ended.
    pub(super) fn connect(&mut self, call: CallId, out: &mut Vec<ClientEffect>) {
        match self.link() {
            Some((session, _)) if !self.session.closing => {
                reply(call, Outcome::Connected(session), out);
            }
            _ => {
                self.connect_calls.push(call);
                if self.state.is_final() {
                    self.begin_session(out);
                }
            }
        }
    }

    /// Handles `Close`: queues a closeSession after all earlier requests. Its reply, or the loss of the connection,
    /// answers the call (rule 2.8.9).
    pub(super) fn close(&mut self, call: CallId, out: &mut Vec<ClientEffect>) {
        if !self.state.is_alive() {
            return reply(call, Outcome::Closed, out);
        }
        self.close_calls.push(call);
        if !self.session.closing {
            let request = Arc::new(Request::CloseSession);
            self.request(Pending::new(request, None), None, out);
        }
    }

    /// Handles `addAuthInfo`: keeps the identity for later servers and sends it to the present one. The program
    /// learns only of a refusal.
    pub(super) fn add_auth(
        &mut self,
        call: CallId,
        identity: (Arc<str>, Data),
        scope: Option<SessionId>,
        out: &mut Vec<ClientEffect>,
    ) {
        if let Some(error) = self.refusal(scope) {
            return reply(call, Outcome::AuthAdded(Err(error)), out);
        }
        if let Some((session, _)) = self.link() {
            self.authenticate(session, &identity.0, &identity.1, out);
            self.arm_ping(out);
        }
        if !self.session.auth.contains(&identity) {
            self.session.auth.push(identity);
        }
        reply(call, Outcome::AuthAdded(Ok(())), out);
    }

    /// Sends all queued requests, if there is an established connection.
    pub(super) fn flush(&mut self, out: &mut Vec<ClientEffect>) {
        let Some((session, connection)) = self.link() else { return };
        while let Some(pending) = self.session.queued.pop_front() {
            let (xid, request) = (pending.xid, Arc::clone(&pending.request));
            out.push(ClientEffect::Send(ClientPacket::Request {
                xid,
                request: Arc::clone(&request),
            }));
            let client = self.id;
            out.push(ClientEffect::Event(Event::Sent {
                client,
                session,
                connection,
                xid,
                request,
            }));
            self.session.in_flight.push_back(pending);
        }
    }

    /// Handles a packet from an established connection.
    pub(super) fn read(&mut self, packet: ServerPacket, out: &mut Vec<ClientEffect>) {
        match packet {
            ServerPacket::Reply { xid, zxid, result } => {
                return self.replied(xid, zxid, result, out);
            }
            ServerPacket::Notification(event) => self.notified(event, out),
            ServerPacket::Pong => {}
            ServerPacket::Authenticated { result: Ok(()) } => {
                if let Some((session, _)) = self.link() {
                    let client = self.id;
                    out.push(ClientEffect::Event(Event::Authenticated { client, session }));
                }
            }
            ServerPacket::Authenticated { result: Err(_) } => return self.refused(out),
            ServerPacket::WatchesSet { zxid } => {
                self.session.last_zxid = self.session.last_zxid.max(zxid);
                if let Some((session, _)) = self.link() {
                    let client = self.id;
                    out.push(ClientEffect::Event(Event::Rearmed { client, session, zxid }));
                }
            }
            // A second answer to the ConnectRequest violates the protocol.
            packet @ (ServerPacket::Connected { .. } | ServerPacket::Expired) => {
                return self.mismatched(packet, out);
            }
        }
        self.arm_read(out);
    }

    /// Handles a reply. Replies must arrive in the order of the requests; any other ends the connection (rule 2.8.5).
    fn replied(
        &mut self,
        xid: Xid,
        zxid: Zxid,
        result: Result<Response, Error>,
        out: &mut Vec<ClientEffect>,
    ) {
        let expected = self.session.in_flight.front().is_some_and(|oldest| oldest.xid == xid);
        let Some((session, connection)) = self.link().filter(|_| expected) else {
            return self.mismatched(ServerPacket::Reply { xid, zxid, result }, out);
        };
        let pending = self.session.in_flight.pop_front().expect("its number was just compared");
        if zxid > Zxid::ZERO {
            self.session.last_zxid = zxid;
        }
        let (client, request) = (self.id, Arc::clone(&pending.request));
        out.push(ClientEffect::Event(match packet::is_refused(zxid, &result) {
            true => Event::Refused { client, session, xid, request },
            false => {
                let result = result.clone();
                Event::Replied { client, session, connection, xid, zxid, request, result }
            }
        }));
        self.finish(&pending, result, out);
        if *pending.request == Request::CloseSession {
            self.closed(out);
        } else {
            self.arm_read(out);
        }
    }

    /// Registers a request's watch when the reply arrives, if the reply shows that the server has set it (rule 3.3).
    fn register_watch(&mut self, pending: &Pending, result: &Result<Response, Error>) {
        let Some(slot) = pending.watch else { return };
        let (path, kind) = match (&*pending.request, result) {
            (Request::GetData { path, watch: true }, Ok(_)) => (path, WatchKind::Data),
            (Request::GetChildren { path, watch: true }, Ok(_)) => (path, WatchKind::Child),
            (Request::Exists { path, watch: true }, Ok(_)) => (path, WatchKind::Data),
            (Request::Exists { path, watch: true }, Err(Error::NoNode)) => (path, WatchKind::Exist),
            (Request::AddWatch { path, mode }, Ok(_) | Err(Error::NoNode)) => {
                (path, WatchKind::of(*mode))
            }
            _ => return,
        };
        self.session.watches.register(path, kind, slot);
    }

    /// Handles the result of removeWatches (rule 3.3.3). The client fails with NoWatcher if it has no such watch,
    /// whatever the server's result; if the server failed, the client removes its watches only if the request was
    /// `local`.
    fn remove_watches(
        &mut self,
        pending: &Pending,
        result: Result<Response, Error>,
        out: &mut Vec<ClientEffect>,
    ) -> Result<Response, Error> {
        let Request::RemoveWatches { path, kind } = &*pending.request else { return result };
        if !self.session.watches.contains(path, *kind) {
            return Err(Error::NoWatcher);
        }
        if result.is_err() && !pending.local {
            return result;
        }
        for (kind, call) in self.session.watches.remove(path, *kind) {
            // No transaction caused this event.
            let event = WatchedEvent { kind, path: Arc::clone(path), zxid: Zxid::ZERO };
            reply(call, Outcome::Watch(Ok(self.chroot.event(event))), out);
        }
        Ok(Response::Watches)
    }

    /// Reports to the monitors that requests in flight will not be answered; their outcome is unknown (rule 2.8.4).
    pub(super) fn report_losses(&self, out: &mut Vec<ClientEffect>) {
        let Some(session) = self.session.id else { return };
        for pending in &self.session.in_flight {
            let (client, xid, request) = (self.id, pending.xid, Arc::clone(&pending.request));
            out.push(ClientEffect::Event(Event::Lost { client, session, xid, request }));
        }
    }

    /// Fails all requests in flight, then all queued ones.
    pub(super) fn fail_requests(&mut self, error: Error, out: &mut Vec<ClientEffect>) {
        let in_flight = std::mem::take(&mut self.session.in_flight);
        let mut queued = std::mem::take(&mut self.session.queued);
        if self.bugs.has(Bug::PlantedNewestFailsFirst) {
            queued.make_contiguous().reverse();
        }
        for pending in in_flight.iter().chain(&queued) {
            self.finish(pending, Err(error), out);
        }
    }

    /// Completes a request: first updates the client's watches, then answers the call.
    fn finish(
        &mut self,
        pending: &Pending,
        result: Result<Response, Error>,
        out: &mut Vec<ClientEffect>,
    ) {
        self.register_watch(pending, &result);
        let result = self.remove_watches(pending, result, out);
        self.answer(pending, result, out);
    }

    /// Answers a request's call, unless it was abandoned.
    fn answer(
        &self,
        pending: &Pending,
        result: Result<Response, Error>,
        out: &mut Vec<ClientEffect>,
    ) {
        if let Some(call) = pending.call {
            reply(call, Outcome::Response(self.chroot.result(result)), out);
        }
    }
}
