//! The clients of a server: their connections, the pending requests of their sessions, their watches.
//!
//! Four files serve them: `attach` (handshakes and the end of connections), `pipeline` (the order of commits and
//! replies), `local` (sessions that only this server knows) and `read_only` (serving without a leader). This code
//! does not depend on the server's role; code that does is in `requests`.

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

/// A server's state on behalf of its clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Clients {
    /// Client connections, and the connection of each session.
    pub(super) attachments: BTreeMap<ClientConnection, Attachment>,
    pub(super) sessions: BTreeMap<SessionId, ClientConnection>,
    pub(super) watches: WatchTable,
    /// Sessions that only this server knows (rule 2.6.1).
    pub(super) local: LocalSessions,
    /// True if the server is LOOKING and serves reads nevertheless (rule 2.7.1).
    pub(super) read_only: bool,
    /// Pending requests by session, in the order of submission; no queue is empty (rule 4.5.4).
    pub(super) pending: BTreeMap<SessionId, VecDeque<Waiting>>,
}

/// The clients and the tree that answers their reads.
pub(super) struct Serving<'a> {
    pub(super) clients: &'a mut Clients,
    pub(super) commits: &'a mut CommitProcessor,
    pub(super) tree: &'a DataTree,
}

/// An accepted connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Attachment {
    /// The connection's session, also before the handshake is complete.
    pub(super) session: SessionId,
    pub(super) state: State,
    /// The connection's identities: that of its address, and those that it has proven.
    pub(super) auth: Arc<[Id]>,
}

/// The state of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// createSession is in the leader's pipeline.
    Creating,
    /// The leader was asked whether the session is alive.
    Revalidating,
    /// ConnectResponse was sent.
    Established,
}

/// A pending request of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    /// The connection it arrived on; `None` after that has ended.
    pub(super) connection: Option<ClientConnection>,
    pub(super) what: Pending,
    /// `Request.exception`: the error that the client gets instead of the leader's.
    pub(super) exception: Option<Error>,
}

/// The event that a pending request waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pending {
    /// Its commit.
    Write(Xid),
    /// The leader's SYNC.
    Sync(Xid),
    /// The completion of earlier requests: for a read, a sync on the leader itself, a ping, SetWatches. The
    /// identities are those of the connection when the request arrived (`Request.authInfo`).
    Turn(ClientPacket, Arc<[Id]>),
}

/// The local sessions of one server, with their timeouts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LocalSessions(pub(super) BTreeMap<SessionId, Duration>);

impl LocalSessions {
    /// Returns true if this is a local session of the server.
    pub fn contains(&self, session: SessionId) -> bool {
        self.0.contains_key(&session)
    }

    /// Returns all local sessions, in the order of their ids.
    pub fn ids(&self) -> impl Iterator<Item = SessionId> {
        self.0.keys().copied()
    }
}
