//! The end of synchronisation: a quorum of acks of NEWLEADER establishes the leader (rule 6.7).

use super::Leading;
use super::state::{HandlerPhase, Phase};
use crate::server::context::Context;
use crate::server::prep::Prep;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::LearnerConnection;
use crate::vocabulary::packet::LeaderPacket;
use crate::vocabulary::release::Bug;
use crate::vocabulary::timer::ServerTimer;
use crate::vocabulary::zxid::Zxid;

impl Leading<'_> {
    /// Begins the wait for acks, with the main thread's own ack of NEWLEADER, without an fsync (rule 6.7.1).
    pub(super) fn begin_synchronization(&mut self, context: &mut Context<'_>) {
        self.leader.phase = Phase::Synchronization;
        self.be_patient(context);
        self.leader.new_leader_acks.insert(context.id);
        self.consider_activation(context);
    }

    /// Handles the first ACK after NEWLEADER. It ends the handler's wait whatever its zxid, but counts only if the
    /// zxid is NEWLEADER's (ZOOKEEPER-4685; rule 6.7.1).
    pub(super) fn first_ack(
        &mut self,
        connection: LearnerConnection,
        zxid: Zxid,
        context: &mut Context<'_>,
    ) {
        let leader = &mut *self.leader;
        leader.handler_mut(connection).enter(HandlerPhase::AwaitingStart, connection, context);
        if zxid != leader.epoch.opening() {
            let (server, what) = (context.id, "another ACK in place of that of NEWLEADER");
            context.effects.event(Event::Unexpected { server, what });
        }
        if leader.phase == Phase::Broadcast {
            self.release_handlers(context);
        } else if leader.handler_mut(connection).observes.0
            && !leader.quorums.voters().contains(connection.learner)
        {
            // Nothing waits for a server that observes in all configurations (rules 5.7.3 and 5.8.8).
        } else if zxid == leader.epoch.opening() {
            let (id, learner, epoch) = (context.id, connection.learner, leader.epoch);
            context.effects.event(Event::Followed { leader: id, learner, epoch });
            let again = leader.new_leader_acks.contains(connection.learner);
            leader.acked_again +=
                u8::from(again && context.config.bugs.has(Bug::PlantedAckedTwice));
            leader.new_leader_acks.insert(connection.learner);
            self.consider_activation(context);
        }
    }

    fn consider_activation(&mut self, context: &mut Context<'_>) {
        let leader = &*self.leader;
        if leader.phase == Phase::Synchronization
            && leader.new_leader_acks.contains(context.id)
            && leader.has_quorum_of_votes(leader.new_leader_acks)
        {
            self.activate(context);
        }
    }

    /// Activates the leader (startZkServer): all of its history is committed, sessions get their full timeouts again,
    /// and clients are served.
    fn activate(&mut self, context: &mut Context<'_>) {
        let (leader, tree) = (&mut *self.leader, self.database.tree_mut());
        let epoch = leader.epoch;
        let history = tree.last_processed();
        leader.phase = Phase::Broadcast;
        leader.acked_again = 0;
        leader.last_committed = epoch.opening();
        tree.set_last_processed(epoch.opening());
        leader.prep = Some(Box::new(Prep::new(epoch, tree)));
        let never_ends = context.config.bugs.has(Bug::PlantedInheritedSessionsStay);
        for (session, timeout) in tree.sessions().iter().filter(|_| !never_ends) {
            context.arm(ServerTimer::SessionExpiry(*session), *timeout);
        }
        self.complete_reconfiguration(context);
        self.election.established_in(epoch, context.config);
        context.disarm(ServerTimer::InitLimit);
        context.arm(ServerTimer::Ping, context.config.tick / 2);
        // Tells monitors the last transaction that the activation commits.
        let (server, last_zxid) = (context.id, history);
        context.effects.event(Event::Established { leader: server, epoch, last_zxid });
        let tree = &self.database.tree;
        let (zxid, digest) = (tree.last_processed(), tree.digest());
        context.effects.event(Event::Serving { server, zxid, digest });
        self.watch_containers(context);
        self.release_handlers(context);
    }

    /// Commits the last configuration that the leader has seen, without a transaction (`startZkServer`, ZOOKEEPER-1324; rule
    /// 5.8.8): a quorum of it has acknowledged NEWLEADER, which carries it.
    fn complete_reconfiguration(&mut self, context: &mut Context<'_>) {
        let acks = std::mem::take(&mut self.leader.new_leader_acks);
        let (next, last) = (context.configurations().last_seen, self.leader.last_proposed);
        let is_found = next.version().counter() > 0;
        let left = is_found && context.config.bugs.has(Bug::FoundConfigNotActivated);
        if context.config.options.reconfig_enabled && !left {
            self.activate_configuration(next, acks, last, context);
        }
    }

    /// Lets the handlers that waited for the leader's start send UPTODATE, and read on.
    fn release_handlers(&mut self, context: &mut Context<'_>) {
        let committed = context.attached_configuration();
        let mut early = Vec::new();
        for (connection, handler) in &mut self.leader.handlers {
            if handler.phase == HandlerPhase::AwaitingStart {
                handler.enter(HandlerPhase::Broadcast, *connection, context);
                context.to_learner(*connection, LeaderPacket::UpToDate(committed));
                early.extend(handler.early.0.drain(..).map(|zxid| (*connection, zxid)));
            }
        }
        for (connection, zxid) in early {
            self.read_ack(connection, zxid, context);
        }
    }
}
