//! A follower's memory, and what anybody may ask of it.

use crate::server::context::Context;
use crate::tree::DataTree;
use crate::vocabulary::acl::Id;
use crate::vocabulary::event::SyncMode;
use crate::vocabulary::id::{ClientConnection, LearnerConnection, ServerId, SessionId, Xid};
use crate::vocabulary::packet::{LearnerPacket, ServerRequest};
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::{Epoch, Zxid};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// How far the learner has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::server) enum Phase {
    /// FOLLOWERINFO was sent; a refused connection is tried again.
    Discovery,
    /// LEADERINFO was read; `acceptedEpoch` is being written where the epoch is new.
    AcceptingEpoch,
    /// ACKEPOCH was sent: DIFF, TRUNC or SNAP comes next.
    AwaitingSync,
    /// Pieces of a SNAP are being read into this tree.
    LoadingSnapshot(Box<DataTree>),
    /// Proposals and commits up to NEWLEADER are being read.
    Synchronising,
    /// NEWLEADER was read; its disk operations are under way.
    Persisting,
    /// NEWLEADER was acknowledged; UPTODATE is awaited.
    AwaitingUpToDate,
    /// Serving.
    Broadcast,
}

/// A follower's memory beyond the database.
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
    /// Sessions heard from since the last PING (rule 2.3.4).
    pub(super) touched: BTreeSet<SessionId>,
    /// A TRUNC could not be followed: the next ACKEPOCH asks for a SNAP by claiming an empty
    /// history. Repaired only (see [`crate::vocabulary::release::Bug::SnapKeepsOldLog`]).
    pub(super) ask_for_snapshot: bool,
}

impl Learner {
    /// One that has not connected yet.
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
        }
    }

    /// Whom it follows.
    pub fn leader(&self) -> ServerId {
        self.leader
    }

    /// The connection to the leader.
    pub fn connection(&self) -> Option<LearnerConnection> {
        self.connection
    }

    /// The connection of one that has got as far as to read from it: it leaves its role when that ends.
    pub(super) fn connected(&self) -> LearnerConnection {
        self.connection.expect("it has connected, and leaves its role with the connection")
    }

    /// Whether it has yet to connect, or may try again.
    pub(in crate::server) fn can_connect(&self) -> bool {
        self.connection.is_none() && self.phase == Phase::Discovery
    }

    /// The connection has a new number.
    pub(in crate::server) fn rename_connection(
        &mut self,
        from: LearnerConnection,
        to: LearnerConnection,
    ) {
        if self.connection == Some(from) {
            self.connection = Some(to);
        }
    }

    /// Whether it has acknowledged NEWLEADER: each packet has syncLimit ticks from then on.
    pub(in crate::server) fn is_synchronised(&self) -> bool {
        matches!(self.phase, Phase::AwaitingUpToDate | Phase::Broadcast)
    }

    /// Whether clients are served.
    pub fn is_serving(&self) -> bool {
        self.phase == Phase::Broadcast
    }

    /// The kind of a synchronisation that has begun and not been acknowledged.
    pub fn unfinished_sync(&self) -> Option<SyncMode> {
        self.mode
    }

    /// In words, for people.
    pub fn describe(&self) -> String {
        let phase = match self.phase {
            Phase::Discovery | Phase::AcceptingEpoch => "discovery",
            Phase::AwaitingSync
            | Phase::LoadingSnapshot(_)
            | Phase::Synchronising
            | Phase::Persisting => "synchronising",
            Phase::AwaitingUpToDate => "awaiting UPTODATE",
            Phase::Broadcast => "serving",
        };
        format!("FOLLOWING server {} ({phase})", self.leader.0)
    }

    /// Acknowledges a logged proposal.
    pub fn ack(&self, zxid: Zxid, context: &mut Context<'_>) {
        context.to_leader(self.connected(), LearnerPacket::Ack(zxid));
    }

    /// Remembers that a session was heard from.
    pub fn touch(&mut self, session: SessionId) {
        self.touched.insert(session);
    }

    /// Forwards a request of a client, or a createSession.
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
