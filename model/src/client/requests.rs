//! Requests: taken, numbered, sent, answered in order, or failed (semantics 2.8 rules 4 to 6, 9).

use super::connection::reply;
use super::watches::WatchKind;
use super::{ClientEffect, ClientMachine, ClientState};
use crate::error::Error;
use crate::event::Event;
use crate::host::Outcome;
use crate::id::{CallId, SessionId, Xid};
use crate::op::{Request, Response};
use crate::packet::{ClientPacket, ServerPacket};
use crate::zxid::Zxid;
use std::sync::Arc;

/// A request that is queued or in flight.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending {
    /// Its number.
    pub xid: Xid,
    /// What is asked.
    pub request: Arc<Request>,
    /// Who gets the reply; `None` when the call was abandoned.
    pub call: Option<CallId>,
    /// Who gets the watch event.
    pub watch: Option<CallId>,
}

impl Pending {
    /// The slot is not this request's any more. Without the call there is nobody to hold the watch.
    pub fn forget(&mut self, call: CallId) {
        if self.call == Some(call) {
            (self.call, self.watch) = (None, None);
        } else if self.watch == Some(call) {
            self.watch = None;
        }
    }
}

impl ClientMachine {
    /// Takes a request, or refuses it without asking a server.
    pub(super) fn request(
        &mut self,
        mut pending: Pending,
        scope: Option<SessionId>,
        out: &mut Vec<ClientEffect>,
    ) {
        if let Some(error) = self.refusal(scope) {
            return answer(&pending, Err(error), out);
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

    /// Why a request is not taken. Behind a closeSession that has no reply yet it is
    /// ConnectionLoss, not SessionExpired (`ClientCnxn.queuePacket`: closing, but still alive).
    fn refusal(&self, scope: Option<SessionId>) -> Option<Error> {
        let foreign = scope.is_some() && scope != self.session.id;
        if !self.state.is_alive() || foreign {
            Some(Error::SessionExpired)
        } else {
            self.session.closing.then_some(Error::ConnectionLoss)
        }
    }

    /// `Connect`: answered at once when connected; begins a new session after the end of one.
    pub(super) fn connect(&mut self, call: CallId, out: &mut Vec<ClientEffect>) {
        match self.link() {
            Some((session, _)) if !self.session.closing => {
                reply(call, Outcome::Connected(session), out);
            }
            _ => {
                self.connect_calls.push(call);
                if matches!(self.state, ClientState::Expired | ClientState::Closed) {
                    self.begin_session(out);
                }
            }
        }
    }

    /// `Close`: a closeSession behind everything that was asked before; its reply, or the loss of
    /// the connection, answers the call (2.8 rule 9).
    pub(super) fn close(&mut self, call: CallId, out: &mut Vec<ClientEffect>) {
        if !self.state.is_alive() {
            return reply(call, Outcome::Closed, out);
        }
        self.close_calls.push(call);
        if !self.session.closing {
            let request = Arc::new(Request::CloseSession);
            self.request(Pending { xid: Xid(0), request, call: None, watch: None }, None, out);
        }
    }

    /// Sends everything queued, if there is an established connection.
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

    /// Reads a packet of an established connection.
    pub(super) fn read(&mut self, packet: ServerPacket, out: &mut Vec<ClientEffect>) {
        match packet {
            ServerPacket::Reply { xid, zxid, result } => {
                return self.replied(xid, zxid, result, out);
            }
            ServerPacket::Notification(event) => self.notified(event, out),
            ServerPacket::Pong | ServerPacket::Authenticated { .. } => {}
            ServerPacket::WatchesSet { zxid } => {
                self.session.last_zxid = self.session.last_zxid.max(zxid);
                if let Some((session, _)) = self.link() {
                    let client = self.id;
                    out.push(ClientEffect::Event(Event::Rearmed { client, session, zxid }));
                }
            }
            // A second answer to the ConnectRequest.
            ServerPacket::Connected { .. } | ServerPacket::Expired => {
                return self.hang_up(None, out);
            }
        }
        self.arm_read(out);
    }

    /// Replies must come in the order of the requests; any other ends the connection (2.8 rule 5).
    fn replied(
        &mut self,
        xid: Xid,
        zxid: Zxid,
        result: Result<Response, Error>,
        out: &mut Vec<ClientEffect>,
    ) {
        let expected = self.session.in_flight.front().is_some_and(|oldest| oldest.xid == xid);
        let Some((session, connection)) = self.link().filter(|_| expected) else {
            return self.hang_up(None, out);
        };
        let pending = self.session.in_flight.pop_front().expect("its number was just compared");
        if zxid > Zxid::ZERO {
            self.session.last_zxid = zxid;
        }
        out.push(ClientEffect::Event(Event::Replied {
            client: self.id,
            session,
            connection,
            xid,
            zxid,
            request: Arc::clone(&pending.request),
            result: result.clone(),
        }));
        self.register_watch(&pending, &result);
        answer(&pending, result, out);
        if *pending.request == Request::CloseSession {
            self.closed(out);
        } else {
            self.arm_read(out);
        }
    }

    /// A watch is registered when the reply arrives, if the reply says that the server has set it
    /// (3.3).
    fn register_watch(&mut self, pending: &Pending, result: &Result<Response, Error>) {
        let Some(slot) = pending.watch else { return };
        let (path, kind) = match (&*pending.request, result) {
            (Request::GetData { path, watch: true }, Ok(_)) => (path, WatchKind::Data),
            (Request::GetChildren { path, watch: true }, Ok(_)) => (path, WatchKind::Child),
            (Request::Exists { path, watch: true }, Ok(_)) => (path, WatchKind::Data),
            (Request::Exists { path, watch: true }, Err(Error::NoNode)) => (path, WatchKind::Exist),
            _ => return,
        };
        self.session.watches.register(path, kind, slot);
    }

    /// Fails everything in flight, then everything queued. Only what was sent has an unknown
    /// outcome, so only that is news for the monitors (2.8 rule 4).
    pub(super) fn fail_requests(&mut self, error: Error, out: &mut Vec<ClientEffect>) {
        for pending in std::mem::take(&mut self.session.in_flight) {
            if let Some(session) = self.session.id {
                let (client, xid, request) = (self.id, pending.xid, Arc::clone(&pending.request));
                out.push(ClientEffect::Event(Event::Lost { client, session, xid, request }));
            }
            answer(&pending, Err(error), out);
        }
        for pending in std::mem::take(&mut self.session.queued) {
            answer(&pending, Err(error), out);
        }
    }
}

/// Answers a request's call, unless it was abandoned.
fn answer(pending: &Pending, result: Result<Response, Error>, out: &mut Vec<ClientEffect>) {
    if let Some(call) = pending.call {
        reply(call, Outcome::Response(result), out);
    }
}
