//! The bridge's account of sessions, clients, connections and leaders.

use crate::service::link::Link;
use crate::vocabulary::acl::Id;
use crate::vocabulary::id::{ClientId, ServerId, SessionId, Xid};
use crate::vocabulary::op::{Data, Request};
use crate::vocabulary::packet::ClientPacket;
use crate::vocabulary::zxid::{Epoch, Zxid};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// How a session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Home {
    /// The session's createSession is in the log.
    Log,
    /// Only this server knows the session: it is local.
    Server(Option<ServerId>),
    /// A leader has proposed a createSession for a local session.
    Upgrading,
}

/// A session from its createSession on, or a local one from its first connection on.
#[derive(Clone, Debug, Hash)]
pub(super) struct Account {
    pub(super) home: Home,
    /// Zxid of its createSession; for a local session, the zxid that its client had seen before.
    pub(super) created: Zxid,
    /// Zxid of its closeSession, and when that was committed.
    pub(super) closed: Option<(Zxid, Moment)>,
    /// The client that has the session, once a server has accepted it.
    pub(super) client: Option<ClientId>,
    /// Number of times that a server accepted the session.
    pub(super) connections: u32,
    /// When its client last lost a connection.
    pub(super) disconnected: Option<Moment>,
    /// Writes that are not committed yet, oldest first.
    pub(super) writes: VecDeque<Write>,
    pub(super) last_sent: Xid,
    /// The newest committed write, and its zxid.
    pub(super) decided: Option<(Xid, Zxid)>,
    /// True if its client lost a connection before the createSession was committed.
    pub(super) refused_before: bool,
    /// Epochs of the leaders that have proposed its closeSession.
    pub(super) closing: BTreeSet<Epoch>,
}

impl Account {
    /// Returns a session that has no client yet.
    pub(super) fn new(home: Home, created: Zxid) -> Account {
        Account {
            home,
            created,
            closed: None,
            client: None,
            connections: 0,
            disconnected: None,
            refused_before: false,
            writes: VecDeque::new(),
            last_sent: Xid(0),
            decided: None,
            closing: BTreeSet::new(),
        }
    }

    /// Returns true if the log may have no createSession of this session.
    pub(super) fn may_be_local(&self) -> bool {
        self.home != Home::Log
    }

    /// Returns where the session began, if it has no client yet but can still get one.
    pub(super) fn awaits_its_client_since(&self) -> Option<Zxid> {
        (self.client.is_none() && self.closed.is_none()).then_some(self.created)
    }

    /// Returns the index of the write among those that are not committed yet.
    pub(super) fn position(&self, xid: Xid) -> Option<usize> {
        self.writes.iter().position(|write| write.xid == xid)
    }
}

/// A client machine from its first session on.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Client {
    /// The session that it has.
    pub(super) session: Option<SessionId>,
    pub(super) connection: Option<Connection>,
    /// The last zxid that the client machine has seen in a reply (rule 2.8.6).
    pub(super) last_zxid: Zxid,
    /// The client's session before this one, if a server refused that, and the epochs of the leaders that may have
    /// caused the refusal although the log has no closeSession.
    pub(super) refused: Option<(SessionId, Vec<Epoch>)>,
    /// The session of its connection, if the connection is read-only.
    pub(super) read_only: Option<SessionId>,
    /// True if the connection shows a prefix that the remembered log no longer has: replies on it cannot be judged.
    /// Its requests are tracked as usual.
    pub(super) unknown: bool,
}

/// A client's connection.
#[derive(Clone, Debug, Hash)]
pub(super) struct Connection {
    /// The service grain's state of the connection. Its queue to the server holds the unanswered requests, its queue
    /// to the client the notifications that must come next.
    pub(super) link: Link,
    /// Zxid at which the server has served a SetWatches, the oldest request, whose reply the client has not read yet.
    pub(super) set_at: Option<Zxid>,
    /// The identities of requests that are sent from now on. Those in `link` belong to requests that are answered
    /// from now on.
    pub(super) proven: Arc<[Id]>,
    /// The identities by which the server checks events that the client reads from now on.
    pub(super) known: Arc<[Id]>,
    pub(super) unanswered: VecDeque<(Arc<str>, Data)>,
    /// The identities that the server had before it accepted the newest one, until the client reads something that
    /// shows how far the server had got by then: the server may have withheld events that it would send now.
    pub(super) doubt: Option<Arc<[Id]>>,
}

impl Connection {
    /// Records a request that was sent.
    pub(super) fn ask(&mut self, xid: Xid, request: &Arc<Request>) {
        let request = Arc::clone(request);
        self.link.to_server.push_back(ClientPacket::Request { xid, request });
    }
}

/// A time, as the number of events until then.
type Moment = u64;

/// The present leaders and those that have fallen.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Leaders {
    pub(super) now: Moment,
    pub(super) leading: BTreeMap<ServerId, Epoch>,
    /// The epochs of leaders that have left their role, and when each did.
    pub(super) fallen: BTreeMap<Epoch, Moment>,
    /// For a session whose createSession is not committed yet, the epochs of leaders that have proposed its
    /// closeSession.
    pub(super) closing: BTreeMap<SessionId, BTreeSet<Epoch>>,
}

impl Leaders {
    pub(super) fn tick(&mut self) {
        self.now += 1;
    }

    pub(super) fn was_established(&self, epoch: Epoch) -> bool {
        self.fallen.contains_key(&epoch) || self.leading.values().any(|other| *other == epoch)
    }

    /// Returns the epochs of all servers that have led at any time since `moment`.
    pub(super) fn since(&self, moment: Moment) -> impl Iterator<Item = Epoch> {
        let fallen = self.fallen.iter().filter(move |(_, when)| **when >= moment);
        self.leading.values().copied().chain(fallen.map(|(epoch, _)| *epoch))
    }

    pub(super) fn left(&mut self, server: ServerId) {
        if let Some(epoch) = self.leading.remove(&server) {
            self.fallen.insert(epoch, self.now);
        }
    }
}

/// A write that was sent and is not committed yet.
#[derive(Clone, Debug, Hash)]
pub(super) struct Write {
    pub(super) xid: Xid,
    pub(super) request: Arc<Request>,
    /// The connection's identities when the write was sent (rule 1.9.6).
    pub(super) auth: Arc<[Id]>,
    /// The number of the session's connection that sent the write.
    pub(super) connection: u32,
    /// True if that connection broke.
    pub(super) lost: bool,
}
