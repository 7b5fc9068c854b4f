//! The clients that a server serves: their connections, their sessions' requests that wait, their
//! watches.
//!
//! Serving them is a matter of four files: `attach` (handshakes and the end of connections), `pipeline`
//! (the order of commits and replies), `local` (sessions that only this server knows of) and
//! `read_only` (serving without a leader). None of it needs the server's role; what does is in
//! `requests`.

use super::commit_processor::CommitProcessor;
use crate::tree::DataTree;
use crate::vocabulary::acl::Id;
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{ClientConnection, SessionId, Xid};
use crate::vocabulary::packet::ClientPacket;
use crate::vocabulary::time::Duration;
use crate::watch::WatchTable;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Everything that a server has on behalf of its clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Clients {
    /// Client connections, and which of them has which session.
    pub(super) attachments: BTreeMap<ClientConnection, Attachment>,
    pub(super) sessions: BTreeMap<SessionId, ClientConnection>,
    pub(super) watches: WatchTable,
    /// Sessions that only this server knows of (rule 2.6.1).
    pub(super) local: LocalSessions,
    /// LOOKING, and serving reads all the same (rule 2.7.1).
    pub(super) read_only: bool,
    /// Requests in submission order that wait, by session; never an empty queue (rule 4.5.4).
    pub(super) pending: BTreeMap<SessionId, VecDeque<Waiting>>,
}

/// The clients, with the tree that they are served from.
pub(super) struct Serving<'a> {
    pub(super) clients: &'a mut Clients,
    pub(super) commits: &'a mut CommitProcessor,
    pub(super) tree: &'a DataTree,
}

/// One accepted connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Attachment {
    /// The session that it has, or will have once the handshake is through.
    pub(super) session: SessionId,
    pub(super) state: State,
    /// The identities that the connection has: of its address, and what it has proven.
    pub(super) auth: Arc<[Id]>,
}

/// How far the handshake has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// createSession is on its way through the leader.
    Creating,
    /// The leader is asked whether the session is alive.
    Revalidating,
    /// ConnectResponse was sent.
    Established,
}

/// A request in its session's queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    /// The connection it came by; `None` once that is gone.
    pub(super) connection: Option<ClientConnection>,
    pub(super) what: Pending,
    /// `Request.exception`: what the client is told instead of the error that the leader decides on.
    pub(super) exception: Option<Error>,
}

/// What a request waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pending {
    /// For its commit.
    Write(Xid),
    /// For the leader's SYNC.
    Sync(Xid),
    /// For those before it: a read, a sync on the leader itself, a ping, SetWatches. The identities are
    /// those that the connection had when it came (`Request.authInfo`).
    Turn(ClientPacket, Arc<[Id]>),
}

/// The local sessions of one server, with their timeouts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LocalSessions(pub(super) BTreeMap<SessionId, Duration>);

impl LocalSessions {
    /// Whether this is one of them.
    pub fn contains(&self, session: SessionId) -> bool {
        self.0.contains_key(&session)
    }

    /// All of them, in the order of their ids.
    pub fn ids(&self) -> impl Iterator<Item = SessionId> {
        self.0.keys().copied()
    }
}
