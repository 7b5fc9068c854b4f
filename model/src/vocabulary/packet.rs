//! The packets of the three protocols: clients (rules 2.1 and 2.8), quorum (rule 6.1.1) and election notifications
//! (rule 5.1.1).

use crate::vocabulary::acl::Id;
use crate::vocabulary::error::Error;
use crate::vocabulary::fingerprint::StableHasher;
use crate::vocabulary::id::{ClientConnection, LearnerConnection, ServerId, SessionId, Xid};
use crate::vocabulary::op::{Data, Request, Response, WatchedEvent};
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::quorum::{Attached, QuorumVerifier};
use crate::vocabulary::time::Duration;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::znode::Znode;
use crate::vocabulary::zxid::{Epoch, Zxid};
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// From a client machine to a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum ClientPacket {
    /// `ConnectRequest`, the first packet of every connection.
    Connect {
        /// The largest zxid of any reply so far. A server whose last zxid is smaller closes the connection (rule
        /// 2.1.2).
        last_zxid_seen: Zxid,
        /// The timeout requested. It is negotiated anew for each connection, also when a session re-attaches.
        timeout: Duration,
        /// The session to re-attach; `None` for a new one.
        session: Option<SessionId>,
        /// Whether the client accepts a read-only server (rule 2.7.3).
        read_only: bool,
    },
    /// Proves an identity to the server: `addAuth` (rule 1.9.5).
    Auth {
        /// The scheme that verifies the proof.
        scheme: Arc<str>,
        /// The proof, `user:password` for the scheme `digest`.
        auth: Data,
    },
    /// A request with its number.
    Request { xid: Xid, request: Arc<Request> },
    /// Keeps the session alive.
    Ping,
    /// Sets the watches again after a reconnect (rule 3.4.1): SetWatches, or SetWatches2 if there
    /// are persistent ones.
    SetWatches {
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
}

/// From a server to a client machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum ServerPacket {
    /// `ConnectResponse` with a session.
    Connected {
        /// The session, new or re-attached.
        session: SessionId,
        /// The negotiated timeout.
        timeout: Duration,
        /// Whether the server is read-only.
        read_only: bool,
    },
    /// `ConnectResponse` with timeout 0 and id 0: the session has ended (rule 2.1.6).
    Expired,
    /// The answer to a request.
    Reply {
        xid: Xid,
        /// The zxid of a write; otherwise the server's last processed zxid when it made the reply.
        zxid: Zxid,
        result: Result<Response, Error>,
    },
    /// A watch fired.
    Notification(WatchedEvent),
    /// The answer to a ping.
    Pong,
    /// The answer to [`ClientPacket::Auth`]. After a refusal the server closes the connection.
    Authenticated {
        /// `AuthFailed` if the server refused the identity.
        result: Result<(), Error>,
    },
    /// The answer to SetWatches, sent after the notifications that SetWatches caused. The Java client treats it as an
    /// ordinary reply: its zxid advances the client's last zxid.
    WatchesSet {
        /// The server's last processed zxid.
        zxid: Zxid,
    },
}

/// What the reader of a connection finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivered<T> {
    /// A packet.
    Packet(T),
    /// The end of the stream: the reader's end is closed with it.
    End {
        /// Whether the connection had been accepted: `false` means connection refused.
        accepted: bool,
    },
}

/// A request as a learner forwards it, or as a leader passes its own clients' requests to `prep`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ServerRequest {
    /// A client's write, sync or close.
    Client(Arc<Request>),
    /// A new session; the server that the client is connected to has issued its id (rule 2.1.4).
    CreateSession {
        /// The negotiated timeout.
        timeout: Duration,
    },
}

/// From a learner to the leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum LearnerPacket {
    /// FOLLOWERINFO.
    FollowerInfo {
        /// The learner's accepted epoch.
        accepted_epoch: Epoch,
        /// The version of the learner's committed configuration, where reconfigurations are enabled (rule 5.8.9).
        config_version: Attached<Zxid>,
    },
    /// ACKEPOCH.
    AckEpoch {
        /// The learner's current epoch. `None` (-1 in the wire format) if the learner had accepted this epoch before;
        /// the learner then does not count towards the quorum (rule 6.3.4).
        current_epoch: Option<Epoch>,
        /// Last processed zxid of the learner's tree.
        last_zxid: Zxid,
    },
    /// ACK of a proposal, of NEWLEADER or of UPTODATE.
    Ack(Zxid),
    /// The answer to a PING, with the sessions that sent a packet since the last one (rule 2.3.4).
    Ping { touched: Vec<SessionId> },
    /// A client's write or sync, forwarded.
    Request {
        session: SessionId,
        /// The request's number; 0 for createSession.
        xid: Xid,
        request: ServerRequest,
        /// The identities proven on the client's connection, which `prep` needs to check ACLs (rule 1.9.6).
        auth: Arc<[Id]>,
    },
    /// A session re-attached at this learner, which asks whether it is alive (rule 2.4.1).
    Revalidate {
        session: SessionId,
        /// The client's connection, which waits for the answer.
        connection: ClientConnection,
    },
    /// OBSERVERINFO: FOLLOWERINFO of an observer (rule 5.7.3).
    ObserverInfo {
        /// The observer's accepted epoch.
        accepted_epoch: Epoch,
        /// As in FOLLOWERINFO.
        config_version: Attached<Zxid>,
    },
    /// A request or a revalidation of an observer, with its connection to the observer master that passes it on. Only
    /// repaired (see [`Bug::MasterIsOneOwner`](crate::vocabulary::release::Bug::MasterIsOneOwner)).
    Relayed { observer: LearnerConnection, packet: Box<LearnerPacket> },
}

/// From the leader to a learner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum LeaderPacket {
    /// LEADERINFO.
    LeaderInfo {
        /// The new epoch.
        epoch: Epoch,
    },
    /// DIFF: the learner's history is a prefix of the leader's, which sends the rest.
    Diff(Zxid),
    /// TRUNC: delete every transaction after this zxid.
    Trunc(Zxid),
    /// SNAP: a whole snapshot follows in pieces; it is fuzzy (rule 6.4.8).
    Snap(Zxid),
    /// First piece of the snapshot: the sessions with their timeouts.
    SnapSessions(Vec<(SessionId, Duration)>),
    /// A piece of the snapshot: znodes in path order.
    SnapNodes(Vec<(ZnodePath, Arc<Znode>)>),
    /// The end of the snapshot (its signature).
    SnapEnd,
    /// PROPOSAL.
    Proposal(Arc<Txn>),
    /// COMMIT.
    Commit(Zxid),
    /// NEWLEADER, with the last configuration that the leader has seen, where reconfigurations are enabled (rule 5.8.8).
    NewLeader(Epoch, Attached<QuorumVerifier>),
    /// UPTODATE; repaired, with the leader's committed configuration, where reconfigurations are enabled (see
    /// [`Bug::UncommittedConfigActivated`](crate::vocabulary::release::Bug::UncommittedConfigActivated)).
    UpToDate(Attached<QuorumVerifier>),
    /// PING.
    Ping,
    /// The answer to REVALIDATE.
    Revalidated {
        session: SessionId,
        /// The client's connection, which waits for the answer.
        connection: ClientConnection,
        /// The session's timeout if it is alive, otherwise `None`.
        timeout: Option<Duration>,
    },
    /// SYNC: the leader has sent everything that it proposed before this sync.
    Synced { session: SessionId, xid: Xid },
    /// INFORM: a committed transaction, for an observer (rule 5.7.4).
    Inform(Arc<Txn>),
    /// COMMITANDACTIVATE: COMMIT of a reconfiguration, with the designated leader (rule 5.8.6).
    CommitAndActivate { zxid: Zxid, designated: ServerId },
    /// INFORMANDACTIVATE: INFORM of a reconfiguration, with the designated leader.
    InformAndActivate { txn: Arc<Txn>, designated: ServerId },
}

/// A server's state in an election notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PeerState {
    /// Looking for a leader.
    Looking,
    /// Follows a leader.
    Following,
    /// Is the leader.
    Leading,
    /// Follows a leader as an observer.
    Observing,
}

/// A vote (rule 5.1.2), ordered by (peer epoch, zxid, server id). The order is derived, so the fields must stay in
/// this sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Vote {
    /// The proposed leader's current epoch.
    pub peer_epoch: Epoch,
    /// The proposed leader's last zxid.
    pub zxid: Zxid,
    /// The proposed leader.
    pub leader: ServerId,
}

impl Vote {
    /// An observer's own vote: smaller than any other, and of no server that could lead (rule 5.7.2).
    pub const OF_OBSERVER: Vote =
        Vote { peer_epoch: Epoch(0), zxid: Zxid::ZERO, leader: ServerId(0) };

    /// Returns a server's random vote for itself in a round. It does not depend on the server's history
    /// ([`Election::ByLot`](crate::vocabulary::config::Election::ByLot)).
    pub fn by_lot(leader: ServerId, round: u32) -> Vote {
        let mut lot = StableHasher::new();
        (leader, round).hash(&mut lot);
        Vote { peer_epoch: Epoch(0), zxid: Zxid(lot.finish()), leader }
    }
}

/// An election notification (rule 5.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Notification {
    /// The sender's current vote.
    pub vote: Vote,
    /// The round the vote belongs to.
    pub round: u32,
    /// The sender's state.
    pub state: PeerState,
    /// The sender's committed configuration, where reconfigurations are enabled (rule 5.8.7).
    #[serde(default, skip_serializing_if = "Attached::is_none")]
    pub configuration: Attached<QuorumVerifier>,
}

/// Returns true for the header and the result of an answer by which a server says that it does not know the operation (rule
/// 4.2.2): it has no zxid.
pub(crate) fn is_refused(zxid: Zxid, result: &Result<Response, Error>) -> bool {
    zxid == Zxid::ZERO && *result == Err(Error::Unimplemented)
}
