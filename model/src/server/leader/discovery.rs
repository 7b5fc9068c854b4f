//! Discovery: which epoch is new, and is anybody who counts ahead of me? (semantics 6.3)

use super::{Handler, HandlerPhase, Phase};
use crate::network::Delivered;
use crate::server::{Context, Role, Server, Writing};
use crate::vocabulary::effect::{Blocker, Effect};
use crate::vocabulary::id::{LearnerConnection, ServerId, ServerSet};
use crate::vocabulary::packet::{LeaderPacket, LearnerPacket};
use crate::vocabulary::release::Bug;
use crate::vocabulary::timer::ServerTimer;
use crate::vocabulary::zxid::{Epoch, Zxid};

impl Server {
    /// The leader listens from now on, and proposes an epoch above its own accepted one.
    pub(super) fn begin_discovery(&mut self, context: &mut Context<'_>) {
        let Role::Leading(leader) = &mut self.role else { return };
        leader.phase = Phase::Discovery;
        context.effects.push(Effect::Unblocked(Blocker::Busy(self.id)));
        self.epoch_to_propose(self.id, context.disk.accepted_epoch(), context);
    }

    /// Reads from a learner's connection. A server that does not lead refuses it.
    pub fn from_learner(
        &mut self,
        connection: LearnerConnection,
        delivered: Delivered<LearnerPacket>,
        context: &mut Context<'_>,
    ) {
        let Role::Leading(leader) = &mut self.role else {
            context.network.close_by_leader(connection, context.effects);
            return;
        };
        let packet = match delivered {
            Delivered::End { .. } => {
                if leader.handlers.contains_key(&connection) {
                    self.drop_handler(connection, context);
                }
                return;
            }
            Delivered::Packet(packet) => packet,
        };
        let handler = leader.handlers.entry(connection).or_insert_with(|| {
            context.network.accept_learner(connection);
            Handler { phase: HandlerPhase::AwaitingInfo, superseded: false }
        });
        // A fresh handler's first deadline is initLimit + syncLimit ticks (semantics 6.7 rule 3).
        let ticks = match handler.phase {
            HandlerPhase::Broadcast => context.config.sync_limit,
            _ => context.config.init_limit + context.config.sync_limit,
        };
        context.arm(ServerTimer::LearnerSilent(connection), context.config.tick * ticks);
        match (&handler.phase, packet) {
            (HandlerPhase::AwaitingInfo, LearnerPacket::FollowerInfo { accepted_epoch }) => {
                self.follower_info(connection, accepted_epoch, context);
            }
            (
                HandlerPhase::AwaitingEpochAck,
                LearnerPacket::AckEpoch { current_epoch, last_zxid },
            ) => self.epoch_ack(connection, current_epoch, last_zxid, context),
            (HandlerPhase::AwaitingAck, LearnerPacket::Ack(zxid)) => {
                self.first_ack(connection, zxid, context);
            }
            // Read by the handler only after it was released; nothing else is sent before.
            (
                HandlerPhase::AwaitingAck | HandlerPhase::AwaitingStart,
                LearnerPacket::Ping { .. },
            ) => {}
            (HandlerPhase::Broadcast, packet) => {
                self.learner_packet(connection, packet, context);
            }
            (phase, packet) => unreachable!("{}: {packet:?} in phase {phase:?}", self.id),
        }
    }

    fn follower_info(
        &mut self,
        connection: LearnerConnection,
        accepted_epoch: Epoch,
        context: &mut Context<'_>,
    ) {
        let Role::Leading(leader) = &mut self.role else { return };
        let is_too_late = leader.phase != Phase::Discovery && accepted_epoch > leader.epoch;
        if is_too_late && !context.config.bugs.has(Bug::LeaderIgnoresNewerEpoch) {
            self.leave_role("a follower has accepted a newer epoch", context);
            return;
        }
        let handler = leader.handlers.get_mut(&connection).expect("it was just read from");
        handler.phase = HandlerPhase::AwaitingEpoch;
        if leader.phase == Phase::Discovery {
            self.epoch_to_propose(connection.learner, accepted_epoch, context);
        } else {
            self.send_leader_info(context);
        }
    }

    /// getEpochToPropose while the epoch is open: it exceeds every accepted epoch heard of; with a
    /// quorum, this leader among it, it is frozen and accepted.
    fn epoch_to_propose(&mut self, server: ServerId, accepted: Epoch, context: &mut Context<'_>) {
        let Role::Leading(leader) = &mut self.role else { return };
        if self.writing.is_some() {
            return;
        }
        leader.epoch = leader.epoch.max(accepted.next());
        leader.connecting.insert(server);
        if leader.connecting.contains(self.id) && context.config.is_quorum(leader.connecting.len())
        {
            self.write(Writing::AcceptedEpoch, context);
        }
    }

    /// The new epoch is accepted, durably: everybody who waits is told.
    pub(super) fn epoch_accepted(&mut self, context: &mut Context<'_>) {
        let Role::Leading(leader) = &mut self.role else { return };
        context.disk.make_mut().write_accepted_epoch(leader.epoch);
        leader.phase = Phase::AwaitingEpochAcks;
        leader.last_proposed = leader.epoch.opening();
        // Nobody asks any more who was counted, and who comes later is not: to be forgotten, so that
        // states are not told apart by it. (The same below, and at the activation.)
        leader.connecting = ServerSet::default();
        leader.electing.insert(self.id);
        context.effects.push(Effect::Unblocked(Blocker::Busy(self.id)));
        self.send_leader_info(context);
        self.consider_election(context);
    }

    fn send_leader_info(&mut self, context: &mut Context<'_>) {
        let Role::Leading(leader) = &mut self.role else { return };
        let epoch = leader.epoch;
        for (connection, handler) in &mut leader.handlers {
            if handler.phase == HandlerPhase::AwaitingEpoch {
                handler.phase = HandlerPhase::AwaitingEpochAck;
                context.to_learner(*connection, LeaderPacket::LeaderInfo { epoch });
            }
        }
    }

    /// ACKEPOCH: a summary ahead of the leader's kills the handler, unless the quorum is complete
    /// already (semantics 6.3 rule 3).
    fn epoch_ack(
        &mut self,
        connection: LearnerConnection,
        current_epoch: Option<Epoch>,
        last_zxid: Zxid,
        context: &mut Context<'_>,
    ) {
        let Role::Leading(leader) = &mut self.role else { return };
        if !leader.election_finished
            && let Some(current_epoch) = current_epoch
        {
            if (current_epoch, last_zxid) > leader.summary {
                context.effects.note(|| format!("{} is ahead of its leader", connection.learner));
                self.drop_handler(connection, context);
                return;
            }
            leader.electing.insert(connection.learner);
        }
        let handler = leader.handlers.get_mut(&connection).expect("it was just read from");
        handler.phase = HandlerPhase::AwaitingElection { last_zxid };
        if leader.election_finished {
            self.synchronise(connection, last_zxid, context);
        } else {
            self.consider_election(context);
        }
    }

    /// With a quorum of epoch acks, this leader's among it, handlers go on to synchronise, and the
    /// main thread writes the current epoch.
    fn consider_election(&mut self, context: &mut Context<'_>) {
        let Role::Leading(leader) = &mut self.role else { return };
        if leader.election_finished
            || !leader.electing.contains(self.id)
            || !context.config.is_quorum(leader.electing.len())
        {
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
        self.write(Writing::CurrentEpochTmp, context);
        for (connection, last_zxid) in waiting {
            self.synchronise(connection, last_zxid, context);
        }
    }
}
