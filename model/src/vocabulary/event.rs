//! The input of the monitors: everything relevant that happened in a step, in order.

use crate::vocabulary::error::Error;
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::id::{
    CallId, ClientConnection, ClientId, LearnerConnection, ServerId, SessionId, Xid,
};
use crate::vocabulary::observation::{Observation, Observed};
use crate::vocabulary::op::{Data, Request, Response, SessionState, WatchedEvent};
use crate::vocabulary::packet::ServerPacket;
use crate::vocabulary::quorum::QuorumVerifier;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::{Epoch, Zxid};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// How a learner was synchronised (rule 6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SyncMode {
    /// The leader sends only transactions that the learner lacks.
    Diff,
    /// The learner truncates its log first.
    Trunc,
    /// The leader sends a whole snapshot.
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

/// A file that holds an epoch (rule 6.2).
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

/// The reason in [`Event::LeftRole`] when a server leaves its role because a write to its disk failed.
pub const WRITE_FAILED: &str = "its fsync has failed";

/// The reason in [`Event::LeftRole`] when a leader has no zxid left in its epoch (rule 4.1.2).
pub const COUNTER_EXHAUSTED: &str = "the zxid counter is exhausted";

/// An event that monitors receive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Event {
    // ---- the ensemble ----
    /// A server finished its election: it leads, or follows `leader`.
    Elected {
        server: ServerId,
        leader: ServerId,
        /// The election round.
        round: u32,
    },
    /// A server returned to LOOKING and kept its memory.
    LeftRole {
        server: ServerId,
        /// The reason, in words.
        reason: &'static str,
    },
    /// A leader that is not yet activated read a learner's acknowledgement of its NEWLEADER (rule 6.7.1).
    Followed { leader: ServerId, learner: ServerId, epoch: Epoch },
    /// A leader was activated: its whole history is committed (rule 6.7.1).
    Established {
        leader: ServerId,
        epoch: Epoch,
        /// The last zxid of that history. A [`Event::Committed`] follows immediately for each of its transactions
        /// that the world's committed history lacks, in order.
        last_zxid: Zxid,
    },
    /// A leader chose how to synchronise a learner.
    Synchronising { leader: ServerId, learner: LearnerConnection, mode: SyncMode },
    /// A leader closed the connection of a learner that left a proposal unacknowledged for syncLimit ticks (rule
    /// 6.7.7).
    AcksStalled { leader: ServerId, learner: LearnerConnection },
    /// A leader proposed a transaction.
    Proposed { leader: ServerId, txn: Arc<Txn> },
    /// A leader committed a transaction: a quorum has logged it, or it belongs to the history of an activated leader.
    Committed { leader: ServerId, txn: Arc<Txn> },
    /// A serving server applied a transaction.
    Applied {
        server: ServerId,
        txn: Arc<Txn>,
        /// Digest of the server's tree afterwards.
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
        zxid: Zxid,
        /// The last zxid that is durable on its disk at this moment.
        durable: Zxid,
    },
    /// A learner acknowledged NEWLEADER and so declared its synchronised history and its current epoch durable.
    AckedNewLeader {
        server: ServerId,
        epoch: Epoch,
        /// The last zxid of the history that it declared durable.
        history: Zxid,
        /// The last zxid that is durable on its disk at this moment.
        durable: Zxid,
        /// The current epoch that is durable on its disk at this moment.
        current_epoch: Epoch,
    },
    /// A server truncated the file of a durable snapshot in order to write a new one of the same name.
    SnapshotTruncated {
        server: ServerId,
        /// The zxid in the file's name.
        label: Zxid,
        /// The last zxid that a start after a power loss was certain to load before.
        before: Zxid,
        /// The last zxid that such a start is certain to load now.
        after: Zxid,
    },
    /// A power loss restored an epoch file to its content before the last replacement (rule 6.9.14).
    EpochUndone {
        server: ServerId,
        file: EpochFile,
        /// The epoch that the server had written.
        written: Epoch,
        /// The epoch that the next start will read.
        found: Epoch,
    },
    /// A server's process died.
    Crashed {
        server: ServerId,
        /// Number of unsynced transactions that were lost.
        lost: usize,
    },
    /// A server started from its disk.
    Restarted { server: ServerId },
    /// A server refused to start, or its process exited (rules 6.2 and 4.5).
    Exited { server: ServerId, reason: &'static str },

    /// A server read a packet from a client whose session the leader tracks, which counts as a sign of life (rule
    /// 2.3.4). Reported for connections that have completed their handshake, and not for local sessions. A session
    /// that an observer reports to its observer master counts there in the same way (rule 5.9.8).
    Heard { server: ServerId, session: SessionId },
    /// A session re-attached to a server that still had another connection of it and closed that one (rule 2.1.5).
    Reattached { server: ServerId, session: SessionId },
    /// A learner reported to its leader the sessions that it has received packets from since its last report.
    TouchesForwarded { learner: LearnerConnection, sessions: Vec<SessionId> },
    /// An established leader read a learner's report of live sessions, or its request to re-attach a session.
    Touched { leader: ServerId, sessions: Vec<SessionId> },
    /// An established leader read a sync of one of its own clients, or one forwarded by a learner.
    SyncRead { leader: ServerId, session: SessionId, xid: Xid, by_learner: bool },
    /// A fault: the leader expired a session whose timeout had not passed.
    TakenForExpired { leader: ServerId, session: SessionId },

    // ---- clients ----
    /// A client machine read a packet that no correct server would have sent at that point, and closed the
    /// connection.
    Mismatched {
        client: ClientId,
        session: Option<SessionId>,
        connection: ClientConnection,
        packet: ServerPacket,
        /// The oldest request without an answer; `None` if the client had none or was waiting for a ConnectResponse.
        awaited: Option<Xid>,
    },
    /// A client machine put a request on a connection.
    Sent {
        client: ClientId,
        session: SessionId,
        connection: ClientConnection,
        xid: Xid,
        request: Arc<Request>,
    },
    /// A client machine read the reply to its oldest request.
    Replied {
        client: ClientId,
        session: SessionId,
        connection: ClientConnection,
        xid: Xid,
        /// The zxid of the reply's header.
        zxid: Zxid,
        request: Arc<Request>,
        result: Result<Response, Error>,
    },
    /// A request in flight failed with ConnectionLoss: its outcome is unknown.
    Lost { client: ClientId, session: SessionId, xid: Xid, request: Arc<Request> },
    /// A session changed state as its client sees it.
    Session {
        client: ClientId,
        /// The session; `None` before it has an id.
        session: Option<SessionId>,
        /// The server that sent the new state, for SyncConnected, ConnectedReadOnly and Expired. `None` if the client
        /// gave up the session itself.
        server: Option<ServerId>,
        /// The new state.
        state: SessionState,
    },
    /// A client machine read a watch notification.
    Notified { client: ClientId, session: SessionId, event: WatchedEvent },
    /// A client machine sent its watches to a server after a reconnect (SetWatches; rule 3.4.1).
    Rearming {
        client: ClientId,
        session: SessionId,
        /// The last zxid that the client has seen.
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
        /// The scheme that verifies the proof.
        scheme: Arc<str>,
        auth: Data,
    },
    /// A client machine read the acceptance of its oldest unanswered proof on this connection. The server sent every
    /// later packet with knowledge of that identity.
    Authenticated { client: ClientId, session: SessionId },
    /// A client machine read the answer to SetWatches. Its watches are set from now on, and it has already read the
    /// notifications of those that fired.
    Rearmed {
        client: ClientId,
        session: SessionId,
        /// The server's last processed zxid when it set the watches.
        zxid: Zxid,
    },

    // ---- programs ----
    /// A program made an observation.
    Observed {
        client: ClientId,
        /// The program's session at that moment.
        session: Option<SessionId>,
        /// The number of the session's next request; all smaller numbers precede the observation.
        next_xid: Xid,
        observation: Observed,
    },
    /// A program learned from an input that a session of its client is over. This event follows everything that the
    /// program did in immediate reaction to that input.
    LearnsOfEnd {
        client: ClientId,
        /// The sessions that are over.
        over: Over,
    },
    /// A program started, for the first time or again.
    Started { client: ClientId },
    /// A program's main future returned.
    Finished { client: ClientId, result: Result<(), String> },
    /// A program panicked.
    Panicked { client: ClientId, message: String },
    /// A program's process died.
    Killed { client: ClientId },
    /// A client machine was paused: its program cannot run, whatever the state of its session.
    Paused { client: ClientId },
    /// The client machine continues.
    Resumed { client: ClientId },
    /// A program's `cancelled()` call was answered.
    Cancelled { client: ClientId, call: CallId },
    /// An outside resource executed a write. No recipe reports this event: the resource is part of the world, as
    /// ZooKeeper is, and any program may write to it.
    ResourceWrite {
        client: ClientId,
        resource: Arc<str>,
        token: Option<Zxid>,
        /// Whether it was accepted.
        accepted: bool,
    },
    /// A server read a packet of another server that the protocol excludes where it stands.
    Unexpected {
        server: ServerId,
        /// The packet, in words.
        what: &'static str,
    },
    /// A server made a newer configuration its committed one (rule 5.8.5).
    Activated { server: ServerId, configuration: QuorumVerifier },
    /// A server begins, without an election, to lead or to follow the leader that a reconfiguration designates (rule 5.8.6).
    Designated { server: ServerId, leader: ServerId },
    /// A follower did something for an observer that is connected to it (rule 5.9).
    AtMaster { master: ServerId, observer: LearnerConnection, what: AtMaster },
    /// A client machine read the answer to its oldest request that the server does not know the operation. Such an answer has
    /// no zxid, and the server then closes the connection (rule 4.2.2).
    Refused { client: ClientId, session: SessionId, xid: Xid, request: Arc<Request> },
}

/// What a follower does for an observer that is connected to it (rule 5.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AtMaster {
    /// It begins to synchronise the observer.
    Synchronises,
    /// After the synchronisation it sends the observer transactions that it had sent to others before.
    SendsCached,
    /// It refuses the observer, because it no longer has all that the observer lacks.
    TooFarBehind,
    /// Its role ends while the observer is being synchronised.
    EndsMeanwhile,
    /// It goes on synchronising the observer although its role has ended.
    Outlives,
}

/// The sessions of a client that are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Over {
    /// This one.
    Session(SessionId),
    /// All but this one, which the program was connected with.
    AllBut(SessionId),
}

impl Over {
    /// Returns true if `session` is over.
    pub fn includes(self, session: SessionId) -> bool {
        match self {
            Over::Session(over) => over == session,
            Over::AllBut(open) => open != session,
        }
    }
}

impl Event {
    /// Returns the client and its observation, if this event is an observation of type `T`. Fast, because most
    /// monitors call it for every event.
    pub fn observed<T: Observation>(&self) -> Option<(ClientId, &T)> {
        let Event::Observed { client, observation, .. } = self else { return None };
        Some((*client, observation.read()?))
    }

    /// Returns the same with the session that the client had at that moment, if any.
    pub fn observed_in<T: Observation>(&self) -> Option<(ClientId, Option<SessionId>, &T)> {
        let Event::Observed { client, session, observation, .. } = self else { return None };
        Some((*client, *session, observation.read()?))
    }

    /// Returns the client whose machine or program the event concerns; `None` for events among servers.
    pub fn client(&self) -> Option<ClientId> {
        match self {
            Event::Sent { client, .. }
            | Event::Replied { client, .. }
            | Event::Lost { client, .. }
            | Event::Refused { client, .. }
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
            | Event::TakenForExpired { .. }
            | Event::Unexpected { .. }
            | Event::Activated { .. }
            | Event::Designated { .. }
            | Event::AtMaster { .. } => None,
        }
    }

    /// Returns true if timelines omit the event, because it only reports frequent signs of life or repeats the
    /// program's input.
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
