//! A leader's memory, and what anybody may ask of it.

use super::containers::Containers;
use super::sync_limit::SyncLimitCheck;
use crate::server::context::{Context, Writing};
use crate::server::prep::Prep;
use crate::vocabulary::id::{LearnerConnection, ServerId, ServerSet, SessionId, Xid};
use crate::vocabulary::packet::LeaderPacket;
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::quorum::QuorumVerifier;
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::{ServerTimer, Watched};
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::{Epoch, Zxid};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// How far the leader's main thread has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Snapshots its tree; nobody is listened to yet.
    Preparing,
    /// getEpochToPropose: waits for a quorum's accepted epochs, then writes its own.
    Discovery,
    /// waitForEpochAck, then writes its current epoch.
    AwaitingEpochAcks,
    /// waitForNewLeaderAck.
    Synchronization,
    /// Established.
    Broadcast,
}

/// How far a learner's handler has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::server) enum HandlerPhase {
    /// Reads FOLLOWERINFO.
    #[default]
    AwaitingInfo,
    /// Waits until the new epoch is fixed.
    AwaitingEpoch,
    /// LEADERINFO was sent; reads ACKEPOCH.
    AwaitingEpochAck,
    /// ACKEPOCH was read; waits for a quorum of them.
    AwaitingElection { last_zxid: Zxid },
    /// Streams a SNAP, or is about to send a DIFF or TRUNC; packets for the learner are queued.
    Streaming(Stream),
    /// NEWLEADER was sent; reads the first ACK.
    AwaitingAck,
    /// Waits until the leader is established.
    AwaitingStart,
    /// UPTODATE was sent.
    Broadcast,
}

/// What happens between startForwarding and startSendingPackets, outside any lock (rule 6.5.2):
/// the tree of a SNAP is read piece by piece (rule 6.4.8), while packets are queued.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::server) struct Stream {
    pub(in crate::server) is_snap: bool,
    pub(super) started: bool,
    pub(super) cursor: Option<ZnodePath>,
    /// queuedPackets: what was forwarded meanwhile.
    pub(super) queued: Vec<LeaderPacket>,
}

/// LearnerHandler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::server) struct Handler {
    pub(in crate::server) phase: HandlerPhase,
    /// The learner has registered again on another connection: what it acknowledged on this one, it
    /// may not hold any more.
    pub(in crate::server) superseded: bool,
    /// Whether its acks stall.
    pub(super) sync_limit: SyncLimitCheck,
    /// It has not been heard from in broadcast for so long that the ping round does not count it (rule 6.7.3).
    pub(super) is_overdue: bool,
}

impl Handler {
    /// In forwardingFollowers: gets proposals and commits.
    pub(super) fn is_forwarding(&self) -> bool {
        matches!(
            self.phase,
            HandlerPhase::Streaming(_)
                | HandlerPhase::AwaitingAck
                | HandlerPhase::AwaitingStart
                | HandlerPhase::Broadcast
        )
    }

    /// Sends behind whatever is queued for this learner.
    pub(super) fn send(
        &mut self,
        connection: LearnerConnection,
        packet: LeaderPacket,
        context: &mut Context<'_>,
    ) {
        match (&mut self.phase, &packet) {
            (HandlerPhase::Streaming(stream), _) => {
                stream.queued.push(packet);
                return;
            }
            // Watched from the ack of NEWLEADER on.
            (
                HandlerPhase::AwaitingStart | HandlerPhase::Broadcast,
                LeaderPacket::Proposal(txn),
            ) => self.sync_limit.sent(txn.zxid, connection, context),
            _ => {}
        }
        context.to_learner(connection, packet);
    }

    /// One for a learner that has just connected, which has initLimit + syncLimit ticks until it is heard from in
    /// broadcast (rule 6.7.3).
    pub(super) fn begin(connection: LearnerConnection, context: &mut Context<'_>) -> Handler {
        let ticks = context.config.init_limit + context.config.sync_limit;
        context.arm(ServerTimer::AckDeadline(connection), context.config.tick * ticks);
        Handler::default()
    }

    /// It goes on to another phase. Where it reads, the next packet has initLimit ticks, or in broadcast syncLimit
    /// ticks; where it waits for others, or sends, no limit runs (rule 5.5.2).
    pub(super) fn enter(
        &mut self,
        phase: HandlerPhase,
        connection: LearnerConnection,
        context: &mut Context<'_>,
    ) {
        let ticks = match phase {
            HandlerPhase::AwaitingInfo
            | HandlerPhase::AwaitingEpochAck
            | HandlerPhase::AwaitingAck => Some(context.config.init_limit),
            HandlerPhase::Broadcast => Some(context.config.sync_limit),
            HandlerPhase::AwaitingEpoch
            | HandlerPhase::AwaitingElection { .. }
            | HandlerPhase::Streaming(_)
            | HandlerPhase::AwaitingStart => None,
        };
        self.phase = phase;
        match ticks {
            Some(ticks) => {
                context.arm(ServerTimer::LearnerSilent(connection), context.config.tick * ticks);
            }
            None => context.disarm(ServerTimer::LearnerSilent(connection)),
        }
    }

    /// A packet of broadcast was read: the next one has syncLimit ticks, and so long it counts as synchronised.
    pub(super) fn was_heard(&mut self, connection: LearnerConnection, context: &mut Context<'_>) {
        self.is_overdue = false;
        let limit = context.config.tick * context.config.sync_limit;
        context.arm(ServerTimer::LearnerSilent(connection), limit);
        context.disarm(ServerTimer::AckDeadline(connection));
    }

    /// It ends, or its leader's role does.
    pub(in crate::server) fn stop_timers(
        &self,
        connection: LearnerConnection,
        context: &mut Context<'_>,
    ) {
        context.disarm(ServerTimer::LearnerSilent(connection));
        context.disarm(ServerTimer::AckDeadline(connection));
        for timer in self.sync_limit.timers() {
            context.disarm(ServerTimer::Unacknowledged(connection, timer));
        }
    }
}

/// A proposal that is not committed yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Proposal {
    pub(super) txn: Arc<Txn>,
    pub(super) acks: ServerSet,
    /// pendingSyncs that wait for its commit.
    pub(super) syncs: Vec<(LearnerConnection, SessionId, Xid)>,
}

/// A leader's memory beyond the database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leader {
    pub(super) phase: Phase,
    pub(super) epoch: Epoch,
    /// (currentEpoch, last zxid) when it began to lead: nobody who counts may be ahead of it.
    pub(super) summary: (Epoch, Zxid),
    /// connectingFollowers.
    pub(super) connecting: ServerSet,
    /// electingFollowers.
    pub(super) electing: ServerSet,
    /// electionFinished.
    pub(super) election_finished: bool,
    /// Acks of NEWLEADER.
    pub(super) new_leader_acks: ServerSet,
    /// Those that count once more ([`Bug::PlantedAckedTwice`]).
    pub(super) acked_again: u8,
    pub(in crate::server) handlers: BTreeMap<LearnerConnection, Handler>,
    pub(super) outstanding: VecDeque<Proposal>,
    pub(super) last_proposed: Zxid,
    pub(super) last_committed: Zxid,
    pub(super) prep: Option<Box<Prep>>,
    /// Which servers must agree.
    pub(in crate::server) verifier: QuorumVerifier,
    pub(super) containers: Containers,
    /// Every second ping round is a tick (rule 6.7.3).
    pub(super) skip_tick: bool,
}

impl Leader {
    /// One that has just been elected, with this (currentEpoch, last zxid).
    pub(super) fn new(summary: (Epoch, Zxid), verifier: QuorumVerifier) -> Leader {
        Leader {
            phase: Phase::Preparing,
            epoch: Epoch(0),
            summary,
            connecting: ServerSet::default(),
            electing: ServerSet::default(),
            election_finished: false,
            new_leader_acks: ServerSet::default(),
            acked_again: 0,
            handlers: BTreeMap::new(),
            outstanding: VecDeque::new(),
            last_proposed: Zxid::ZERO,
            last_committed: Zxid::ZERO,
            prep: None,
            verifier,
            containers: Containers::default(),
            skip_tick: true,
        }
    }

    /// `prep`, which only an established leader has.
    pub(super) fn prep_mut(&mut self) -> &mut Prep {
        self.prep.as_mut().expect("only an established leader is asked anything by sessions")
    }

    /// The handler that has just read from this connection.
    pub(super) fn handler_mut(&mut self, connection: LearnerConnection) -> &mut Handler {
        self.handlers.get_mut(&connection).expect("only a connection with a handler is asked about")
    }

    /// Whether it tracks this session, which is not closing yet: whether that can expire.
    pub(in crate::server) fn can_expire(&self, session: SessionId) -> bool {
        self.prep.as_ref().is_some_and(|prep| prep.sessions().touch(session).is_some())
    }

    /// The timers of its container manager that are armed.
    pub(in crate::server) fn container_timers(&self) -> impl Iterator<Item = ServerTimer> {
        self.containers.timers()
    }

    /// Whether the handler of this connection has a piece of a SNAP to stream, or what is queued
    /// for the learner to send.
    pub(in crate::server) fn can_stream(&self, connection: LearnerConnection) -> bool {
        let handler = self.handlers.get(&connection);
        handler.is_some_and(|handler| matches!(handler.phase, HandlerPhase::Streaming(_)))
    }

    /// Whether it is activated.
    pub fn is_established(&self) -> bool {
        self.phase == Phase::Broadcast
    }

    /// The epoch it leads, or proposes to lead.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The connections of its learners.
    pub fn connections(&self) -> Vec<LearnerConnection> {
        self.each_connection().collect()
    }

    /// The same, one after the other.
    pub fn each_connection(&self) -> impl Iterator<Item = LearnerConnection> {
        self.handlers.keys().copied()
    }

    /// Whether an ack of this zxid changes nothing (rule 4.4.3).
    pub(in crate::server) fn ignores(&self, zxid: Zxid) -> bool {
        zxid.is_opening() || zxid <= self.last_committed
    }

    /// Whether an ack of this zxid by this server would commit it.
    pub(in crate::server) fn would_commit(&self, server: ServerId, zxid: Zxid) -> bool {
        let first = self.outstanding.front().filter(|first| first.txn.zxid == zxid);
        first.is_some_and(|first| self.verifier.contains_quorum(first.acks.with(server)))
    }

    /// Whether its own vote for its NEWLEADER would be the last that it needs.
    pub(in crate::server) fn would_be_activated_by_itself(&self, id: ServerId) -> bool {
        self.has_quorum_of_votes(self.new_leader_acks.with(id))
    }

    /// Whether a quorum has acknowledged its NEWLEADER if these servers have. Under [`Bug::PlantedAckedTwice`] each ack that
    /// came again counts as that of a server whose ack is missing.
    pub(super) fn has_quorum_of_votes(&self, acks: ServerSet) -> bool {
        let missing = self.verifier.voters().difference(acks).iter();
        let counted_again = missing.take(usize::from(self.acked_again));
        self.verifier.contains_quorum(counted_again.fold(acks, ServerSet::with))
    }

    /// Whether it sends away whoever has accepted this epoch, and does no more about it.
    pub fn would_refuse(&self, accepted: Epoch, bugs: Bugs) -> bool {
        bugs.has(Bug::LeaderIgnoresNewerEpoch)
            && self.phase > Phase::Discovery
            && accepted > self.epoch
    }

    /// Whether this connection has a handler.
    pub fn handles(&self, connection: LearnerConnection) -> bool {
        self.handlers.contains_key(&connection)
    }

    /// Whether a proposal of this connection's learner is watched by this timer.
    pub(in crate::server) fn watches(
        &self,
        connection: LearnerConnection,
        watched: Watched,
    ) -> bool {
        self.handlers.get(&connection).is_some_and(|handler| handler.sync_limit.heeds(watched))
    }

    /// Whether the learner of this connection counts as synchronised until a timer fires.
    pub(in crate::server) fn counts(&self, connection: LearnerConnection) -> bool {
        self.handlers.get(&connection).is_some_and(|handler| !handler.is_overdue)
    }

    /// It does not count any more until it is heard from.
    pub(in crate::server) fn is_overdue(&mut self, connection: LearnerConnection) {
        self.handler_mut(connection).is_overdue = true;
    }

    /// The proposal that is watched by this timer is late: the next ping round hangs up if it is the oldest.
    pub(in crate::server) fn is_late(&mut self, connection: LearnerConnection, watched: Watched) {
        self.handler_mut(connection).sync_limit.fired(watched);
    }

    /// A connection has a new number. (Requests of clients, which name it too, are for no ensemble
    /// whose connections are renumbered.)
    pub(in crate::server) fn rename_connection(
        &mut self,
        from: LearnerConnection,
        to: LearnerConnection,
    ) {
        if let Some(handler) = self.handlers.remove(&from) {
            self.handlers.insert(to, handler);
        }
    }

    /// The sessions whose expiry it watches.
    pub fn tracked_sessions(&self) -> Vec<SessionId> {
        let sessions = self.prep.iter().flat_map(|prep| prep.sessions().iter());
        sessions.map(|(session, _)| session).collect()
    }

    /// The timeout by which it expires a session; `None` for one that it does not know.
    pub fn tracked_timeout(&self, session: SessionId) -> Option<Duration> {
        self.prep.as_ref()?.sessions().timeout(session)
    }

    /// How many proposals are not committed yet.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Whether a proposal with this session and number is outstanding.
    pub fn has_outstanding(&self, session: SessionId, xid: Xid) -> bool {
        self.outstanding
            .iter()
            .any(|proposal| proposal.txn.session == session && proposal.txn.cxid == xid)
    }

    /// In words, for people.
    pub fn describe(&self) -> String {
        let phase = match self.phase {
            Phase::Preparing => "preparing".into(),
            Phase::Discovery => "discovery".into(),
            Phase::AwaitingEpochAcks => format!("epoch {}, awaiting epoch acks", self.epoch),
            Phase::Synchronization => format!("epoch {}, awaiting NEWLEADER acks", self.epoch),
            Phase::Broadcast => {
                format!("epoch {}, {} outstanding", self.epoch, self.outstanding.len())
            }
        };
        format!("LEADING ({phase})")
    }

    /// Whether the leader does not read from learners at the moment: before it listens, and while
    /// getEpochToPropose holds its lock to write `acceptedEpoch`.
    pub fn is_deaf(&self, writing: Option<&Writing>) -> bool {
        matches!(writing, Some(Writing::LeadSnapshot | Writing::AcceptedEpoch))
    }
}
