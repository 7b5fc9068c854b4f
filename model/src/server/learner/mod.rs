//! A follower or an observer: discovery, synchronisation and broadcast from the learner's side (rules 5.5, 5.7, 6.3, 6.6 and
//! 4.5).

mod master;
mod reconfiguration;
mod state;
mod sync;

pub use state::Learner;
pub(in crate::server) use state::Phase;

use super::clients::Clients;
use super::commit_processor::{CommitProcessor, Committed};
use super::context::{Context, Leave, PacketThread, Stays};
use super::database::Database;
use super::election::Election;
use super::log_thread::LogThread;
use crate::network::Delivered;
use crate::vocabulary::event::Event;
use crate::vocabulary::file_system::Writing;
use crate::vocabulary::id::{LearnerConnection, ServerId};
use crate::vocabulary::packet::{LeaderPacket, LearnerPacket};
use crate::vocabulary::quorum::{Attached, QuorumVerifier};
use crate::vocabulary::release::Bug;
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::ServerTimer;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::{Epoch, Zxid};
use crate::wire::txn::can_read;
use std::sync::Arc;

/// The most attempts to connect to an elected leader (rule 5.5.2).
const CONNECT_ATTEMPTS: u8 = 5;
/// The pause between two attempts.
const CONNECT_RETRY: Duration = Duration::from_millis(100);

/// What the code of a learner works with: its own memory, and the parts of its server that it needs.
pub(in crate::server) struct Following<'a> {
    pub(in crate::server) learner: &'a mut Learner,
    /// True for an observer.
    pub(in crate::server) observes: bool,
    pub(in crate::server) database: &'a mut Database,
    pub(in crate::server) thread: &'a mut PacketThread,
    pub(in crate::server) log: &'a mut LogThread,
    pub(in crate::server) commits: &'a mut CommitProcessor,
    pub(in crate::server) clients: &'a mut Clients,
    pub(in crate::server) election: &'a mut Election,
}

impl Learner {
    /// Begins to follow or to observe an elected leader: connects to it.
    pub(in crate::server) fn begin(
        leader: ServerId,
        observes: bool,
        context: &mut Context<'_>,
    ) -> Learner {
        let mut learner = Learner::new(leader);
        if observes && context.config.has_observer_masters() {
            learner.choose_master(context);
        } else {
            learner.connect_to_leader(observes, context);
        }
        learner
    }

    /// Lets the engine choose the voter to whose observer master an observer connects (`findLearnerMaster`): the timer that
    /// fires first (rule 5.9.1).
    fn choose_master(&self, context: &mut Context<'_>) {
        for voter in context.configurations().quorum.voters().iter() {
            context.arm_within(ServerTimer::ConnectMaster(voter), CONNECT_RETRY);
        }
    }

    /// Connects an observer to the observer master of this voter.
    pub(in crate::server) fn connect_to_master(
        &mut self,
        voter: ServerId,
        context: &mut Context<'_>,
    ) {
        self.choose_no_master(context);
        self.leader = voter;
        self.connect_to_leader(true, context);
    }

    /// Disarms the timers of the choice.
    pub(in crate::server) fn choose_no_master(&self, context: &mut Context<'_>) {
        if context.config.has_observer_masters() && self.chooses_master() {
            for server in context.config.server_ids() {
                context.disarm(ServerTimer::ConnectMaster(server));
            }
        }
    }

    /// Opens the connection and sends FOLLOWERINFO (rule 6.3.4), or OBSERVERINFO (rule 5.7.3).
    pub(in crate::server) fn connect_to_leader(
        &mut self,
        observes: bool,
        context: &mut Context<'_>,
    ) {
        assert!(self.can_connect(), "{}: it is connected to its leader", context.id);
        if !context.config.election.is_oracle() {
            self.attempts += 1;
        }
        let connection = context.network.open_learner(context.id, self.leader);
        self.connection = Some(connection);
        let accepted_epoch = context.disk.accepted_epoch();
        let version = context.attached_configuration().0.map(QuorumVerifier::version);
        let config_version = Attached(version);
        let info = match observes {
            true => LearnerPacket::ObserverInfo { accepted_epoch, config_version },
            false => LearnerPacket::FollowerInfo { accepted_epoch, config_version },
        };
        context.to_leader(connection, info);
        self.be_patient(context);
    }

    /// Restarts the timeout for the next packet: initLimit ticks until it has acknowledged NEWLEADER, then syncLimit
    /// ticks (rules 5.5.2 and 6.7.4). It applies to each packet anew.
    fn be_patient(&self, context: &mut Context<'_>) {
        let (timer, ticks) = if self.is_synchronised() {
            (ServerTimer::LeaderSilent, context.config.sync_limit)
        } else {
            (ServerTimer::InitLimit, context.config.init_limit)
        };
        context.arm(timer, context.config.tick * ticks);
    }
}

impl Following<'_> {
    /// Reads from the connection to the leader.
    pub(in crate::server) fn read_from_leader(
        &mut self,
        connection: LearnerConnection,
        delivered: Delivered<LeaderPacket>,
        context: &mut Context<'_>,
    ) -> Stays {
        let learner = &mut *self.learner;
        assert_eq!(learner.connection, Some(connection), "{}: it closed any other", context.id);
        match delivered {
            Delivered::End { accepted: false }
                if learner.attempts < CONNECT_ATTEMPTS && !context.config.election.is_oracle() =>
            {
                learner.connection = None;
                context.arm(ServerTimer::ConnectLeader, CONNECT_RETRY);
                Ok(())
            }
            Delivered::End { .. } => Err(Leave("the connection to the leader ended")),
            Delivered::Packet(packet) => {
                learner.be_patient(context);
                if let LeaderPacket::Proposal(txn)
                | LeaderPacket::Inform(txn)
                | LeaderPacket::InformAndActivate { txn, .. } = &packet
                    && !can_read(context.config, txn)
                {
                    return Err(Leave("a packet of its leader is longer than it reads"));
                }
                self.leader_packet(packet, context)
            }
        }
    }

    fn leader_packet(&mut self, packet: LeaderPacket, context: &mut Context<'_>) -> Stays {
        if let LeaderPacket::Proposal(txn) = &packet
            && let TxnBody::Reconfig(next) = txn.body
        {
            context.see_configuration(next);
        }
        let learner = &mut *self.learner;
        match (&mut learner.phase, packet) {
            (Phase::Discovery, LeaderPacket::LeaderInfo { epoch }) => {
                return self.leader_info(epoch, context);
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
                if context.config.bugs.has(Bug::AclByNumber) {
                    tree.number_acls();
                }
                self.database.replace_tree(tree);
                self.database.committed_log.clear();
                learner.phase = Phase::Synchronising;
            }
            (Phase::Synchronising | Phase::AwaitingUpToDate, LeaderPacket::Proposal(txn)) => {
                learner.not_logged.push_back(txn);
            }
            (Phase::Synchronising, LeaderPacket::Commit(zxid)) => {
                self.commit_while_synchronising(zxid, context);
            }
            (Phase::AwaitingUpToDate, LeaderPacket::Commit(zxid)) => {
                if learner.not_logged.is_empty()
                    && context.config.bugs.has(Bug::PendingClearedAtNewLeader)
                {
                    let (server, what) =
                        (context.id, "a COMMIT of a proposal that it has forgotten");
                    context.effects.event(Event::Unexpected { server, what });
                    return Err(Leave("an exception: a COMMIT without a proposal"));
                }
                learner.committed.push_back(zxid);
            }
            (Phase::Synchronising, LeaderPacket::Inform(txn)) => {
                self.informed_while_synchronising(txn, context);
            }
            (Phase::AwaitingUpToDate, LeaderPacket::Inform(txn)) => {
                learner.committed.push_back(txn.zxid);
                learner.not_logged.push_back(txn);
            }
            (Phase::Synchronising, LeaderPacket::NewLeader(epoch, configuration)) => {
                if let Some(last_seen) = configuration.0 {
                    context.see_configuration(last_seen);
                }
                learner.new_leader_configuration = configuration;
                self.new_leader(epoch, context);
            }
            (
                Phase::Synchronising | Phase::AwaitingUpToDate,
                LeaderPacket::CommitAndActivate { zxid, designated },
            ) => {
                self.activate_while_synchronising(zxid, designated, context)?;
                return self.leader_packet(LeaderPacket::Commit(zxid), context);
            }
            (
                Phase::Synchronising | Phase::AwaitingUpToDate,
                LeaderPacket::InformAndActivate { txn, designated },
            ) => {
                self.activate_informed(&txn, designated, context)?;
                return self.leader_packet(LeaderPacket::Inform(txn), context);
            }
            (Phase::AwaitingUpToDate, LeaderPacket::UpToDate(committed)) => {
                return self.up_to_date(committed, context);
            }
            (Phase::Broadcast, LeaderPacket::CommitAndActivate { zxid, designated }) => {
                return self.commit_and_activate(zxid, designated, context);
            }
            (Phase::Broadcast, LeaderPacket::InformAndActivate { txn, designated }) => {
                return self.inform_and_activate(txn, designated, context);
            }
            (Phase::Broadcast, packet) => return self.broadcast_packet(packet, context),
            (Phase::Synchronising | Phase::AwaitingUpToDate, LeaderPacket::Ping) => {}
            (phase, packet) => {
                unreachable!("{}: {packet:?} in phase {phase:?}", context.id)
            }
        }
        Ok(())
    }

    // ---- discovery ----

    /// Handles LEADERINFO (rule 6.3.4).
    fn leader_info(&mut self, epoch: Epoch, context: &mut Context<'_>) -> Stays {
        let accepted = context.disk.accepted_epoch();
        if epoch < accepted {
            return Err(Leave("the leader's epoch is less than the accepted one"));
        }
        self.learner.epoch = epoch;
        self.learner.phase = Phase::AcceptingEpoch;
        if epoch > accepted {
            self.thread.write(Writing::AcceptedEpoch, context);
        } else {
            // This epoch was accepted before, so the answer does not count towards its quorum.
            self.ack_epoch(None, context);
        }
        Ok(())
    }

    fn ack_epoch(&mut self, current_epoch: Option<Epoch>, context: &mut Context<'_>) {
        let (learner, tree) = (&mut *self.learner, &self.database.tree);
        learner.phase = Phase::AwaitingSync;
        let last_zxid = if learner.ask_for_snapshot { Zxid::ZERO } else { tree.last_processed() };
        let packet = LearnerPacket::AckEpoch { current_epoch, last_zxid };
        context.to_leader(learner.connected(), packet);
    }

    // ---- broadcast ----

    fn broadcast_packet(&mut self, packet: LeaderPacket, context: &mut Context<'_>) -> Stays {
        let learner = &mut *self.learner;
        match packet {
            LeaderPacket::Proposal(txn) => {
                self.master_proposed(&txn);
                self.log_proposal(txn, context);
            }
            LeaderPacket::Commit(zxid) => {
                self.commit_pending(zxid, context);
                return self.master_committed(zxid, None, context);
            }
            LeaderPacket::Inform(txn) => self.commit_informed(txn, context),
            LeaderPacket::Ping => {
                let mut touched = std::mem::take(&mut learner.touched);
                if context.config.bugs.has(Bug::PlantedTouchesKept) {
                    touched.clear();
                }
                let touched = touched.into_iter().collect();
                context.to_leader(learner.connected(), LearnerPacket::Ping { touched });
            }
            LeaderPacket::Revalidated { session, connection, timeout } => {
                self.revalidated(session, connection, timeout, context);
            }
            LeaderPacket::Synced { session, xid } => {
                self.master_synced(session, xid, context);
                self.commits.push(Committed::Sync(session, xid), context);
            }
            packet => unreachable!("{}: {packet:?} in broadcast", context.id),
        }
        Ok(())
    }

    /// Handles PROPOSAL: appends the transaction to pendingTxns and to the log thread's queue.
    fn log_proposal(&mut self, txn: Arc<Txn>, context: &mut Context<'_>) {
        self.learner.pending.push_back(Arc::clone(&txn));
        self.log.push(txn, context);
    }

    /// Handles INFORM: queues the transaction for the log thread, which does not acknowledge it, and for the
    /// CommitProcessor at the same time (rule 5.7.6). No gap before it is noticed.
    pub(super) fn commit_informed(&mut self, txn: Arc<Txn>, context: &mut Context<'_>) {
        if context.config.options.observer_sync_enabled {
            self.log.push(Arc::clone(&txn), context);
        }
        self.commits.push(Committed::Txn(txn), context);
    }

    /// Handles COMMIT, which must match the head of pendingTxns (rule 4.5.2). The transaction can be applied even
    /// before its own fsync has completed.
    pub(super) fn commit_pending(&mut self, zxid: Zxid, context: &mut Context<'_>) {
        let learner = &mut *self.learner;
        let Some(head) = learner.pending.front() else { return };
        assert_eq!(head.zxid, zxid, "{}: UNMATCHED_TXN_COMMIT", context.id);
        let txn = learner.pending.pop_front().expect("just looked at it");
        self.commits.push(Committed::Txn(txn), context);
    }
}
