//! A follower: discovery, synchronisation and broadcast as the learner sees them (semantics 5.5,
//! 6.3, 6.6, 4.5).

mod sync;

use super::{Context, Role, Server, Writing};
use crate::network::Delivered;
use crate::tree::DataTree;
use crate::vocabulary::acl::Id;
use crate::vocabulary::event::SyncMode;
use crate::vocabulary::id::{ClientConnection, LearnerConnection, ServerId, SessionId, Xid};
use crate::vocabulary::packet::{LeaderPacket, LearnerPacket, ServerRequest};
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::ServerTimer;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::{Epoch, Zxid};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Attempts to connect to the elected leader before the next election (semantics 5.5).
const CONNECT_ATTEMPTS: u8 = 5;
/// Between two of them.
const CONNECT_RETRY: Duration = Duration::from_millis(100);

/// How far the learner has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
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
    leader: ServerId,
    connection: Option<LearnerConnection>,
    attempts: u8,
    pub(super) phase: Phase,
    epoch: Epoch,
    /// SyncMode: set by DIFF, TRUNC or SNAP, cleared when NEWLEADER is acknowledged.
    pub(super) mode: Option<SyncMode>,
    /// packetsNotLogged.
    pub(super) not_logged: VecDeque<Arc<Txn>>,
    /// packetsCommitted.
    committed: VecDeque<Zxid>,
    /// pendingTxns: proposed and not yet committed.
    pending: VecDeque<Arc<Txn>>,
    /// Sessions heard from since the last PING (semantics 2.3).
    touched: BTreeSet<SessionId>,
    /// A TRUNC could not be followed: the next ACKEPOCH asks for a SNAP by claiming an empty
    /// history. Repaired only (see [`Bug::SnapKeepsOldLog`]).
    ask_for_snapshot: bool,
}

impl Learner {
    fn new(leader: ServerId) -> Learner {
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

    /// The connection has a new number.
    pub(super) fn rename_connection(&mut self, from: LearnerConnection, to: LearnerConnection) {
        if self.connection == Some(from) {
            self.connection = Some(to);
        }
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
        if let Some(connection) = self.connection {
            context.to_leader(connection, LearnerPacket::Ack(zxid));
        }
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
        if let Some(connection) = self.connection {
            context.to_leader(connection, LearnerPacket::Request { session, xid, request, auth });
        }
    }

    /// Asks the leader whether a session is alive.
    pub fn revalidate(
        &self,
        session: SessionId,
        waiting: ClientConnection,
        context: &mut Context<'_>,
    ) {
        if let Some(connection) = self.connection {
            let packet = LearnerPacket::Revalidate { session, connection: waiting };
            context.to_leader(connection, packet);
        }
    }
}

impl Server {
    /// Follows an elected leader: connects to it.
    pub(super) fn follow(&mut self, leader: ServerId, context: &mut Context<'_>) {
        self.role = Role::Following(Learner::new(leader));
        let limit = context.config.tick * context.config.init_limit;
        context.arm(ServerTimer::InitLimit, limit);
        self.connect_to_leader(context);
    }

    /// Opens the connection and sends FOLLOWERINFO (semantics 6.3 rule 4).
    pub(super) fn connect_to_leader(&mut self, context: &mut Context<'_>) -> bool {
        let Role::Following(learner) = &mut self.role else { return false };
        if learner.connection.is_some() || learner.phase != Phase::Discovery {
            return false;
        }
        if !context.config.election.is_oracle() {
            learner.attempts += 1;
        }
        let connection = context.network.open_learner(self.id, learner.leader);
        learner.connection = Some(connection);
        let accepted_epoch = context.disk.accepted_epoch();
        context.to_leader(connection, LearnerPacket::FollowerInfo { accepted_epoch });
        true
    }

    /// Reads from the connection to the leader.
    pub fn from_leader(
        &mut self,
        connection: LearnerConnection,
        delivered: Delivered<LeaderPacket>,
        context: &mut Context<'_>,
    ) {
        let Role::Following(learner) = &mut self.role else { return };
        if learner.connection != Some(connection) {
            return;
        }
        match delivered {
            Delivered::End { accepted: false }
                if learner.attempts < CONNECT_ATTEMPTS && !context.config.election.is_oracle() =>
            {
                learner.connection = None;
                context.arm(ServerTimer::ConnectLeader, CONNECT_RETRY);
            }
            Delivered::End { .. } => {
                self.leave_role("the connection to the leader ended", context);
            }
            Delivered::Packet(packet) => {
                if learner.phase == Phase::Broadcast {
                    self.stay_patient(context);
                }
                self.leader_packet(packet, context);
            }
        }
    }

    /// Something was read from the leader: the syncLimit clock starts anew.
    fn stay_patient(&mut self, context: &mut Context<'_>) {
        let limit = context.config.tick * context.config.sync_limit;
        context.arm(ServerTimer::LeaderSilent, limit);
    }

    fn leader_packet(&mut self, packet: LeaderPacket, context: &mut Context<'_>) {
        let Role::Following(learner) = &mut self.role else { return };
        match (&mut learner.phase, packet) {
            (Phase::Discovery, LeaderPacket::LeaderInfo { epoch }) => {
                self.leader_info(epoch, context);
            }
            (
                Phase::AwaitingSync,
                packet @ (LeaderPacket::Diff(_) | LeaderPacket::Trunc(_) | LeaderPacket::Snap(_)),
            ) => self.begin_sync(packet, context),
            (Phase::LoadingSnapshot(tree), LeaderPacket::SnapSessions(sessions)) => {
                for (session, timeout) in sessions {
                    tree.load_session(session, timeout);
                }
            }
            (Phase::LoadingSnapshot(tree), LeaderPacket::SnapNodes(nodes)) => {
                for (path, node) in nodes {
                    tree.load_node(path, node);
                }
            }
            (Phase::LoadingSnapshot(tree), LeaderPacket::SnapEnd) => {
                let mut tree = std::mem::take(&mut **tree);
                tree.count_quotas_anew();
                self.tree = Arc::new(tree);
                self.committed_log.clear();
                learner.phase = Phase::Synchronising;
            }
            (Phase::Synchronising | Phase::AwaitingUpToDate, LeaderPacket::Proposal(txn)) => {
                learner.not_logged.push_back(txn);
            }
            (Phase::Synchronising, LeaderPacket::Commit(zxid)) => {
                self.commit_while_synchronising(zxid, context);
            }
            (Phase::AwaitingUpToDate, LeaderPacket::Commit(zxid)) => {
                learner.committed.push_back(zxid);
            }
            (Phase::Synchronising, LeaderPacket::NewLeader(epoch)) => {
                self.new_leader(epoch, context);
            }
            (Phase::AwaitingUpToDate, LeaderPacket::UpToDate) => self.up_to_date(context),
            (Phase::Broadcast, packet) => self.broadcast_packet(packet, context),
            (Phase::Synchronising | Phase::AwaitingUpToDate, LeaderPacket::Ping) => {}
            (phase, packet) => {
                unreachable!("{}: {packet:?} in phase {phase:?}", self.id)
            }
        }
    }

    // ---- discovery ----

    /// LEADERINFO (semantics 6.3 rule 4).
    fn leader_info(&mut self, epoch: Epoch, context: &mut Context<'_>) {
        let Role::Following(learner) = &mut self.role else { return };
        let accepted = context.disk.accepted_epoch();
        if epoch < accepted {
            self.leave_role("the leader's epoch is less than the accepted one", context);
            return;
        }
        learner.epoch = epoch;
        learner.phase = Phase::AcceptingEpoch;
        if epoch > accepted {
            self.write(Writing::AcceptedEpoch, context);
        } else {
            // This epoch was accepted before: the answer does not count towards its quorum.
            self.ack_epoch(None, context);
        }
    }

    fn ack_epoch(&mut self, current_epoch: Option<Epoch>, context: &mut Context<'_>) {
        let Role::Following(learner) = &mut self.role else { return };
        learner.phase = Phase::AwaitingSync;
        let last_zxid =
            if learner.ask_for_snapshot { Zxid::ZERO } else { self.tree.last_processed() };
        let connection = learner.connection.expect("phases after connecting have a connection");
        context.to_leader(connection, LearnerPacket::AckEpoch { current_epoch, last_zxid });
    }

    // ---- broadcast ----

    fn broadcast_packet(&mut self, packet: LeaderPacket, context: &mut Context<'_>) {
        let Role::Following(learner) = &mut self.role else { return };
        match packet {
            LeaderPacket::Proposal(txn) => self.log_proposal(txn, context),
            LeaderPacket::Commit(zxid) => self.commit_pending(zxid, context),
            LeaderPacket::Ping => {
                let touched = std::mem::take(&mut learner.touched).into_iter().collect();
                let connection = learner.connection.expect("still connected");
                context.to_leader(connection, LearnerPacket::Ping { touched });
            }
            LeaderPacket::Revalidated { session, connection, timeout } => {
                self.revalidated(session, connection, timeout, context);
            }
            LeaderPacket::Synced { session, xid } => self.synced(session, xid, context),
            packet => unreachable!("{}: {packet:?} in broadcast", self.id),
        }
    }

    /// PROPOSAL: to pendingTxns and to the log thread.
    fn log_proposal(&mut self, txn: Arc<Txn>, context: &mut Context<'_>) {
        let Role::Following(learner) = &mut self.role else { return };
        learner.pending.push_back(Arc::clone(&txn));
        self.queue_for_log(txn, context);
    }

    /// COMMIT: the head of pendingTxns must match (semantics 4.5). The transaction is applied even
    /// if its own fsync has not completed.
    fn commit_pending(&mut self, zxid: Zxid, context: &mut Context<'_>) {
        let Role::Following(learner) = &mut self.role else { return };
        let Some(head) = learner.pending.front() else { return };
        assert_eq!(head.zxid, zxid, "{}: UNMATCHED_TXN_COMMIT", self.id);
        let txn = learner.pending.pop_front().expect("just looked at it");
        self.deliver(txn, context);
    }
}
