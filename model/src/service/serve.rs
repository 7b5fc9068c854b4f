//! What a server does with its client's packets, and what the leader decides.

use super::link::{Link, is_write};
use super::{LEADER, Service, done};
use crate::server::access;
use crate::server::prep::Asker;
use crate::server::tracker::Owner;
use crate::tree::DataTree;
use crate::vocabulary::effect::{Effects, Status};
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientId, SessionId, Xid};
use crate::vocabulary::op::{Op, Request, Response};
use crate::vocabulary::packet::{ClientPacket, ServerPacket, ServerRequest};
use crate::vocabulary::time::{Duration, Time};
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::{Epoch, Zxid};
use crate::watch::Rearming;
use std::sync::Arc;

impl Service {
    /// The server takes the oldest packet of its client.
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
        effects.note(|| format!("the server of {client} takes: {packet}"));
        match packet.clone() {
            ClientPacket::Connect { session: None, timeout, .. } => {
                done(prefix == Zxid::ZERO && self.create_session(client, timeout, effects))
            }
            ClientPacket::Connect { session: Some(session), last_zxid_seen, timeout, .. } => {
                // A server that is behind the client's last zxid refuses it (rule 2.1.2): it goes on
                // to another one, which is no news to anybody.
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

    /// The server goes on to the next transaction that its client hears of.
    pub(super) fn notify(&mut self, client: ClientId, effects: &mut Effects) -> Status {
        let link = &self.links.links[client.index()];
        let Some(zxid) = link.next_heard(&self.log).filter(|_| link.is_served()) else {
            return Status::NotEnabled;
        };
        effects.note(|| format!("the server of {client} applies {zxid}"));
        self.links.links[client.index()].make_mut().advance(client, &self.log, zxid, &self.config);
        Status::Done
    }

    /// A write of a lost connection arrives. It was under way to the leader when the session was
    /// last accepted, so it counts only as long as the session is not accepted elsewhere (rule 2.4.1).
    pub(super) fn late(&mut self, session: SessionId, effects: &mut Effects) -> Status {
        let Some(writes) = self.links.late.get_mut(&session) else { return Status::NotEnabled };
        let (xid, request, auth) = writes.pop_front().expect("no empty list is kept");
        if writes.is_empty() {
            self.links.late.remove(&session);
        }
        effects.note(|| format!("{request} arrives at the leader after all"));
        // Nobody is left to be told of the result.
        let asker = Asker::new(session, Owner::Leader, auth);
        let _ = self.decide(&asker, xid, &request, effects);
        Status::Done
    }

    /// The leader takes the session's time for up. From now on it refuses it (rules 2.3 and 2.4).
    pub(super) fn expire(&mut self, session: SessionId) -> Status {
        if !self.is_alive(session) {
            return Status::NotEnabled;
        }
        self.prep.make_mut().sessions_mut().set_closing(session);
        Status::Done
    }

    /// The closeSession of an expired session takes its place in the log.
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

    /// Whether a session has expired and its closeSession is not committed yet.
    pub fn is_closing(&self, session: SessionId) -> bool {
        let known = self.prep.sessions().iter().any(|(known, _)| known == session);
        known && !self.is_alive(session)
    }

    /// A new session. One that this client had before and that has expired may stand all the same:
    /// the leader had submitted its closeSession when it refused the client (rule 2.3.2), but may
    /// have fallen with it, and its successor takes that session for alive until it expires anew.
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
        let log_end = Arc::clone(self.log.last());
        let before = self.number.take();
        let prep = self.prep.make_mut();
        if let Some(before) = before {
            prep.go_on_from(before);
        }
        let asker = Asker::new(session, Owner::Leader, Arc::from([]));
        let txn = prep.request(&log_end.tree, &asker, Xid(0), &request, &self.config, Time::ZERO);
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

    /// The client comes back with its session. A write that is still under way on its old
    /// connection is refused from now on (rule 2.4.1). A session that is closed already is accepted all the
    /// same by a server that has not applied that, if it follows a leader that has been deposed and does
    /// not know: its successor has closed the session. It takes another lost connection to come to such a
    /// server once more: where a server has closed the connection because the session is over, the next
    /// one knows.
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

    /// Where a session is closed, if a server that has applied as much as this can accept it still.
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

    /// The server applies the log silently up to `prefix`; not possible past what its client hears
    /// of, or back.
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

    /// `addAuth`: the connection has one identity more, or the server hangs up (rule 1.9.5).
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

    /// A write is decided at the log's end, and answered by a server that has applied all of it:
    /// with what its client hears of on the way.
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
        // Where the session ended before, the server has hung up before it came to this.
        if link.view == end {
            link.to_client.push_back(ServerPacket::Reply { xid, zxid: end, result });
        }
        true
    }

    /// The leader decides about a write; one that fails changes nothing and takes no place.
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
        let txn = prep
            .request(&log_end.tree, asker, xid, &request, &self.config, Time::ZERO)
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

    /// The next transaction gets this zxid, which is above the log's end: so that a run of servers can
    /// be taken again with the zxids that it had.
    pub fn number_next(&mut self, zxid: Zxid) {
        self.number = Some(Zxid(zxid.0 - 1));
    }

    /// The zxid before that of this write.
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

/// The zxid before that of this write. Zxids come in blocks: a create begins a large one, a write that
/// can delete a small one. So a znode's czxid, which programs take for a fencing token, tells how many
/// creates came before it and nothing else of their order with other writes, a pzxid not how many
/// writes came between that change no children; and gaps tell nobody anything, since every failed
/// write of anybody makes one.
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
