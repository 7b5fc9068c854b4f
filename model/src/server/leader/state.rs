//! A leader's memory, and read access to it.

use super::containers::Containers;
use super::sync_limit::SyncLimitCheck;
use crate::server::context::Context;
use crate::server::prep::Prep;
use crate::vocabulary::file_system::Writing;
use crate::vocabulary::id::{LearnerConnection, ServerId, ServerSet, SessionId, Xid};
use crate::vocabulary::packet::LeaderPacket;
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::quorum::{Attached, Quorums};
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::{ServerTimer, Watched};
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::{Epoch, Zxid};
use litemap::LiteMap;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The phase of the leader's main thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Snapshots its tree; accepts no learners yet.
    Preparing,
    /// getEpochToPropose: waits for the accepted epochs of a quorum, then writes its own.
    Discovery,
    /// waitForEpochAck: waits for the epoch acks of a quorum, then writes its current epoch.
    AwaitingEpochAcks,
    /// waitForNewLeaderAck.
    Synchronization,
    /// Established.
    Broadcast,
}

/// The phase of a learner's handler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::server) enum HandlerPhase {
    /// Reads FOLLOWERINFO.
    #[default]
    AwaitingInfo,
    /// Waits until the new epoch is fixed.
    AwaitingEpoch,
    /// LEADERINFO was sent; reads ACKEPOCH.
    AwaitingEpochAck,
    /// ACKEPOCH was read; waits until a quorum has sent it.
    AwaitingElection { last_zxid: Zxid },
    /// Streams a SNAP, or is about to send a DIFF or TRUNC; other packets for the learner are queued.
    Streaming(Stream),
    /// NEWLEADER was sent; reads the first ACK.
    AwaitingAck,
    /// Waits until the leader is established.
    AwaitingStart,
    /// UPTODATE was sent.
    Broadcast,
}

/// The state between startForwarding and startSendingPackets, outside any lock (rule 6.5.2): the tree of a SNAP is
/// read piece by piece (rule 6.4.8), while packets are queued.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::server) struct Stream {
    pub(in crate::server) is_snap: bool,
    pub(super) started: bool,
    pub(super) cursor: Option<ZnodePath>,
    /// queuedPackets: the packets forwarded meanwhile.
    pub(super) queued: Vec<LeaderPacket>,
}

/// Acknowledgements that a handler has yet to read. Without any, a state is hashed as if there were no such field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::server) struct Early(pub(super) Vec<Zxid>);

impl Hash for Early {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if !self.0.is_empty() {
            self.0.hash(state);
        }
    }
}

/// LearnerHandler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::server) struct Handler {
    pub(in crate::server) phase: HandlerPhase,
    /// True if the learner has registered again on another connection: it may not hold any more what it acknowledged
    /// on this one.
    pub(in crate::server) superseded: bool,
    /// The check for missing acks.
    pub(super) sync_limit: SyncLimitCheck,
    /// What the learner has acknowledged before the handler's release.
    pub(in crate::server) early: Early,
    /// What the learner is to this handler, for as long as it lives.
    pub(super) observes: Observes,
    /// True if it was silent in broadcast for so long that the ping round does not count it (rule 6.7.3).
    pub(super) is_overdue: bool,
}

impl Handler {
    /// Returns true if the learner is in forwardingFollowers and so gets proposals and commits, or in observingLearners
    /// and so gets INFORM.
    pub(in crate::server) fn is_forwarding(&self) -> bool {
        matches!(
            self.phase,
            HandlerPhase::Streaming(_)
                | HandlerPhase::AwaitingAck
                | HandlerPhase::AwaitingStart
                | HandlerPhase::Broadcast
        )
    }

    /// Sends a packet after those already queued for this learner.
    pub(in crate::server) fn send(
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
            // Checked from the ack of NEWLEADER on.
            (
                HandlerPhase::AwaitingStart | HandlerPhase::Broadcast,
                LeaderPacket::Proposal(txn),
            ) => self.sync_limit.sent(txn.zxid, connection, context),
            _ => {}
        }
        context.to_learner(connection, packet);
    }

    /// Returns the handler of a new connection, whose learner must send a packet in broadcast within initLimit +
    /// syncLimit ticks (rule 6.7.3).
    pub(super) fn begin(connection: LearnerConnection, context: &mut Context<'_>) -> Handler {
        let ticks = context.config.init_limit + context.config.sync_limit;
        context.arm(ServerTimer::AckDeadline(connection), context.config.tick * ticks);
        Handler::default()
    }

    /// Enters another phase. In phases that read, the next packet is due within initLimit ticks, in broadcast within
    /// syncLimit ticks; in phases that wait for others or send, there is no limit (rule 5.5.2).
    pub(in crate::server) fn enter(
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

    /// Handles the arrival of a packet in broadcast: the next one is due within syncLimit ticks, and until then the
    /// learner counts as synchronised.
    pub(in crate::server) fn was_heard(
        &mut self,
        connection: LearnerConnection,
        context: &mut Context<'_>,
    ) {
        self.is_overdue = false;
        let limit = context.config.tick * context.config.sync_limit;
        context.arm(ServerTimer::LearnerSilent(connection), limit);
        context.disarm(ServerTimer::AckDeadline(connection));
    }

    /// Disarms the timers when the handler or its leader's role ends.
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
    /// pendingSyncs: the syncs to answer after its commit.
    pub(super) syncs: Vec<(LearnerConnection, SessionId, Xid)>,
    /// The quorums that it needs: those of the configurations at the time of the proposal, where reconfigurations are
    /// enabled (rule 5.8.6).
    pub(super) quorums: Attached<Quorums>,
}

/// `allowedToCommit`. True, it adds nothing to a state's hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MayCommit(pub(super) bool);

impl Hash for MayCommit {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if !self.0 {
            self.0.hash(state);
        }
    }
}

/// Whether a handler's learner has sent OBSERVERINFO. False, it adds nothing to a state's hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::server) struct Observes(pub(in crate::server) bool);

impl Hash for Observes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if self.0 {
            self.0.hash(state);
        }
    }
}

/// A leader's memory besides the database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leader {
    pub(super) phase: Phase,
    pub(super) epoch: Epoch,
    /// (currentEpoch, last zxid) when it began to lead: no learner that counts may be ahead of it.
    pub(super) summary: (Epoch, Zxid),
    /// connectingFollowers.
    pub(super) connecting: ServerSet,
    /// electingFollowers.
    pub(super) electing: ServerSet,
    /// electionFinished.
    pub(super) election_finished: bool,
    /// Acks of NEWLEADER.
    pub(super) new_leader_acks: ServerSet,
    /// Number of acks that count twice ([`Bug::PlantedAckedTwice`]).
    pub(super) acked_again: u8,
    pub(in crate::server) handlers: LiteMap<LearnerConnection, Handler>,
    pub(super) outstanding: VecDeque<Proposal>,
    pub(super) last_proposed: Zxid,
    pub(super) last_committed: Zxid,
    pub(super) prep: Option<Box<Prep>>,
    /// Which servers must acknowledge its NEWLEADER, and its proposals where reconfigurations are not enabled.
    pub(in crate::server) quorums: Quorums,
    /// False once it has committed a reconfiguration that designates another leader (rule 5.8.6).
    pub(super) may_commit: MayCommit,
    pub(super) containers: Containers,
    /// Alternates with each ping round; every second round counts synchronised learners (rule 6.7.3).
    pub(super) skip_tick: bool,
}

impl Leader {
    /// One that has just been elected, with this (currentEpoch, last zxid).
    pub(super) fn new(summary: (Epoch, Zxid), quorums: Quorums) -> Leader {
        Leader {
            phase: Phase::Preparing,
            epoch: Epoch(0),
            summary,
            connecting: ServerSet::default(),
            electing: ServerSet::default(),
            election_finished: false,
            new_leader_acks: ServerSet::default(),
            acked_again: 0,
            handlers: LiteMap::new(),
            outstanding: VecDeque::new(),
            last_proposed: Zxid::ZERO,
            last_committed: Zxid::ZERO,
            prep: None,
            quorums,
            may_commit: MayCommit(true),
            containers: Containers::default(),
            skip_tick: true,
        }
    }

    /// Returns `prep`, which only an established leader has.
    pub(super) fn prep_mut(&mut self) -> &mut Prep {
        self.prep.as_mut().expect("only an established leader is asked anything by sessions")
    }

    /// Returns the handler of a connection, which must exist.
    pub(super) fn handler_mut(&mut self, connection: LearnerConnection) -> &mut Handler {
        self.handlers.get_mut(&connection).expect("only a connection with a handler is asked about")
    }

    /// Returns true if the leader tracks this session and it is not closing, so that it can expire.
    pub(in crate::server) fn can_expire(&self, session: SessionId) -> bool {
        self.prep.as_ref().is_some_and(|prep| prep.sessions().touch(session).is_some())
    }

    /// Returns the armed timers of its container manager.
    pub(in crate::server) fn container_timers(&self) -> impl Iterator<Item = ServerTimer> {
        self.containers.timers()
    }

    /// Returns true if the handler of this connection has a piece of a SNAP, or its queued packets, to send.
    pub(in crate::server) fn can_stream(&self, connection: LearnerConnection) -> bool {
        let handler = self.handlers.get(&connection);
        handler.is_some_and(|handler| matches!(handler.phase, HandlerPhase::Streaming(_)))
    }

    /// Returns true if the leader is activated.
    pub(crate) fn is_established(&self) -> bool {
        self.phase == Phase::Broadcast
    }

    /// Returns the learners that are connected as observers only.
    pub(crate) fn observers(&self) -> ServerSet {
        let of = |observe: bool| -> ServerSet {
            let handlers = self.handlers.iter().filter(|(_, it)| it.observes.0 == observe);
            handlers.map(|(connection, _)| connection.learner).collect()
        };
        of(true).difference(of(false))
    }

    /// Returns the epoch that it leads, or proposes to lead.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Returns the connections of its learners.
    pub fn connections(&self) -> Vec<LearnerConnection> {
        self.each_connection().collect()
    }

    /// Iterates over the connections of its learners.
    pub fn each_connection(&self) -> impl Iterator<Item = LearnerConnection> {
        self.handlers.keys().copied()
    }

    /// Returns true if an ack of this zxid has no effect (rule 4.4.3).
    pub(in crate::server) fn ignores(&self, zxid: Zxid) -> bool {
        zxid.is_opening() || zxid <= self.last_committed
    }

    /// Returns true if an ack of this zxid by this server would commit it.
    pub(in crate::server) fn would_commit(&self, server: ServerId, zxid: Zxid) -> bool {
        let first = self.outstanding.front().filter(|first| first.txn.zxid == zxid);
        first.is_some_and(|first| self.quorums_of(first).contains_quorum(first.acks.with(server)))
    }

    /// Returns true if its own ack of NEWLEADER would complete its quorum.
    pub(in crate::server) fn would_be_activated_by_itself(&self, id: ServerId) -> bool {
        self.has_quorum_of_votes(self.new_leader_acks.with(id))
    }

    /// Whether a quorum has acknowledged its NEWLEADER if these servers have. Under [`Bug::PlantedAckedTwice`] each ack that
    /// came again counts as that of a server whose ack is missing.
    pub(super) fn has_quorum_of_votes(&self, acks: ServerSet) -> bool {
        let missing = self.quorums.voters().difference(acks).iter();
        let counted_again = missing.take(usize::from(self.acked_again));
        self.quorums.contains_quorum(counted_again.fold(acks, ServerSet::with))
    }

    /// Returns the quorums that a proposal needs.
    pub(super) fn quorums_of(&self, proposal: &Proposal) -> Quorums {
        proposal.quorums.0.unwrap_or(self.quorums)
    }

    /// Returns true if it refuses a learner that has accepted this epoch, and continues to lead.
    pub fn would_refuse(&self, accepted: Epoch, bugs: Bugs) -> bool {
        bugs.has(Bug::LeaderIgnoresNewerEpoch)
            && self.phase > Phase::Discovery
            && accepted > self.epoch
    }

    /// Returns true if this connection has a handler.
    pub fn handles(&self, connection: LearnerConnection) -> bool {
        self.handlers.contains_key(&connection)
    }

    /// Returns true if this timer is running for a proposal to this connection's learner.
    pub(in crate::server) fn watches(
        &self,
        connection: LearnerConnection,
        watched: Watched,
    ) -> bool {
        self.handlers.get(&connection).is_some_and(|handler| handler.sync_limit.heeds(watched))
    }

    /// Returns true if the learner of this connection counts as synchronised until a timer fires.
    pub(in crate::server) fn counts(&self, connection: LearnerConnection) -> bool {
        self.handlers.get(&connection).is_some_and(|handler| !handler.is_overdue)
    }

    /// Marks the learner as overdue: it does not count until its next packet.
    pub(in crate::server) fn is_overdue(&mut self, connection: LearnerConnection) {
        self.handler_mut(connection).is_overdue = true;
    }

    /// Marks the proposal of this timer as late: if it is the oldest, the next ping round closes the connection.
    pub(in crate::server) fn is_late(&mut self, connection: LearnerConnection, watched: Watched) {
        self.handler_mut(connection).sync_limit.fired(watched);
    }

    /// Renames a connection. (Clients' requests also contain connections' names, but ensembles with clients do not
    /// rename connections.)
    pub(in crate::server) fn rename_connection(
        &mut self,
        from: LearnerConnection,
        to: LearnerConnection,
    ) {
        if let Some(handler) = self.handlers.remove(&from) {
            self.handlers.insert(to, handler);
        }
    }

    /// Returns the sessions whose expiry it tracks.
    pub(crate) fn tracked_sessions(&self) -> Vec<SessionId> {
        let sessions = self.prep.iter().flat_map(|prep| prep.sessions().iter());
        sessions.map(|(session, _)| session).collect()
    }

    /// Returns the timeout with which it expires a session, or `None` for an unknown session.
    pub(crate) fn tracked_timeout(&self, session: SessionId) -> Option<Duration> {
        self.prep.as_ref()?.sessions().timeout(session)
    }

    /// Returns the number of proposals that are not committed yet.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Describes the leader's state.
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

    /// Returns true if the leader does not read from learners at the moment: before it accepts learners, and while
    /// getEpochToPropose holds its lock to write `acceptedEpoch`.
    pub fn is_deaf(&self, writing: Option<&Writing>) -> bool {
        matches!(writing, Some(Writing::LeadSnapshot | Writing::AcceptedEpoch))
    }
}
