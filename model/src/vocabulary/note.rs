//! Notes: what a machine read, wrote or decided in a step, for a reader of the run. Monitors do not see them.

use crate::program::host::{Input, Output};
use crate::vocabulary::file_system::Writing;
use crate::vocabulary::id::{ClientId, ServerId, SessionId};
use crate::vocabulary::op::Request;
use crate::vocabulary::outside::Outside;
use crate::vocabulary::packet::{
    ClientPacket, Delivered, LeaderPacket, LearnerPacket, Notification, ServerPacket,
};
use crate::vocabulary::step::Unwritten;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

/// A note of a machine. Its [`Display`](std::fmt::Display) is a sentence without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Note {
    // ---- what was read or handed over ----
    /// A server read from a client's connection.
    FromClient { server: ServerId, client: ClientId, delivered: Delivered<ClientPacket> },
    /// A client machine read from its server.
    FromServer {
        client: ClientId,
        /// `None` at the service grain, which has no single servers.
        server: Option<ServerId>,
        delivered: Delivered<ServerPacket>,
        /// The request that a reply answers, if the client machine is part of the run.
        answers: Option<Arc<Request>>,
    },
    /// A leader read from a learner.
    FromLearner { leader: ServerId, learner: ServerId, delivered: Delivered<LearnerPacket> },
    /// A learner read from its leader.
    FromLeader { learner: ServerId, leader: ServerId, delivered: Delivered<LeaderPacket> },
    /// A server read an election notification.
    Notified { server: ServerId, from: ServerId, notification: Notification },
    /// A packet arrived at a server that is down.
    Refused { server: ServerId },
    /// A client machine read from a connection that it no longer uses.
    Ignored,
    /// A client outside of the run acted.
    Outside(Outside),
    /// A program received an input.
    Received { client: ClientId, input: Input },
    /// A program did this, and it caused no event.
    Did(Output),

    // ---- what a server did or decided ----
    /// A server began to serve reads without a quorum (rule 2.5).
    ServesReadOnly { server: ServerId, zxid: Zxid },
    /// A server expired one of its local sessions.
    LocalSessionExpired { server: ServerId, session: SessionId },
    /// A server made a local session a global one.
    SessionUpgraded { server: ServerId, session: SessionId },
    /// A server could not write its snapshot, and exits.
    SnapshotNotWritten { server: ServerId },
    /// An fsync failed.
    FsyncFailed {
        server: ServerId,
        /// Number of transactions that are lost.
        lost: usize,
        /// The state of the rest.
        rest: Unwritten,
    },
    /// A packet exceeded `jute.maxbuffer`.
    PacketTooLong,
    /// A server refused a client that has seen a later zxid (rule 2.1.2).
    ClientIsAhead { server: ServerId, last_zxid_seen: Zxid },
    /// A leader refused a learner with a longer history.
    LearnerIsAhead { learner: ServerId },
    /// A server appended a transaction to its log.
    Appended { server: ServerId, txn: Arc<Txn> },
    /// A thread of a role that is over applied the rest of a transaction.
    AppliedRest { server: ServerId, txn: Arc<Txn> },
    /// A server completed a disk operation that its packet thread was waiting for.
    Written { server: ServerId, writing: Writing },
    /// A power loss restored transactions that a TRUNC had cut.
    TruncUndone { server: ServerId },

    // ---- the service grain ----
    /// The server of a client executes a packet.
    Takes { client: ClientId, packet: ClientPacket },
    /// The server of a client advances to this transaction.
    Applies { client: ClientId, zxid: Zxid },
    /// The leader deletes a container that is due.
    ContainerDeleted { path: Arc<str> },
    /// A write of a lost connection arrives at the leader.
    ArrivesLate { request: Arc<Request> },
}
