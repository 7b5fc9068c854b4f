//! What monitors eat: everything of interest that happened in a step, in order.

use crate::vocabulary::error::Error;
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::id::{
    CallId, ClientConnection, ClientId, LearnerConnection, ServerId, SessionId, Xid,
};
use crate::vocabulary::observation::{Observation, Observed};
use crate::vocabulary::op::{Data, Request, Response, SessionState, WatchedEvent};
use crate::vocabulary::packet::ServerPacket;
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

/// A file with an epoch (rule 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EpochFile {
    /// `acceptedEpoch`.
    AcceptedEpoch,
    /// `currentEpoch`.
    CurrentEpoch,
}

impl fmt::Display for EpochFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EpochFile::AcceptedEpoch => "acceptedEpoch",
            EpochFile::CurrentEpoch => "currentEpoch",
        })
    }
}

/// Why a server leaves its role whose disk has refused a write ([`Event::LeftRole`]).
pub const WRITE_FAILED: &str = "its fsync has failed";

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Event {
    // ---- the ensemble ----
    /// A server ended its election: it leads, or follows `leader`.
    Elected {
        server: ServerId,
        leader: ServerId,
        /// In which round.
        round: u32,
    },
    /// A server went back to LOOKING, memory kept.
    LeftRole {
        server: ServerId,
        /// Why, in words.
        reason: &'static str,
    },
    /// A leader that is not activated yet read a learner's acknowledgement of its NEWLEADER (rule 6.7.1).
    Followed { leader: ServerId, learner: ServerId, epoch: Epoch },
    /// The leader of an epoch was activated: all of its history is committed (rule 6.7.1).
    Established {
        leader: ServerId,
        epoch: Epoch,
        /// Every transaction in its committed history that is not yet in the world's committed
        /// history, in order, is reported by a [`Event::Committed`] right after this event.
        last_zxid: Zxid,
    },
    /// A leader decided how to synchronise a learner.
    Synchronising {
        leader: ServerId,
        /// The learner's connection.
        learner: LearnerConnection,
        mode: SyncMode,
    },
    /// A leader hangs up on a learner that has left a proposal without its ack for syncLimit ticks (rule 6.7.7).
    AcksStalled {
        leader: ServerId,
        /// The learner's connection.
        learner: LearnerConnection,
    },
    /// A leader proposed a transaction.
    Proposed { leader: ServerId, txn: Arc<Txn> },
    /// A leader committed a transaction: a quorum has it, or it was in the history of an activated
    /// leader.
    Committed { leader: ServerId, txn: Arc<Txn> },
    /// A serving server applied a transaction.
    Applied {
        server: ServerId,
        txn: Arc<Txn>,
        /// Digest of its tree afterwards.
        digest: Fingerprint,
    },
    /// A server began to serve clients, with this tree.
    Serving {
        server: ServerId,
        /// Last processed zxid of its tree.
        zxid: Zxid,
        /// Digest of its tree.
        digest: Fingerprint,
    },
    /// A server acknowledged a transaction to its leader, or a leader to itself.
    Acked {
        server: ServerId,
        /// The zxid acknowledged.
        zxid: Zxid,
        /// The last zxid that is durable on its disk at this moment.
        durable: Zxid,
    },
    /// A learner acknowledged NEWLEADER: its synchronised history and its current epoch are durable.
    AckedNewLeader {
        server: ServerId,
        epoch: Epoch,
        /// The last zxid of the history that it vouches for.
        history: Zxid,
        /// The last zxid that is durable on its disk at this moment.
        durable: Zxid,
        /// The current epoch that is durable on its disk at this moment.
        current_epoch: Epoch,
    },
    /// A server truncated the file of a durable snapshot, to write one of the same name.
    SnapshotTruncated {
        server: ServerId,
        /// The zxid in the file's name.
        label: Zxid,
        /// The last zxid that a start was sure to load until then, after a power loss.
        before: Zxid,
        /// The last zxid that it is sure to load now.
        after: Zxid,
    },
    /// A power loss has brought back an epoch file as it was before it was last replaced (rule 6.9.14).
    EpochUndone {
        server: ServerId,
        file: EpochFile,
        /// What the server had written.
        written: Epoch,
        /// What a start finds.
        found: Epoch,
    },
    /// A server's process died.
    Crashed {
        server: ServerId,
        /// How many unsynced transactions were lost.
        lost: usize,
    },
    /// A server started from its disk.
    Restarted { server: ServerId },
    /// A server refused to start, or its process gave up (rules 6.2 and 4.5).
    Exited { server: ServerId, reason: &'static str },

    /// A server read something of a client whose session the leader tracks: a sign of life (rule 2.3.4). Told of
    /// connections that are through their handshake, and not of local sessions.
    Heard { server: ServerId, session: SessionId },
    /// A session came back to a server that still has another connection of it, and closes that (rule 2.1.5).
    Reattached { server: ServerId, session: SessionId },
    /// A learner tells its leader of whom it has heard since it last did so.
    TouchesForwarded { learner: LearnerConnection, sessions: Vec<SessionId> },
    /// An established leader read of signs of life at one of its learners, or that a session wants to go on there.
    Touched { leader: ServerId, sessions: Vec<SessionId> },
    /// An established leader read a sync: of a client of its own, or forwarded by a learner.
    SyncRead { leader: ServerId, session: SessionId, xid: Xid, by_learner: bool },
    /// A fault: the leader takes a session for over whose time is not up.
    TakenForExpired { leader: ServerId, session: SessionId },

    // ---- clients ----
    /// A client machine read what no server that keeps to the protocol sends there, and hangs up.
    Mismatched {
        client: ClientId,
        session: Option<SessionId>,
        connection: ClientConnection,
        packet: ServerPacket,
        /// What it waited for: the oldest request without an answer; `None` also where it waits for the answer to
        /// its ConnectRequest.
        awaited: Option<Xid>,
    },
    /// A client machine put a request on a connection.
    Sent {
        client: ClientId,
        session: SessionId,
        /// The connection it goes by.
        connection: ClientConnection,
        /// The request's number.
        xid: Xid,
        request: Arc<Request>,
    },
    /// A client machine read the reply to its oldest request.
    Replied {
        client: ClientId,
        session: SessionId,
        /// The connection it came by.
        connection: ClientConnection,
        /// The request's number.
        xid: Xid,
        /// The zxid of the reply's header.
        zxid: Zxid,
        request: Arc<Request>,
        result: Result<Response, Error>,
    },
    /// A request in flight failed with ConnectionLoss: its outcome is unknown.
    Lost {
        client: ClientId,
        session: SessionId,
        /// The request's number.
        xid: Xid,
        request: Arc<Request>,
    },
    /// A session changed state as its client sees it.
    Session {
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
    Notified { client: ClientId, session: SessionId, event: WatchedEvent },
    /// A client machine told a server to which it came back of its watches (SetWatches; rule
    /// 3.4.1).
    Rearming {
        client: ClientId,
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
        client: ClientId,
        session: SessionId,
        /// The scheme that is to judge.
        scheme: Arc<str>,
        auth: Data,
    },
    /// A client machine read that a server took the oldest proof of an identity on its connection that
    /// was not answered yet: what it reads from now on the server has sent knowing it.
    Authenticated { client: ClientId, session: SessionId },
    /// A client machine read the answer to SetWatches: from now on its watches are armed, or their
    /// events were read before this.
    Rearmed {
        client: ClientId,
        session: SessionId,
        /// The server's last processed zxid when it set them.
        zxid: Zxid,
    },

    // ---- programs ----
    /// A program said something.
    Observed {
        client: ClientId,
        /// Its session at that moment.
        session: Option<SessionId>,
        /// The number that its session's next request will carry: which requests came before.
        next_xid: Xid,
        /// What it said.
        observation: Observed,
    },
    /// A program knows now that a session of its client is over: an input says so. It comes after all
    /// that the program does in reaction at once.
    LearnsOfEnd {
        client: ClientId,
        /// Which.
        over: Over,
    },
    /// A program started (again).
    Started { client: ClientId },
    /// A program's main future returned.
    Finished { client: ClientId, result: Result<(), String> },
    /// A program panicked.
    Panicked { client: ClientId, message: String },
    /// A program's process died.
    Killed { client: ClientId },
    /// A client machine stands still: its program can do nothing, whatever its session's state.
    Paused { client: ClientId },
    /// It goes on.
    Resumed { client: ClientId },
    /// A program's cancellation point answered.
    Cancelled { client: ClientId, call: CallId },
    /// An outside resource executed a write. It is no recipe's word: the resource is a part of the world,
    /// as ZooKeeper is, and any program may write to it.
    ResourceWrite {
        client: ClientId,
        resource: Arc<str>,
        token: Option<Zxid>,
        /// Whether it was accepted.
        accepted: bool,
    },
}

/// Which sessions of a client are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Over {
    /// This one.
    Session(SessionId),
    /// All but this one, which its program was connected by.
    AllBut(SessionId),
}

impl Over {
    /// Whether it says so of a session.
    pub fn includes(self, session: SessionId) -> bool {
        match self {
            Over::Session(over) => over == session,
            Over::AllBut(open) => open != session,
        }
    }
}

impl Event {
    /// The client and its observation, if a program made one of this type. Quick: most monitors ask it of every event.
    pub fn observed<T: Observation>(&self) -> Option<(ClientId, &T)> {
        let Event::Observed { client, observation, .. } = self else { return None };
        Some((*client, observation.read()?))
    }

    /// The same with the session that the client had at that moment, if any.
    pub fn observed_in<T: Observation>(&self) -> Option<(ClientId, Option<SessionId>, &T)> {
        let Event::Observed { client, session, observation, .. } = self else { return None };
        Some((*client, *session, observation.read()?))
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
            | Event::LearnsOfEnd { client, .. }
            | Event::Started { client }
            | Event::Finished { client, .. }
            | Event::Panicked { client, .. }
            | Event::Killed { client }
            | Event::Paused { client }
            | Event::Resumed { client }
            | Event::Cancelled { client, .. }
            | Event::Mismatched { client, .. }
            | Event::ResourceWrite { client, .. } => Some(*client),
            Event::Elected { .. }
            | Event::LeftRole { .. }
            | Event::Followed { .. }
            | Event::Established { .. }
            | Event::Synchronising { .. }
            | Event::AcksStalled { .. }
            | Event::Proposed { .. }
            | Event::Committed { .. }
            | Event::Applied { .. }
            | Event::Serving { .. }
            | Event::Acked { .. }
            | Event::AckedNewLeader { .. }
            | Event::SnapshotTruncated { .. }
            | Event::EpochUndone { .. }
            | Event::Crashed { .. }
            | Event::Restarted { .. }
            | Event::Exited { .. }
            | Event::Heard { .. }
            | Event::Reattached { .. }
            | Event::TouchesForwarded { .. }
            | Event::Touched { .. }
            | Event::SyncRead { .. }
            | Event::TakenForExpired { .. } => None,
        }
    }

    /// True if a timeline can do without it: it only says that a client was heard of, which happens all the time, or
    /// what the program's input says already.
    pub fn is_left_out_of_timelines(&self) -> bool {
        matches!(
            self,
            Event::Heard { .. }
                | Event::TouchesForwarded { .. }
                | Event::Touched { .. }
                | Event::LearnsOfEnd { .. }
        )
    }
}
