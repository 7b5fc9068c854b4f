//! A leader: from winning the election to broadcast (semantics 6.3, 6.4, 6.7, 4.4).
//!
//! `discovery` collects accepted epochs and epoch acks, `sync` brings each learner up to date,
//! `broadcast` activates the leader, proposes, counts acks and commits.

pub mod broadcast;
mod containers;
pub mod discovery;
pub mod sync;

use super::prep::Prep;
use super::{Context, Role, Server, Writing};
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{LearnerConnection, ServerId, ServerSet, SessionId, Xid};
use crate::vocabulary::packet::LeaderPacket;
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::timer::ServerTimer;
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::server) enum HandlerPhase {
    /// Reads FOLLOWERINFO.
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

/// What happens between startForwarding and startSendingPackets, outside any lock (semantics 6.5):
/// the tree of a SNAP is read piece by piece (semantics 6.4), while packets are queued.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::server) struct Stream {
    pub(in crate::server) is_snap: bool,
    started: bool,
    cursor: Option<ZnodePath>,
    /// queuedPackets: what was forwarded meanwhile.
    queued: Vec<LeaderPacket>,
}

/// LearnerHandler.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::server) struct Handler {
    pub(in crate::server) phase: HandlerPhase,
    /// The learner has registered again on another connection: what it acknowledged on this one, it
    /// may not hold any more.
    pub(in crate::server) superseded: bool,
}

impl Handler {
    /// In forwardingFollowers: gets proposals and commits.
    fn is_forwarding(&self) -> bool {
        matches!(
            self.phase,
            HandlerPhase::Streaming(_)
                | HandlerPhase::AwaitingAck
                | HandlerPhase::AwaitingStart
                | HandlerPhase::Broadcast
        )
    }

    /// Sends behind whatever is queued for this learner.
    fn send(
        &mut self,
        connection: LearnerConnection,
        packet: LeaderPacket,
        context: &mut Context<'_>,
    ) {
        match &mut self.phase {
            HandlerPhase::Streaming(stream) => stream.queued.push(packet),
            _ => context.to_learner(connection, packet),
        }
    }
}

/// A proposal that is not committed yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Proposal {
    txn: Arc<Txn>,
    acks: ServerSet,
    /// pendingSyncs that wait for its commit.
    syncs: Vec<(LearnerConnection, SessionId, Xid)>,
}

/// A leader's memory beyond the database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leader {
    phase: Phase,
    epoch: Epoch,
    /// (currentEpoch, last zxid) when it began to lead: nobody who counts may be ahead of it.
    summary: (Epoch, Zxid),
    /// connectingFollowers.
    connecting: ServerSet,
    /// electingFollowers.
    electing: ServerSet,
    /// electionFinished.
    election_finished: bool,
    /// Acks of NEWLEADER.
    new_leader_acks: ServerSet,
    pub(in crate::server) handlers: BTreeMap<LearnerConnection, Handler>,
    outstanding: VecDeque<Proposal>,
    last_proposed: Zxid,
    last_committed: Zxid,
    prep: Option<Box<Prep>>,
    /// How many servers there are.
    pub(in crate::server) servers: u8,
    /// Whether [`ServerTimer::Containers`] is armed.
    watches_containers: bool,
    /// Every second ping round is a tick (semantics 6.7 rule 3).
    skip_tick: bool,
}

impl Leader {
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

    /// Whether an ack of this zxid changes nothing (semantics 4.4 rule 3).
    pub(in crate::server) fn ignores(&self, zxid: Zxid) -> bool {
        zxid.is_opening() || zxid <= self.last_committed
    }

    /// Whether an ack of this zxid by this server would commit it.
    pub(in crate::server) fn would_commit(&self, server: ServerId, zxid: Zxid) -> bool {
        let first = self.outstanding.front().filter(|first| first.txn.zxid == zxid);
        let half = usize::from(self.servers) / 2;
        first.is_some_and(|first| first.acks.with(server).len() > half)
    }

    /// Whether its own vote for its NEWLEADER would be the last that it needs.
    pub(in crate::server) fn would_be_activated_by_itself(&self, id: ServerId) -> bool {
        self.new_leader_acks.with(id).len() > usize::from(self.servers) / 2
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

    /// A connection has a new number. (Requests of clients, which name it too, are not for ensembles
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

impl Server {
    /// Begins to lead: loadData kills orphans and snapshots the tree, uncommitted transactions
    /// included, before anything is established (semantics 6.3 rule 1, 9 rule 8).
    pub(super) fn lead(&mut self, context: &mut Context<'_>) {
        if self.tree.has_orphans() {
            Arc::make_mut(&mut self.tree).kill_orphans();
        }
        let leader = Leader {
            phase: Phase::Preparing,
            epoch: Epoch(0),
            summary: (context.disk.current_epoch(), self.tree.last_processed()),
            connecting: ServerSet::default(),
            electing: ServerSet::default(),
            election_finished: false,
            new_leader_acks: ServerSet::default(),
            handlers: BTreeMap::new(),
            outstanding: VecDeque::new(),
            last_proposed: Zxid::ZERO,
            last_committed: Zxid::ZERO,
            prep: None,
            servers: context.config.servers,
            watches_containers: false,
            skip_tick: true,
        };
        self.role = Role::Leading(Box::new(leader));
        let limit = context.config.tick * context.config.init_limit;
        context.arm(ServerTimer::InitLimit, limit);
        self.write(Writing::LeadSnapshot, context);
    }

    /// A learner's connection was not read from for too long, or a handler fails: it is closed.
    pub(super) fn learner_silent(
        &mut self,
        connection: LearnerConnection,
        context: &mut Context<'_>,
    ) -> bool {
        let Role::Leading(leader) = &self.role else { return false };
        if !leader.handlers.contains_key(&connection) {
            return false;
        }
        self.drop_handler(connection, context);
        true
    }

    fn drop_handler(&mut self, connection: LearnerConnection, context: &mut Context<'_>) {
        let Role::Leading(leader) = &mut self.role else { return };
        leader.handlers.remove(&connection);
        context.network.close_by_leader(connection, context.effects);
        context.disarm(ServerTimer::LearnerSilent(connection));
    }

    /// The leader's own disk operation completed.
    pub(super) fn leader_wrote(&mut self, writing: Writing, context: &mut Context<'_>) {
        match writing {
            Writing::LeadSnapshot => {
                let snapshot = self.whole_snapshot(false);
                context.disk.make_mut().add_snapshot(snapshot, context.config.bugs);
                self.begin_discovery(context);
            }
            Writing::AcceptedEpoch => self.epoch_accepted(context),
            Writing::CurrentEpochTmp => {
                let Role::Leading(leader) = &self.role else { return };
                context.disk.make_mut().write_current_epoch_tmp(leader.epoch);
                self.write(Writing::CurrentEpoch, context);
            }
            Writing::CurrentEpoch => {
                context.disk.make_mut().rename_current_epoch();
                self.begin_synchronization(context);
            }
            Writing::SyncSnapshot | Writing::SyncAppend | Writing::SyncFsync => {
                unreachable!("only a learner writes this")
            }
        }
    }

    /// The ping round, twice a tick: every second time the learners heard from must be a quorum,
    /// with the leader itself (semantics 6.7 rule 3).
    pub(super) fn ping_round(&mut self, context: &mut Context<'_>) -> bool {
        let Role::Leading(leader) = &mut self.role else { return false };
        if leader.phase != Phase::Broadcast {
            return false;
        }
        leader.skip_tick = !leader.skip_tick;
        if leader.skip_tick {
            let mut synced = ServerSet::default();
            synced.insert(self.id);
            for connection in leader.handlers.keys() {
                synced.insert(connection.learner);
            }
            if !context.config.is_quorum(synced.len()) {
                self.leave_role("not sufficient followers synced", context);
                return true;
            }
        }
        for (connection, handler) in &mut leader.handlers {
            // f.ping() does nothing before the sending thread has started.
            if handler.is_forwarding() && !matches!(handler.phase, HandlerPhase::Streaming(_)) {
                context.to_learner(*connection, LeaderPacket::Ping);
            }
        }
        context.arm(ServerTimer::Ping, context.config.tick / 2);
        true
    }

    /// The transactions that a new leader's activation commits end here: what monitors are told.
    fn announce_established(&mut self, epoch: Epoch, last_zxid: Zxid, context: &mut Context<'_>) {
        context.effects.event(Event::Established { leader: self.id, epoch, last_zxid });
    }
}
