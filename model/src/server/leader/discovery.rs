//! Discovery: the leader finds the new epoch, and checks that no counted learner is ahead of it (rule 6.3).

use super::Leading;
use super::state::{HandlerPhase, Observes, Phase};
use crate::server::context::{Context, Leave, Stays};
use crate::server::disk::Configurations;
use crate::vocabulary::file_system::Writing;
use crate::vocabulary::id::{LearnerConnection, ServerId, ServerSet};
use crate::vocabulary::note::Note;
use crate::vocabulary::packet::LeaderPacket;
use crate::vocabulary::quorum::{Attached, Quorums};
use crate::vocabulary::release::Bug;
use crate::vocabulary::zxid::{Epoch, Zxid};

/// FOLLOWERINFO or OBSERVERINFO.
pub(super) struct LearnerInfo {
    pub(super) accepted_epoch: Epoch,
    pub(super) config_version: Attached<Zxid>,
    /// True for OBSERVERINFO.
    pub(super) observes: bool,
}

impl Leading<'_> {
    /// Begins discovery: the leader accepts learners, and proposes an epoch above its own accepted one.
    pub(super) fn begin_discovery(&mut self, context: &mut Context<'_>) {
        self.leader.phase = Phase::Discovery;
        self.be_patient(context);
        self.epoch_to_propose(context.id, context.disk.accepted_epoch(), context);
    }

    /// Handles FOLLOWERINFO. A leader steps down if a follower has accepted a newer epoch than the leader's, and refuses one
    /// that knows of a newer committed configuration (rule 5.8.9).
    pub(super) fn follower_info(
        &mut self,
        connection: LearnerConnection,
        info: LearnerInfo,
        context: &mut Context<'_>,
    ) -> Stays {
        let LearnerInfo { accepted_epoch, config_version, observes } = info;
        let leader = &mut *self.leader;
        leader.handler_mut(connection).observes = Observes(observes);
        let version = context.configurations().quorum.version();
        if config_version.0.is_some_and(|activated| activated > version) {
            self.drop_handler(connection, context);
            return Ok(());
        }
        let is_too_late = leader.phase != Phase::Discovery && accepted_epoch > leader.epoch;
        if is_too_late && !context.config.bugs.has(Bug::LeaderIgnoresNewerEpoch) {
            return Err(Leave("a follower has accepted a newer epoch"));
        }
        leader.handler_mut(connection).enter(HandlerPhase::AwaitingEpoch, connection, context);
        if leader.phase == Phase::Discovery {
            self.epoch_to_propose(connection.learner, accepted_epoch, context);
        } else {
            self.send_leader_info(context);
        }
        Ok(())
    }

    /// Handles an accepted epoch before the new epoch is fixed (getEpochToPropose): the new epoch exceeds every
    /// accepted epoch received, also an observer's. With a quorum that includes this leader, it is fixed and accepted; no
    /// observer counts towards it (ZOOKEEPER-2959; rule 5.7.3).
    fn epoch_to_propose(&mut self, server: ServerId, accepted: Epoch, context: &mut Context<'_>) {
        if self.thread.writing.is_some() {
            return;
        }
        let leader = &mut *self.leader;
        leader.epoch = leader.epoch.max(accepted.next());
        if counts(server, context) {
            leader.connecting.insert(server);
        }
        if leader.connecting.contains(context.id) && is_quorum(leader.connecting, context) {
            self.thread.write(Writing::AcceptedEpoch, context);
        }
    }

    /// Handles the durable acceptance of the new epoch: the waiting learners get LEADERINFO.
    pub(super) fn epoch_accepted(&mut self, context: &mut Context<'_>) {
        let leader = &mut *self.leader;
        context.disk.make_mut().write_accepted_epoch(leader.epoch);
        if context.config.bugs.has(Bug::PlantedHastyEpoch) {
            context.disk.make_mut().write_current_epoch_tmp(leader.epoch);
            context.disk.make_mut().rename_current_epoch();
        }
        leader.phase = Phase::AwaitingEpochAcks;
        leader.last_proposed = leader.epoch.opening();
        // The first configuration gets a version as soon as a leader has established it (ZOOKEEPER-1783).
        let Configurations { quorum, last_seen, .. } = context.configurations();
        if quorum.version() == Zxid::ZERO && last_seen.version() == Zxid::ZERO {
            context.see_configuration(quorum.with_version(leader.epoch.opening()));
        }
        leader.quorums = match context.config.bugs.has(Bug::PlantedNewLeaderOfOldQuorum) {
            true => Quorums::of(context.configurations().quorum),
            false => context.configurations().quorums(),
        };
        // The set is not read any more, and later learners are not added. Clearing it avoids distinguishing states by
        // it. (The same applies below, and at the activation.)
        leader.connecting = ServerSet::default();
        leader.electing.insert(context.id);
        self.be_patient(context);
        self.send_leader_info(context);
        self.consider_election(context);
    }

    fn send_leader_info(&mut self, context: &mut Context<'_>) {
        let leader = &mut *self.leader;
        let epoch = leader.epoch;
        for (connection, handler) in &mut leader.handlers {
            if handler.phase == HandlerPhase::AwaitingEpoch {
                handler.enter(HandlerPhase::AwaitingEpochAck, *connection, context);
                context.to_learner(*connection, LeaderPacket::LeaderInfo { epoch });
            }
        }
    }

    /// Handles ACKEPOCH. A history ahead of the leader's ends the handler, unless the quorum is already complete
    /// (rule 6.3.3).
    pub(super) fn epoch_ack(
        &mut self,
        connection: LearnerConnection,
        current_epoch: Option<Epoch>,
        last_zxid: Zxid,
        context: &mut Context<'_>,
    ) {
        let leader = &mut *self.leader;
        if !leader.election_finished
            && let Some(current_epoch) = current_epoch
        {
            let is_ahead = (current_epoch, last_zxid) > leader.summary;
            // The history of a server whose vote has no weight decides nothing, here as in the election.
            let bugs = context.config.bugs;
            let has_weight = context.configurations().quorum.has_weight(connection.learner);
            let decides =
                has_weight || bugs.has(Bug::JoinerKeepsVote) || bugs.has(Bug::ObserversCounted);
            if is_ahead && decides && !bugs.has(Bug::PlantedAheadCounts) {
                context.effects.note(|| Note::LearnerIsAhead { learner: connection.learner });
                self.drop_handler(connection, context);
                return;
            }
            if counts(connection.learner, context) {
                leader.electing.insert(connection.learner);
            }
        }
        let waits = HandlerPhase::AwaitingElection { last_zxid };
        leader.handler_mut(connection).enter(waits, connection, context);
        if leader.election_finished {
            self.synchronise(connection, last_zxid, context);
        } else {
            self.consider_election(context);
        }
    }

    /// Begins synchronisation with a quorum of epoch acks that includes this leader's: the handlers synchronise their
    /// learners, and the main thread writes the current epoch.
    fn consider_election(&mut self, context: &mut Context<'_>) {
        let leader = &mut *self.leader;
        let is_quorum = is_quorum(leader.electing, context)
            || context.config.bugs.has(Bug::PlantedEpochWithoutQuorum);
        if leader.election_finished || !leader.electing.contains(context.id) || !is_quorum {
            return;
        }
        leader.election_finished = true;
        leader.electing = ServerSet::default();
        let waiting: Vec<(LearnerConnection, Zxid)> = leader
            .handlers
            .iter()
            .filter_map(|(connection, handler)| match handler.phase {
                HandlerPhase::AwaitingElection { last_zxid } => Some((*connection, last_zxid)),
                _ => None,
            })
            .collect();
        self.thread.write(Writing::CurrentEpochTmp, context);
        for (connection, last_zxid) in waiting {
            self.synchronise(connection, last_zxid, context);
        }
    }
}

/// Returns true if discovery counts this server (see [`Bug::ObserversCounted`]).
fn counts(server: ServerId, context: &Context<'_>) -> bool {
    let voters = context.configurations().quorum.voters();
    voters.contains(server) || context.config.bugs.has(Bug::ObserversCounted)
}

/// Returns true if these servers, which discovery counts, are a quorum of the committed configuration. One that is only
/// proposed is not asked (rule 5.8.8).
fn is_quorum(counted: ServerSet, context: &Context<'_>) -> bool {
    let verifier = context.configurations().quorum;
    match context.config.bugs.has(Bug::ObserversCounted) {
        true => counted.len() > verifier.voters().len() / 2,
        false => verifier.contains_quorum(counted),
    }
}
