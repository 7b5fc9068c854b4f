//! A learner's memory, and read access to it.

use crate::server::context::Context;
use crate::server::observer_master::ObserverMaster;
use crate::tree::DataTree;
use crate::vocabulary::acl::Id;
use crate::vocabulary::event::SyncMode;
use crate::vocabulary::id::{ClientConnection, LearnerConnection, ServerId, SessionId, Xid};
use crate::vocabulary::packet::{LearnerPacket, ServerRequest};
use crate::vocabulary::quorum::{Attached, QuorumVerifier};
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::{Epoch, Zxid};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The phase of a learner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::server) enum Phase {
    /// FOLLOWERINFO was sent; a refused connection is retried.
    Discovery,
    /// LEADERINFO was read; if its epoch is new, `acceptedEpoch` is being written.
    AcceptingEpoch,
    /// ACKEPOCH was sent; DIFF, TRUNC or SNAP comes next.
    AwaitingSync,
    /// The pieces of a SNAP are being read into this tree.
    LoadingSnapshot(Box<DataTree>),
    /// Proposals and commits up to NEWLEADER are being read.
    Synchronising,
    /// NEWLEADER was read; its disk operations are in progress.
    Persisting,
    /// NEWLEADER was acknowledged; UPTODATE comes next.
    AwaitingUpToDate,
    /// Serving.
    Broadcast,
}

/// A learner's memory besides the database: a follower's or an observer's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Learner {
    pub(super) leader: ServerId,
    pub(super) connection: Option<LearnerConnection>,
    pub(super) attempts: u8,
    pub(in crate::server) phase: Phase,
    pub(super) epoch: Epoch,
    /// SyncMode: set by DIFF, TRUNC or SNAP, cleared when NEWLEADER is acknowledged.
    pub(in crate::server) mode: Option<SyncMode>,
    /// packetsNotLogged.
    pub(in crate::server) not_logged: VecDeque<Arc<Txn>>,
    /// packetsCommitted.
    pub(super) committed: VecDeque<Zxid>,
    /// pendingTxns: proposed and not yet committed.
    pub(super) pending: VecDeque<Arc<Txn>>,
    /// Sessions that have sent a packet since the last PING (rule 2.3.4).
    pub(super) touched: BTreeSet<SessionId>,
    /// True if the learner could not execute a TRUNC: its next ACKEPOCH requests a SNAP by claiming an empty history.
    /// Only when repaired (see [`crate::vocabulary::release::Bug::SnapKeepsOldLog`]).
    pub(super) ask_for_snapshot: bool,
    /// The observer master of a follower that serves (rule 5.9.2).
    pub(in crate::server) master: Attached<Box<ObserverMaster>>,
    /// The configuration in NEWLEADER, which UPTODATE activates (rule 5.8.8).
    pub(super) new_leader_configuration: Attached<QuorumVerifier>,
}

impl Learner {
    /// Returns a learner that has not connected yet.
    pub(in crate::server) fn new(leader: ServerId) -> Learner {
        Learner {
            leader,
            connection: None,
            attempts: 0,
            phase: Phase::Discovery,
            epoch: Epoch(0),
            mode: None,
            not_logged: VecDeque::new(),
            committed: VecDeque::new(),
            pending: VecDeque::new(),
            touched: BTreeSet::new(),
            ask_for_snapshot: false,
            master: Attached(None),
            new_leader_configuration: Attached(None),
        }
    }

    /// Returns what was loaded of a SNAP that is broken off: the tree is at no zxid before its end is read.
    pub(in crate::server) fn into_partial_tree(self) -> Option<DataTree> {
        match self.phase {
            Phase::LoadingSnapshot(mut tree) => {
                tree.set_last_processed(Zxid::ZERO);
                Some(*tree)
            }
            _ => None,
        }
    }

    /// Returns the leader that it follows.
    pub fn leader(&self) -> ServerId {
        self.leader
    }

    /// Returns the connection to the leader.
    pub fn connection(&self) -> Option<LearnerConnection> {
        self.connection
    }

    /// Returns the connection of a learner that reads from it; the learner leaves its role when the connection ends.
    pub(super) fn connected(&self) -> LearnerConnection {
        self.connection.expect("it has connected, and leaves its role with the connection")
    }

    /// Returns true if the learner has no connection and may try to connect.
    pub(in crate::server) fn can_connect(&self) -> bool {
        self.connection.is_none() && self.phase == Phase::Discovery
    }

    /// Returns true if this observer waits for its choice of an observer master.
    pub(in crate::server) fn chooses_master(&self) -> bool {
        self.can_connect() && self.attempts == 0
    }

    /// Renames the connection.
    pub(in crate::server) fn rename_connection(
        &mut self,
        from: LearnerConnection,
        to: LearnerConnection,
    ) {
        if self.connection == Some(from) {
            self.connection = Some(to);
        }
    }

    /// Returns true if it has acknowledged NEWLEADER, from when on each packet is due within syncLimit ticks.
    pub(in crate::server) fn is_synchronised(&self) -> bool {
        matches!(self.phase, Phase::AwaitingUpToDate | Phase::Broadcast)
    }

    /// Returns true if it serves clients.
    pub fn is_serving(&self) -> bool {
        self.phase == Phase::Broadcast
    }

    /// Returns the kind of a synchronisation that has begun and is not acknowledged.
    pub(crate) fn unfinished_sync(&self) -> Option<SyncMode> {
        self.mode
    }

    /// Describes the learner's state; `role` is FOLLOWING or OBSERVING.
    pub fn describe(&self, role: &str) -> String {
        let phase = match self.phase {
            Phase::Discovery | Phase::AcceptingEpoch => "discovery",
            Phase::AwaitingSync
            | Phase::LoadingSnapshot(_)
            | Phase::Synchronising
            | Phase::Persisting => "synchronising",
            Phase::AwaitingUpToDate => "awaiting UPTODATE",
            Phase::Broadcast => "serving",
        };
        format!("{role} server {} ({phase})", self.leader.0)
    }

    /// Acknowledges a logged proposal.
    pub fn ack(&self, zxid: Zxid, context: &mut Context<'_>) {
        context.to_leader(self.connected(), LearnerPacket::Ack(zxid));
    }

    /// Records that a session has sent a packet.
    pub fn touch(&mut self, session: SessionId) {
        self.touched.insert(session);
    }

    /// Forwards a client's request, or a createSession, to the leader.
    pub fn forward(
        &self,
        session: SessionId,
        xid: Xid,
        request: ServerRequest,
        auth: Arc<[Id]>,
        context: &mut Context<'_>,
    ) {
        let packet = LearnerPacket::Request { session, xid, request, auth };
        context.to_leader(self.connected(), packet);
    }

    /// Asks the leader whether a session is alive.
    pub fn revalidate(
        &self,
        session: SessionId,
        waiting: ClientConnection,
        context: &mut Context<'_>,
    ) {
        let packet = LearnerPacket::Revalidate { session, connection: waiting };
        context.to_leader(self.connected(), packet);
    }
}
