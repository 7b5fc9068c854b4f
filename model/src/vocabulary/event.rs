//! What monitors eat: everything of interest that happened in a step, in order.

use crate::vocabulary::error::Error;
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::id::{
    CallId, ClientConnection, ClientId, LearnerConnection, ServerId, SessionId, Xid,
};
use crate::vocabulary::observation::{Observation, Observed};
use crate::vocabulary::op::{Data, Request, Response, SessionState, WatchedEvent};
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::{Epoch, Zxid};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// How a learner was synchronised (rule 6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SyncMode {
    /// Transactions only.
    Diff,
    /// Cut the log first.
    Trunc,
    /// A whole snapshot.
    Snap,
}

impl fmt::Display for SyncMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SyncMode::Diff => "DIFF",
            SyncMode::Trunc => "TRUNC",
            SyncMode::Snap => "SNAP",
        })
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    // ---- the ensemble ----
    /// A server ended its election: it leads, or follows `leader`.
    Elected {
        /// Who decided.
        server: ServerId,
        /// For whom.
        leader: ServerId,
        /// In which round.
        round: u32,
    },
    /// A server went back to LOOKING, memory kept.
    LeftRole {
        /// Which.
        server: ServerId,
        /// Why, in words.
        reason: &'static str,
    },
    /// The leader of an epoch was activated: all of its history is committed (rule 6.7.1).
    Established {
        /// Which server.
        leader: ServerId,
        /// Its epoch.
        epoch: Epoch,
        /// Every transaction in its committed history that is not yet in the world's committed
        /// history, in order, is reported by a [`Event::Committed`] right after this event.
        last_zxid: Zxid,
    },
    /// A leader decided how to synchronise a learner.
    Synchronising {
        /// The leader.
        leader: ServerId,
        /// The learner's connection.
        learner: LearnerConnection,
        /// How.
        mode: SyncMode,
    },
    /// A leader proposed a transaction.
    Proposed {
        /// The leader.
        leader: ServerId,
        /// What.
        txn: Arc<Txn>,
    },
    /// A leader committed a transaction: a quorum has it, or it was in the history of an activated
    /// leader.
    Committed {
        /// The leader.
        leader: ServerId,
        /// What.
        txn: Arc<Txn>,
    },
    /// A serving server applied a transaction.
    Applied {
        /// Which server.
        server: ServerId,
        /// What.
        txn: Arc<Txn>,
        /// Digest of its tree afterwards.
        digest: Fingerprint,
    },
    /// A server began to serve clients, with this tree.
    Serving {
        /// Which server.
        server: ServerId,
        /// Last processed zxid of its tree.
        zxid: Zxid,
        /// Digest of its tree.
        digest: Fingerprint,
    },
    /// A server acknowledged a transaction to its leader, or a leader to itself.
    Acked {
        /// Which server.
        server: ServerId,
        /// The zxid acknowledged.
        zxid: Zxid,
        /// The last zxid that is durable on its disk at this moment.
        durable: Zxid,
    },
    /// A learner acknowledged NEWLEADER: its synchronised history and its current epoch are durable.
    AckedNewLeader {
        /// Which server.
        server: ServerId,
        /// The epoch.
        epoch: Epoch,
        /// The last zxid of the history that it vouches for.
        history: Zxid,
        /// The last zxid that is durable on its disk at this moment.
        durable: Zxid,
        /// The current epoch that is durable on its disk at this moment.
        current_epoch: Epoch,
    },
    /// A server's process died.
    Crashed {
        /// Which.
        server: ServerId,
        /// How many unsynced transactions were lost.
        lost: usize,
    },
    /// A server started from its disk.
    Restarted {
        /// Which.
        server: ServerId,
    },
    /// A server refused to start, or its process gave up (rules 6.2 and 4.5).
    Exited {
        /// Which.
        server: ServerId,
        /// Why.
        reason: &'static str,
    },

    // ---- clients ----
    /// A client machine put a request on a connection.
    Sent {
        /// Which client.
        client: ClientId,
        /// The session.
        session: SessionId,
        /// The connection it goes by.
        connection: ClientConnection,
        /// The request's number.
        xid: Xid,
        /// The request.
        request: Arc<Request>,
    },
    /// A client machine read the reply to its oldest request.
    Replied {
        /// Which client.
        client: ClientId,
        /// The session.
        session: SessionId,
        /// The connection it came by.
        connection: ClientConnection,
        /// The request's number.
        xid: Xid,
        /// The zxid of the reply's header.
        zxid: Zxid,
        /// The request.
        request: Arc<Request>,
        /// The result.
        result: Result<Response, Error>,
    },
    /// A request in flight failed with ConnectionLoss: its outcome is unknown.
    Lost {
        /// Which client.
        client: ClientId,
        /// The session.
        session: SessionId,
        /// The request's number.
        xid: Xid,
        /// The request.
        request: Arc<Request>,
    },
    /// A session changed state as its client sees it.
    Session {
        /// Which client.
        client: ClientId,
        /// The session, once it has an id.
        session: Option<SessionId>,
        /// The server that said so: for SyncConnected, ConnectedReadOnly, and Expired unless the client
        /// gave the session up by itself.
        server: Option<ServerId>,
        /// The new state.
        state: SessionState,
    },
    /// A client machine read a watch notification.
    Notified {
        /// Which client.
        client: ClientId,
        /// The session.
        session: SessionId,
        /// The notification.
        event: WatchedEvent,
    },
    /// A client machine told a server to which it came back of its watches (SetWatches; rule
    /// 3.4.1).
    Rearming {
        /// Which client.
        client: ClientId,
        /// The session.
        session: SessionId,
        /// The last zxid that it has seen.
        relative_zxid: Zxid,
        /// Paths with data watches.
        data: Vec<Arc<str>>,
        /// Absent paths with exist watches.
        exist: Vec<Arc<str>>,
        /// Paths with child watches.
        child: Vec<Arc<str>>,
        /// Paths with persistent watches.
        persistent: Vec<Arc<str>>,
        /// Paths with persistent recursive watches.
        recursive: Vec<Arc<str>>,
    },
    /// A client machine sent a proof of an identity on its connection (`addAuth`; rule 1.9.5).
    Authenticating {
        /// Which client.
        client: ClientId,
        /// The session.
        session: SessionId,
        /// The scheme that is to judge.
        scheme: Arc<str>,
        /// The proof.
        auth: Data,
    },
    /// A client machine read that a server took the oldest proof of an identity on its connection that
    /// was not answered yet: what it reads from now on the server has sent knowing it.
    Authenticated {
        /// Which client.
        client: ClientId,
        /// The session.
        session: SessionId,
    },
    /// A client machine read the answer to SetWatches: from now on its watches are armed, or their
    /// events were read before this.
    Rearmed {
        /// Which client.
        client: ClientId,
        /// The session.
        session: SessionId,
        /// The server's last processed zxid when it set them.
        zxid: Zxid,
    },

    // ---- programs ----
    /// A program said something.
    Observed {
        /// Which client.
        client: ClientId,
        /// Its session at that moment.
        session: Option<SessionId>,
        /// The number that its session's next request will carry: which requests came before.
        next_xid: Xid,
        /// What it said.
        observation: Observed,
    },
    /// A program started (again).
    Started {
        /// Which client.
        client: ClientId,
    },
    /// A program's main future returned.
    Finished {
        /// Which client.
        client: ClientId,
        /// With what.
        result: Result<(), String>,
    },
    /// A program panicked.
    Panicked {
        /// Which client.
        client: ClientId,
        /// The message.
        message: String,
    },
    /// A program's process died.
    Killed {
        /// Which client.
        client: ClientId,
    },
    /// A client machine stands still: its program can do nothing, whatever its session's state.
    Paused {
        /// Which client.
        client: ClientId,
    },
    /// It goes on.
    Resumed {
        /// Which client.
        client: ClientId,
    },
    /// A program's cancellation point answered.
    Cancelled {
        /// Which client.
        client: ClientId,
        /// The call.
        call: CallId,
    },
    /// An outside resource executed a write. It is no recipe's word: the resource is a part of the world,
    /// as ZooKeeper is, and any program may write to it.
    ResourceWrite {
        /// Whose.
        client: ClientId,
        /// Which resource.
        resource: Arc<str>,
        /// The token.
        token: Option<Zxid>,
        /// Whether it was accepted.
        accepted: bool,
    },
}

impl Event {
    /// Who said what, if a program said something of this type. Quick: most monitors ask it of every event.
    pub fn observed<T: Observation>(&self) -> Option<(ClientId, &T)> {
        let Event::Observed { client, observation, .. } = self else { return None };
        Some((*client, observation.read()?))
    }

    /// The client whose machine or program it happened to; `None` for what happened among servers.
    pub fn client(&self) -> Option<ClientId> {
        match self {
            Event::Sent { client, .. }
            | Event::Replied { client, .. }
            | Event::Lost { client, .. }
            | Event::Session { client, .. }
            | Event::Notified { client, .. }
            | Event::Rearming { client, .. }
            | Event::Authenticating { client, .. }
            | Event::Authenticated { client, .. }
            | Event::Rearmed { client, .. }
            | Event::Observed { client, .. }
            | Event::Started { client }
            | Event::Finished { client, .. }
            | Event::Panicked { client, .. }
            | Event::Killed { client }
            | Event::Paused { client }
            | Event::Resumed { client }
            | Event::Cancelled { client, .. }
            | Event::ResourceWrite { client, .. } => Some(*client),
            Event::Elected { .. }
            | Event::LeftRole { .. }
            | Event::Established { .. }
            | Event::Synchronising { .. }
            | Event::Proposed { .. }
            | Event::Committed { .. }
            | Event::Applied { .. }
            | Event::Serving { .. }
            | Event::Acked { .. }
            | Event::AckedNewLeader { .. }
            | Event::Crashed { .. }
            | Event::Restarted { .. }
            | Event::Exited { .. } => None,
        }
    }
}
