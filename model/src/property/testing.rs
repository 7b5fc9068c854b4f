//! Test support for monitors: hand-made events, passed on as the world does.
//!
//! A [`Trial`] holds one monitor and the committed history. Like the world, it checks an [`Event::Committed`] and
//! appends its transaction to the history before the monitor receives it.

use super::{Commit, Monitor, Objection, View, check_commit};
use crate::tree::EphemeralType;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientConnection, ClientId, ServerId, SessionId, Xid};
use crate::vocabulary::op::{CreateMode, Data, Op, Request, Response, SessionState, Version};
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::time::{Duration, Time};
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::{Epoch, Zxid};
use crate::world::history::History;
use std::sync::Arc;

/// The client of most tests.
pub(crate) const CLIENT: ClientId = ClientId(1);
/// The client's session.
pub(crate) const SESSION: SessionId = SessionId(0x10);
/// The client's connection.
pub(crate) const CONNECTION: ClientConnection = ClientConnection { client: CLIENT, slot: 0 };
/// Three servers.
pub(crate) const ONE: ServerId = ServerId(1);
pub(crate) const TWO: ServerId = ServerId(2);
pub(crate) const THREE: ServerId = ServerId(3);

pub(crate) fn z(epoch: u32, counter: u32) -> Zxid {
    Zxid::new(Epoch(epoch), counter)
}

/// A transaction of [`SESSION`].
pub(crate) fn txn(zxid: Zxid, cxid: u32, body: TxnBody) -> Arc<Txn> {
    Arc::new(Txn { zxid, session: SESSION, cxid: Xid(cxid), time: 7, body })
}

pub(crate) fn path(path: &str) -> ZnodePath {
    ZnodePath::new(path).expect("a valid path")
}

/// The transactions that `prep` would make of writes after this history.
pub(crate) struct Bodies<'a>(pub(crate) &'a History);

impl Bodies<'_> {
    pub(crate) fn create(&self, name: &str, data: &str) -> TxnBody {
        self.create_as(name, data, false)
    }

    pub(crate) fn create_as(&self, name: &str, data: &str, ephemeral: bool) -> TxnBody {
        let path = path(name);
        let parent = path.parent().and_then(|parent| self.0.tree().node(parent));
        let parent_cversion = parent.expect("the parent exists").cversion + 1;
        let owned = EphemeralType::Normal(SESSION);
        let ephemeral_type = if ephemeral { owned } else { EphemeralType::Void };
        TxnBody::create(path, data.as_bytes(), ephemeral_type, parent_cversion)
    }

    pub(crate) fn set_data(&self, name: &str, data: &str) -> TxnBody {
        let version = self.0.tree().node(name).expect("the znode exists").version + 1;
        TxnBody::SetData { path: path(name), data: Data::from(data.as_bytes()), version }
    }

    pub(crate) fn delete(&self, name: &str) -> TxnBody {
        TxnBody::Delete { path: path(name) }
    }
}

/// A monitor under test, with its history.
#[derive(Clone)]
pub(crate) struct Trial<M> {
    pub(crate) monitor: M,
    pub(crate) history: History,
}

impl<M: Monitor> Trial<M> {
    pub(crate) fn new(monitor: M) -> Trial<M> {
        Trial { monitor, history: History::new() }
    }

    /// Passes an event on as the world does.
    pub(crate) fn feed(&mut self, event: &Event) -> Result<(), Objection> {
        let mut is_new = false;
        if let Event::Committed { txn, .. } = event
            && check_commit(&self.history, txn)? == Commit::New
        {
            self.history.commit(Arc::clone(txn));
            is_new = true;
        }
        let view = if is_new { View::of_new } else { View::new };
        let view = view(Time::ZERO, &self.history).within(self.monitor.looks_back());
        self.monitor.event(view, event)
    }

    /// Passes on an event that the monitor must accept.
    #[track_caller]
    pub(crate) fn accepts(&mut self, event: Event) {
        if let Err(objection) = self.feed(&event) {
            panic!("{event:?} is legal, but: {objection}");
        }
    }

    /// Passes on an event that the monitor must object to; returns the objection.
    #[track_caller]
    pub(crate) fn objects(&mut self, event: Event) -> String {
        match self.feed(&event) {
            Ok(()) => panic!("{event:?} is a violation, but was accepted"),
            Err(objection) => objection.to_string(),
        }
    }

    /// Returns the objection to an event that a copy of the trial receives.
    #[track_caller]
    pub(crate) fn clone_and_object(&self, event: Event) -> String
    where
        M: Clone,
    {
        let (monitor, history) = (self.monitor.clone(), self.history.clone());
        Trial { monitor, history }.objects(event)
    }

    /// Commits a transaction of [`SESSION`] at server 1, which the monitor must accept.
    #[track_caller]
    pub(crate) fn commit(&mut self, zxid: Zxid, cxid: u32, body: TxnBody) {
        self.accepts(committed(txn(zxid, cxid, body)));
    }

    #[track_caller]
    pub(crate) fn create(&mut self, zxid: Zxid, name: &str, data: &str) {
        let body = Bodies(&self.history).create(name, data);
        self.commit(zxid, 0, body);
    }

    #[track_caller]
    pub(crate) fn set_data(&mut self, zxid: Zxid, name: &str, data: &str) {
        let body = Bodies(&self.history).set_data(name, data);
        self.commit(zxid, 0, body);
    }

    #[track_caller]
    pub(crate) fn delete(&mut self, zxid: Zxid, name: &str) {
        let body = Bodies(&self.history).delete(name);
        self.commit(zxid, 0, body);
    }

    #[track_caller]
    pub(crate) fn create_session(&mut self, zxid: Zxid) {
        self.commit(zxid, 0, TxnBody::CreateSession { timeout: Duration::from_secs(6) });
    }
}

pub(crate) fn committed(txn: Arc<Txn>) -> Event {
    Event::Committed { leader: ONE, txn }
}

pub(crate) fn create_request(path: &str, data: &str) -> Request {
    let data = data.as_bytes();
    Request::Write(Op::create(path, data, CreateMode::Persistent))
}

pub(crate) fn set_data_request(path: &str, data: &str) -> Request {
    let data = Data::from(data.as_bytes());
    Request::Write(Op::SetData { path: Arc::from(path), data, version: Version::Any })
}

pub(crate) fn exists(path: &str) -> Request {
    Request::Exists { path: Arc::from(path), watch: false }
}

pub(crate) fn get_data(path: &str) -> Request {
    Request::GetData { path: Arc::from(path), watch: false }
}

pub(crate) fn get_children(path: &str) -> Request {
    Request::GetChildren { path: Arc::from(path), watch: false }
}

/// [`CLIENT`] sends a request.
pub(crate) fn sent(xid: u32, request: Request) -> Event {
    Event::Sent {
        client: CLIENT,
        session: SESSION,
        connection: CONNECTION,
        xid: Xid(xid),
        request: Arc::new(request),
    }
}

/// [`CLIENT`] reads a reply.
pub(crate) fn replied(
    xid: u32,
    zxid: Zxid,
    request: Request,
    result: Result<Response, Error>,
) -> Event {
    Event::Replied {
        client: CLIENT,
        session: SESSION,
        connection: CONNECTION,
        xid: Xid(xid),
        zxid,
        request: Arc::new(request),
        result,
    }
}

/// [`CLIENT`] loses a request.
pub(crate) fn lost(xid: u32, request: Request) -> Event {
    Event::Lost { client: CLIENT, session: SESSION, xid: Xid(xid), request: Arc::new(request) }
}

/// [`SESSION`] changes state.
pub(crate) fn session(state: SessionState, server: Option<ServerId>) -> Event {
    Event::Session { client: CLIENT, session: Some(SESSION), server, state }
}

/// Returns transactions of other sessions, which begin and end one after the other, so that everything before is in
/// the past.
pub(crate) fn others(pairs: u32, first: Zxid) -> Vec<Event> {
    let bodies = [
        TxnBody::CreateSession { timeout: Duration::from_secs(6) },
        TxnBody::CloseSession { ephemerals: Vec::new() },
    ];
    let each = (0..pairs).flat_map(|pair| bodies.clone().map(|body| (pair, body)));
    let at = |(place, (pair, body)): (u32, (u32, TxnBody))| {
        let session = SessionId(0x100 + u64::from(pair));
        let zxid = Zxid(first.0 + u64::from(place));
        committed(Arc::new(Txn { zxid, session, cxid: Xid(0), time: 7, body }))
    };
    (0..).zip(each).map(at).collect()
}
