//! What the bridge knows of sessions, clients, connections and leaders.

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
    /// Its createSession is in the log.
    Log,
    /// This server alone knows of it.
    Server(Option<ServerId>),
    /// A leader has proposed a createSession for it.
    Upgrading,
}

/// A session, from its createSession on.
#[derive(Clone, Debug, Hash)]
pub(super) struct Account {
    pub(super) home: Home,
    /// Where it began.
    pub(super) created: Zxid,
    /// Where it ended, and when that became known.
    pub(super) closed: Option<(Zxid, Moment)>,
    /// Who was told of it.
    pub(super) client: Option<ClientId>,
    /// How often it was accepted.
    pub(super) connections: u32,
    /// When its client last lost a connection.
    pub(super) disconnected: Option<Moment>,
    /// Writes under way, oldest first.
    pub(super) writes: VecDeque<Write>,
    pub(super) last_sent: Xid,
    /// The newest write that has its place, and where.
    pub(super) decided: Option<(Xid, Zxid)>,
    /// It had lost its connection before its createSession was committed.
    pub(super) refused_before: bool,
    /// Leaders that have proposed its closeSession.
    pub(super) closing: BTreeSet<Epoch>,
}

impl Account {
    /// Of a client that was told of it, or of none yet.
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

    /// Whether it may have no createSession.
    pub(super) fn may_be_local(&self) -> bool {
        self.home != Home::Log
    }

    /// Where it began, if it has no client yet and can still get one.
    pub(super) fn awaits_its_client_since(&self) -> Option<Zxid> {
        (self.client.is_none() && self.closed.is_none()).then_some(self.created)
    }

    /// Where among the writes under way this one is.
    pub(super) fn position(&self, xid: Xid) -> Option<usize> {
        self.writes.iter().position(|write| write.xid == xid)
    }
}

/// A client machine, from its first session on.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Client {
    /// The session that it has.
    pub(super) session: Option<SessionId>,
    pub(super) connection: Option<Connection>,
    /// As its machine has it: where the last reply stood (rule 2.8.6).
    pub(super) last_zxid: Zxid,
    /// The session that it had before, if that was refused, and which leaders can have done so
    /// without its closeSession being in the log.
    pub(super) refused: Option<(SessionId, Vec<Epoch>)>,
    /// Its connection is a read-only one, with this session.
    pub(super) read_only: Option<SessionId>,
    /// Its connection has shown more of the past than is remembered of the log: nothing can be said
    /// about what it is told. What it sends counts as ever.
    pub(super) unknown: bool,
}

/// A client's connection.
#[derive(Clone, Debug, Hash)]
pub(super) struct Connection {
    /// What the service grain has of it. To the server: what is not answered yet. To the client:
    /// the notifications that must come next.
    pub(super) link: Link,
    /// The oldest request is a SetWatches that was served here; its answer is under way.
    pub(super) set_at: Option<Zxid>,
    /// The identities that requests get which are sent from now on; those of the link are what the
    /// requests have that are answered from now on.
    pub(super) proven: Arc<[Id]>,
    /// The identities that the server goes by when a watch fires whose event is read from now on, and
    /// the proofs that are sent and not answered, oldest first.
    pub(super) known: Arc<[Id]>,
    pub(super) unanswered: VecDeque<(Arc<str>, Data)>,
    /// What the server knew before that, while nothing was read since that tells how far it had got
    /// when it learnt more: it may have kept events back that it would not keep back now.
    pub(super) doubt: Option<Arc<[Id]>>,
}

impl Connection {
    /// Something was sent.
    pub(super) fn ask(&mut self, xid: Xid, request: &Arc<Request>) {
        let request = Arc::clone(request);
        self.link.to_server.push_back(ClientPacket::Request { xid, request });
    }
}

/// A number of events.
type Moment = u64;

/// Who leads, and who has lately.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Leaders {
    pub(super) now: Moment,
    pub(super) leading: BTreeMap<ServerId, Epoch>,
    /// The epochs of leaders that have left their role, and when.
    pub(super) fallen: BTreeMap<Epoch, Moment>,
    /// Who has proposed the end of a session whose beginning is not committed yet.
    pub(super) closing: BTreeMap<SessionId, BTreeSet<Epoch>>,
}

impl Leaders {
    pub(super) fn tick(&mut self) {
        self.now += 1;
    }

    pub(super) fn was_established(&self, epoch: Epoch) -> bool {
        self.fallen.contains_key(&epoch) || self.leading.values().any(|other| *other == epoch)
    }

    /// The epochs of all that were leaders at some time since.
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

/// A write that was sent and has no place in the log yet.
#[derive(Clone, Debug, Hash)]
pub(super) struct Write {
    pub(super) xid: Xid,
    pub(super) request: Arc<Request>,
    /// The identities of the connection when it was sent (rule 1.9.6).
    pub(super) auth: Arc<[Id]>,
    /// Which of the session's connections it was sent by.
    pub(super) connection: u32,
    /// Its connection broke.
    pub(super) lost: bool,
}
