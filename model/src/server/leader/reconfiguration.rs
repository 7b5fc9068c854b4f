//! A reconfiguration at the leader: the quorums that proposals need, and the leader that goes on after its commit (rule
//! 5.8.6).

use super::Leading;
use super::state::{Leader, MayCommit};
use crate::server::context::Context;
use crate::server::prep::LeaderView;
use crate::server::reconfig::Designated;
use crate::vocabulary::id::{ServerId, ServerSet};
use crate::vocabulary::packet::LeaderPacket;
use crate::vocabulary::quorum::{Attached, QuorumVerifier, Quorums};
use crate::vocabulary::release::Bug;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

impl Leading<'_> {
    /// Returns what `prep` needs to know of the ensemble, where reconfigurations are enabled. A single voter runs standalone
    /// unless `standaloneEnabled` is off (rule 5.8.3).
    pub(super) fn view(&self, context: &Context<'_>) -> Option<LeaderView> {
        let options = &context.config.options;
        let is_standalone =
            options.standalone_enabled && context.config.quorum_verifier().voters().len() == 1;
        (options.reconfig_enabled && !is_standalone).then(|| LeaderView {
            configurations: context.configurations(),
            synced: self.leader.synced_followers().with(context.id),
        })
    }

    /// Returns the quorums that a new proposal needs. A reconfiguration is the last configuration seen from its own proposal
    /// on, so it and everything after it need both quorums.
    pub(super) fn quorums_to_propose(
        &self,
        txn: &Txn,
        context: &mut Context<'_>,
    ) -> Attached<Quorums> {
        if !context.config.options.reconfig_enabled {
            return Attached(None);
        }
        if let TxnBody::Reconfig(next) = txn.body {
            context.see_configuration(next);
        }
        Attached(Some(match context.config.bugs.has(Bug::PlantedOldQuorumEnough) {
            true => Quorums::of(context.configurations().quorum),
            false => context.configurations().quorums(),
        }))
    }

    /// Commits a reconfiguration: the leader activates it, and then tells its learners, with the leader that it designates.
    pub(super) fn commit_reconfiguration(
        &mut self,
        txn: &Arc<Txn>,
        next: QuorumVerifier,
        acks: ServerSet,
        context: &mut Context<'_>,
    ) {
        let last = self.leader.prep_mut().last_zxid();
        let designated = self.activate_configuration(next, acks, last, context);
        if !context.config.bugs.has(Bug::OldQuorumStillNeeded) {
            let quorums = context.configurations().quorums();
            for proposal in &mut self.leader.outstanding {
                proposal.quorums = Attached(Some(quorums));
            }
        }
        let commit = LeaderPacket::CommitAndActivate { zxid: txn.zxid, designated };
        self.leader.forward(commit, context);
        let inform = LeaderPacket::InformAndActivate { txn: Arc::clone(txn), designated };
        self.leader.send_to_observers(&inform, context);
    }

    /// Activates a configuration which these servers have acknowledged, and returns the leader that it designates. If that is
    /// another one, this leader commits no more, and leaves its role when it misses its quorum.
    pub(super) fn activate_configuration(
        &mut self,
        next: QuorumVerifier,
        acks: ServerSet,
        zxid: Zxid,
        context: &mut Context<'_>,
    ) -> ServerId {
        let leader = self.leader.designated(next, acks, context.id);
        let designated = Some(Designated { leader, zxid });
        self.election.process_reconfig(next, designated, true, self.database, context);
        self.leader.may_commit = MayCommit(leader == context.id);
        leader
    }
}

impl Leader {
    /// Returns the leader that a configuration designates (`getDesignatedLeader`): this one if it votes there, otherwise one
    /// of those voters that have acknowledged the reconfiguration and the longest run of proposals after it.
    fn designated(&self, next: QuorumVerifier, acks: ServerSet, own: ServerId) -> ServerId {
        if next.voters().contains(own) {
            return own;
        }
        let mut candidates = acks.intersection(next.voters());
        let mut best = candidates.iter().next();
        for proposal in &self.outstanding {
            candidates = candidates.intersection(proposal.acks);
            match candidates.iter().next() {
                Some(first) => best = Some(first),
                None => break,
            }
        }
        // Only where a planted defect asks no quorum of the new configuration is there none.
        best.unwrap_or(own)
    }

    /// Returns the followers from whom a packet has arrived recently (`LearnerHandler.synced`).
    fn synced_followers(&self) -> ServerSet {
        let followers = self.handlers.iter().filter(|(_, handler)| {
            handler.is_forwarding() && !handler.observes.0 && !handler.is_overdue
        });
        followers.map(|(connection, _)| connection.learner).collect()
    }
}
