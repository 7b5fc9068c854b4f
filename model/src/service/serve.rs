//! How a server handles its client's packets, and how the leader decides.

use super::link::{Link, is_write};
use super::{LEADER, Service, done};
use crate::server::access;
use crate::server::prep::{Asker, Run};
use crate::server::tracker::Owner;
use crate::tree::DataTree;
use crate::vocabulary::effect::{Effects, Status};
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientId, SessionId, Xid};
use crate::vocabulary::note::Note;
use crate::vocabulary::op::{Op, Request, Response};
use crate::vocabulary::packet::{ClientPacket, ServerPacket, ServerRequest};
use crate::vocabulary::time::{Duration, Time};
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::{Epoch, Zxid};
use crate::watch::Rearming;
use std::sync::Arc;

impl Service {
    /// Executes the oldest packet of a client at its server.
    pub(super) fn serve(
        &mut self,
        client: ClientId,
        prefix: Zxid,
        effects: &mut Effects,
    ) -> Status {
        let link = &self.links.links[client.index()];
        let Some(packet) = link.to_server.front().filter(|_| link.is_served()) else {
            return Status::NotEnabled;
        };
        effects.note(|| Note::Takes { client, packet: packet.clone() });
        match packet.clone() {
            ClientPacket::Connect { session: None, timeout, .. } => {
                done(prefix == Zxid::ZERO && self.create_session(client, timeout, effects))
            }
            ClientPacket::Connect { session: Some(session), last_zxid_seen, timeout, .. } => {
                // A server behind the client's last zxid refuses the client (rule 2.1.2), which then tries another
                // one. That has no observable effect.
                let legal = prefix >= last_zxid_seen && self.log.get(prefix).is_some();
                done(legal && self.attach(client, session, prefix, timeout))
            }
            ClientPacket::Request { xid, request } if is_write(&request) => {
                done(prefix == Zxid::ZERO && self.write(client, xid, &request, effects))
            }
            ClientPacket::Request { xid, request } => {
                done(self.go_to(client, prefix) && self.read(client, xid, &request))
            }
            ClientPacket::Auth { scheme, auth } => {
                done(prefix == Zxid::ZERO && self.authenticate(client, &scheme, &auth))
            }
            ref packet @ ClientPacket::SetWatches { .. } => {
                if !self.go_to(client, prefix) {
                    return Status::NotEnabled;
                }
                let tree = &self.log.up_to(prefix).tree;
                let link = self.links.links[client.index()].make_mut();
                let rearming = Rearming::of(packet).expect("a SetWatches");
                let name = Link::name(client);
                let missed = link.watches.set_watches(tree, name, rearming, self.config.bugs);
                link.to_client.extend(missed.into_iter().map(ServerPacket::Notification));
                link.to_client.push_back(ServerPacket::WatchesSet { zxid: link.view });
                self.took(client);
                Status::Done
            }
            ClientPacket::Ping => unreachable!("pings are not sent at this grain"),
        }
    }

    /// Advances the server to the next transaction that its client observes.
    pub(super) fn notify(&mut self, client: ClientId, effects: &mut Effects) -> Status {
        let link = &self.links.links[client.index()];
        let Some(zxid) = link.next_heard(&self.log).filter(|_| link.is_served()) else {
            return Status::NotEnabled;
        };
        effects.note(|| Note::Applies { client, zxid });
        self.links.links[client.index()].make_mut().advance(client, &self.log, zxid, &self.config);
        Status::Done
    }

    /// Executes a write of a lost connection at the leader. It was in flight when the session was last accepted, so
    /// it is valid only until the session is accepted elsewhere (rule 2.4.1).
    pub(super) fn late(&mut self, session: SessionId, effects: &mut Effects) -> Status {
        let Some(writes) = self.links.late.get_mut(&session) else { return Status::NotEnabled };
        let (xid, request, auth) = writes.pop_front().expect("no empty list is kept");
        if writes.is_empty() {
            self.links.late.remove(&session);
        }
        effects.note(|| Note::ArrivesLate { request: Arc::clone(&request) });
        // No client waits for the result.
        let asker = Asker::new(session, Owner::Leader, auth);
        let _ = self.decide(&asker, xid, &request, effects);
        Status::Done
    }

    /// Expires a session at the leader, which refuses it from now on (rules 2.3 and 2.4).
    pub(super) fn expire(&mut self, session: SessionId) -> Status {
        if !self.is_alive(session) {
            return Status::NotEnabled;
        }
        self.prep.make_mut().sessions_mut().set_closing(session);
        Status::Done
    }

    /// Appends the closeSession of an expired session to the log.
    pub(super) fn close_session(&mut self, session: SessionId, effects: &mut Effects) -> Status {
        if !self.is_closing(session) {
            return Status::NotEnabled;
        }
        self.links.late.remove(&session);
        let log_end = Arc::clone(self.log.last());
        let before = self.before(&Request::CloseSession);
        let prep = self.prep.make_mut();
        prep.go_on_from(before);
        let txn = prep.close(&log_end.tree, session);
        let txn = txn.expect("a search does not use up the zxids of an epoch");
        let _ = self.append(txn, effects);
        Status::Done
    }

    /// Returns true if a session has expired and its closeSession is not committed yet.
    pub fn is_closing(&self, session: SessionId) -> bool {
        let known = self.prep.sessions().iter().any(|(known, _)| known == session);
        known && !self.is_alive(session)
    }

    /// Begins a new session. The client's previous session, if it has expired, may still exist: when the leader
    /// refused the client it had submitted the closeSession (rule 2.3.2), but it may have failed before the commit,
    /// and its successor considers the session alive until it expires again.
    fn create_session(
        &mut self,
        client: ClientId,
        timeout: Duration,
        effects: &mut Effects,
    ) -> bool {
        let number = self.links.sessions[client.index()] + 1;
        let session = self.config.session_order.session(client, number);
        self.links.sessions[client.index()] = number;
        let timeout = self.config.negotiate(timeout);
        let request = ServerRequest::CreateSession { timeout };
        let run = Run { config: &self.config, view: None, at: Time::ZERO };
        let log_end = Arc::clone(self.log.last());
        let before = self.number.take();
        let prep = self.prep.make_mut();
        if let Some(before) = before {
            prep.go_on_from(before);
        }
        let asker = Asker::new(session, Owner::Leader, Arc::from([]));
        let txn = prep.request(&log_end.tree, &asker, Xid(0), &request, &run);
        let txn = txn.expect("a search does not use up the zxids of an epoch");
        let _ = self.append(txn, effects);
        let end = self.log.last().zxid();
        let link = self.links.links[client.index()].make_mut();
        link.session = Some(session);
        link.view = end;
        link.after_end = false;
        link.to_client.push_back(ServerPacket::Connected { session, timeout, read_only: false });
        self.took(client);
        true
    }

    /// Re-attaches a session. From now on the leader refuses a write that is still in flight on the session's old
    /// connection (rule 2.4.1). A server can accept a session that is already closed, if it has not applied the
    /// closeSession and follows a deposed leader that does not know it. A client can reach such a server again only
    /// after another lost connection: if a server closed its connection because the session is over, the next server
    /// knows that.
    fn attach(
        &mut self,
        client: ClientId,
        session: SessionId,
        prefix: Zxid,
        asked: Duration,
    ) -> bool {
        let alive = self.prep.sessions().touch(session);
        if alive.is_some() {
            self.links.late.remove(&session);
        }
        let deposed = self.end_unknown_at(client, session, prefix).is_some();
        let timeout = alive.or_else(|| deposed.then(|| self.config.negotiate(asked)));
        let link = self.links.links[client.index()].make_mut();
        match timeout {
            Some(timeout) => {
                link.session = Some(session);
                link.view = prefix;
                link.after_end = false;
                let read_only = false;
                link.to_client.push_back(ServerPacket::Connected { session, timeout, read_only });
            }
            None => {
                link.to_client.push_back(ServerPacket::Expired);
                link.hung_up = true;
            }
        }
        self.took(client);
        true
    }

    /// Returns the zxid at which a session is closed, if a server that has applied the log up to `prefix` can still
    /// accept it.
    pub(super) fn end_unknown_at(
        &self,
        client: ClientId,
        session: SessionId,
        prefix: Zxid,
    ) -> Option<Zxid> {
        let end = self.log.closes_after(session, prefix);
        end.filter(|_| !self.links.links[client.index()].after_end)
    }

    fn took(&mut self, client: ClientId) {
        self.links.links[client.index()].make_mut().to_server.pop_front();
    }

    /// Advances the server to `prefix` without any effect. Returns false if `prefix` is before the server's view, or
    /// at or after the next transaction that its client observes.
    fn go_to(&mut self, client: ClientId, prefix: Zxid) -> bool {
        let link = &self.links.links[client.index()];
        let legal = prefix >= link.view
            && self.log.get(prefix).is_some()
            && link.next_heard(&self.log).is_none_or(|heard| prefix < heard);
        if legal && prefix > link.view {
            self.links.links[client.index()].make_mut().view = prefix;
        }
        legal
    }

    fn read(&mut self, client: ClientId, xid: Xid, request: &Request) -> bool {
        let link = self.links.links[client.index()].make_mut();
        let tree = &self.log.up_to(link.view).tree;
        let result = link.read(client, tree, request, &self.config);
        link.to_client.push_back(ServerPacket::Reply { xid, zxid: link.view, result });
        self.took(client);
        true
    }

    /// Executes `addAuth`: the connection gets another identity, or the server closes it (rule 1.9.5).
    fn authenticate(&mut self, client: ClientId, scheme: &str, proof: &[u8]) -> bool {
        let address = &self.config.clients[client.index()].address;
        let proven = access::authenticate(scheme, proof, address, &self.config.options);
        let link = self.links.links[client.index()].make_mut();
        let result = match proven {
            Ok(proven) => {
                link.auth = access::with(&link.auth, proven);
                Ok(())
            }
            Err(error) => {
                link.hung_up = true;
                Err(error)
            }
        };
        link.to_client.push_back(ServerPacket::Authenticated { result });
        self.took(client);
        true
    }

    /// Executes a write: the leader decides it at the end of the log, and a server that has applied the whole log
    /// replies. The client first gets the notifications of the transactions in between.
    fn write(
        &mut self,
        client: ClientId,
        xid: Xid,
        request: &Arc<Request>,
        effects: &mut Effects,
    ) -> bool {
        let link = &self.links.links[client.index()];
        let session = link.session.expect("a request comes by a connection with a session");
        let asker = Asker::new(session, Owner::Leader, Arc::clone(&link.auth));
        let result = self.decide(&asker, xid, request, effects);
        let end = self.log.last().zxid();
        self.took(client);
        let link = self.links.links[client.index()].make_mut();
        link.advance(client, &self.log, end, &self.config);
        // If the session ended before that, the server closed the connection before it reached the end of the log.
        if link.view == end {
            link.to_client.push_back(ServerPacket::Reply { xid, zxid: end, result });
        }
        true
    }

    /// Decides a write at the leader. A write that fails changes nothing and takes no place in the log.
    pub(super) fn decide(
        &mut self,
        asker: &Asker,
        xid: Xid,
        request: &Arc<Request>,
        effects: &mut Effects,
    ) -> Result<Response, Error> {
        let log_end = Arc::clone(self.log.last());
        let before = self.before(request);
        let prep = self.prep.make_mut();
        prep.go_on_from(before);
        let request = ServerRequest::Client(Arc::clone(request));
        let run = Run { config: &self.config, view: None, at: Time::ZERO };
        let txn = prep
            .request(&log_end.tree, asker, xid, &request, &run)
            .expect("a search does not use up the zxids of an epoch");
        match &txn.body {
            TxnBody::Error(error) => {
                prep.go_on_from(log_end.zxid());
                Err(*error)
            }
            TxnBody::FailedMulti(_) => {
                prep.go_on_from(log_end.zxid());
                DataTree::empty().apply(&txn).result
            }
            _ => self.append(txn, effects),
        }
    }

    /// Sets the zxid of the next transaction, which must be after the end of the log, so that a run of servers can be
    /// repeated with its own zxids.
    pub fn number_next(&mut self, zxid: Zxid) {
        self.number = Some(Zxid(zxid.0 - 1));
    }

    /// Returns the zxid before that of this write.
    fn before(&mut self, request: &Request) -> Zxid {
        self.number.take().unwrap_or_else(|| before(request, self.log.last().zxid()))
    }

    fn append(&mut self, txn: Arc<Txn>, effects: &mut Effects) -> Result<Response, Error> {
        effects.event(Event::Committed { leader: LEADER, txn: Arc::clone(&txn) });
        self.prep.make_mut().applied(&txn);
        let entry = self.log.append(txn);
        entry.applied.as_ref().expect("it was just applied").result.clone()
    }
}

/// Returns the zxid before that of this write. Zxids come in blocks: a create begins a large one, a write that can
/// delete begins a small one. So a znode's czxid, which programs use as a fencing token, reveals the number of
/// earlier creates but not their order with other writes; a pzxid does not reveal the number of intermediate writes
/// that change no children. Gaps reveal nothing, since any client's failed write makes one.
fn before(request: &Request, last: Zxid) -> Zxid {
    let block = match request {
        request if request.is_create() => 1 << 16,
        Request::CloseSession
        | Request::Write(Op::Delete { .. })
        | Request::Multi(_)
        | Request::DeleteContainer { .. } => 1 << 8,
        _ => 1,
    };
    let last = last.max(Epoch(1).opening());
    Zxid((last.0 / block + 1) * block - 1)
}
