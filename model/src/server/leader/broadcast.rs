//! Broadcast: proposing, counting acks, committing in order (rule 4.4).

use super::Leading;
use super::state::{Leader, Proposal};
use crate::server::commit_processor::Committed;
use crate::server::context::Context;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ServerId, ServerSet};
use crate::vocabulary::packet::LeaderPacket;
use crate::vocabulary::release::Bug;
use crate::vocabulary::timer::ServerTimer;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

impl Leading<'_> {
    /// Proposes a transaction: sends it to every learner and to the log.
    pub(super) fn propose(&mut self, txn: Arc<Txn>, context: &mut Context<'_>) {
        let quorums = self.quorums_to_propose(&txn, context);
        let leader = &mut *self.leader;
        leader.last_proposed = txn.zxid;
        leader.outstanding.push_back(Proposal {
            txn: Arc::clone(&txn),
            acks: ServerSet::default(),
            syncs: Vec::new(),
            quorums,
        });
        leader.forward(LeaderPacket::Proposal(Arc::clone(&txn)), context);
        if context.config.bugs.has(Bug::PlantedInformedEarly) {
            leader.inform(&txn, context);
        }
        context.effects.event(Event::Proposed { leader: context.id, txn: Arc::clone(&txn) });
        self.log.push(txn, context);
    }

    /// Counts an ack (processAck, rule 4.4.3).
    pub(in crate::server) fn process_ack(
        &mut self,
        server: ServerId,
        zxid: Zxid,
        context: &mut Context<'_>,
    ) {
        let leader = &mut *self.leader;
        if server == context.id && context.config.bugs.has(Bug::PlantedLeaderNotCounted) {
            return;
        }
        if zxid.is_opening() || zxid <= leader.last_committed || !leader.may_commit.0 {
            return;
        }
        let Some(first) = leader.outstanding.front() else { return };
        // Proposals are contiguous, so the difference to the first zxid is the index.
        let Some(at) = zxid.0.checked_sub(first.txn.zxid.0) else { return };
        let Some(proposal) = leader.outstanding.get_mut(at as usize) else { return };
        debug_assert_eq!(proposal.txn.zxid, zxid);
        proposal.acks.insert(server);
        // tryToCommit: never before its predecessor; a later proposal is tried again by its own next
        // ack only (rule 4.4.4).
        if at == 0 && leader.first_has_quorum() && self.commit_first(context) {
            // What was proposed after a reconfiguration may have its acknowledgements already.
            while self.leader.may_commit.0 && self.leader.first_has_quorum() {
                self.commit_first(context);
            }
        }
    }

    /// Commits the first outstanding proposal. Returns true if it is a reconfiguration.
    fn commit_first(&mut self, context: &mut Context<'_>) -> bool {
        let leader = &mut *self.leader;
        let Proposal { txn, syncs, acks, .. } =
            leader.outstanding.pop_front().expect("it has a quorum");
        leader.last_committed = txn.zxid;
        context.effects.event(Event::Committed { leader: context.id, txn: Arc::clone(&txn) });
        if let TxnBody::Reconfig(next) = txn.body {
            self.commit_reconfiguration(&txn, next, acks, context);
        } else {
            leader.forward(LeaderPacket::Commit(txn.zxid), context);
            if !context.config.bugs.has(Bug::PlantedInformedEarly) {
                leader.inform(&txn, context);
            }
        }
        let reconfigures = txn.body.reconfigures();
        self.commits.push(Committed::Txn(txn), context);
        for (connection, session, xid) in syncs {
            if self.leader.handlers.contains_key(&connection) {
                context.to_learner(connection, LeaderPacket::Synced { session, xid });
            }
        }
        reconfigures
    }

    /// Handles the application of a transaction to the leader's tree: outstanding changes up to it are dropped.
    pub(in crate::server) fn applied(&mut self, txn: &Txn, context: &mut Context<'_>) {
        self.leader.prep_mut().applied(txn);
        if matches!(txn.body, TxnBody::CloseSession { .. }) {
            context.disarm(ServerTimer::SessionExpiry(txn.session));
        }
        self.watch_containers(context);
    }
}

impl Leader {
    /// Sends a packet to every forwarding follower.
    pub(super) fn forward(&mut self, packet: LeaderPacket, context: &mut Context<'_>) {
        for (connection, handler) in &mut self.handlers {
            if handler.is_forwarding() && !handler.observes.0 {
                handler.send(*connection, packet.clone(), context);
            }
        }
    }

    /// Sends a committed transaction to every observer that is synchronised, or is being (rule 5.7.4).
    fn inform(&mut self, txn: &Arc<Txn>, context: &mut Context<'_>) {
        self.send_to_observers(&LeaderPacket::Inform(Arc::clone(txn)), context);
    }

    /// Sends a packet to every observer that is synchronised, or is being.
    pub(super) fn send_to_observers(&mut self, packet: &LeaderPacket, context: &mut Context<'_>) {
        for (connection, handler) in &mut self.handlers {
            if handler.is_forwarding() && handler.observes.0 {
                handler.send(*connection, packet.clone(), context);
            }
        }
    }

    /// Returns true if the quorums of the first outstanding proposal have acknowledged it.
    fn first_has_quorum(&self) -> bool {
        let first = self.outstanding.front();
        first.is_some_and(|first| self.quorums_of(first).contains_quorum(first.acks))
    }
}
