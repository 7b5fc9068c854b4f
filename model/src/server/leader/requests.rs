//! Requests of sessions to an established leader: writes become proposals; touches, revalidations and syncs are
//! answered from its own memory.

use super::Leading;
use crate::server::context::{Context, Leave, Stays};
use crate::server::prep::{Asker, Expiry, Run};
use crate::server::tracker::Owner;
use crate::vocabulary::event::COUNTER_EXHAUSTED;
use crate::vocabulary::id::{LearnerConnection, ServerId, SessionId, Xid};
use crate::vocabulary::packet::{LeaderPacket, ServerRequest};
use crate::vocabulary::quorum::QuorumVerifier;
use crate::vocabulary::reconfiguration::Reconfiguration;
use crate::vocabulary::release::Bug;
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::ServerTimer;
use crate::vocabulary::txn::Txn;
use std::sync::Arc;

impl Leading<'_> {
    /// Prepares a request and proposes the transaction (rule 4.4.1). A request that fails validation is proposed as
    /// an error transaction.
    pub(in crate::server) fn prepare(
        &mut self,
        asker: &Asker,
        xid: Xid,
        request: &ServerRequest,
        context: &mut Context<'_>,
    ) -> Stays {
        let session = asker.session;
        let view = self.view(context);
        let (prep, tree) = (self.leader.prep_mut(), &self.database.tree);
        let of_run = Run { config: context.config, view, at: context.at };
        let txn = prep.request(tree, asker, xid, request, &of_run);
        match request {
            ServerRequest::CreateSession { timeout } => {
                context.arm(ServerTimer::SessionExpiry(session), *timeout);
            }
            _ => self.touch(session, context),
        }
        match (asker.owner, request) {
            (Owner::Learner(_) | Owner::Observer { .. }, _) => {
                self.hold_for_commit(session, xid, context)
            }
            // A write of the leader's own client is queued there already.
            (Owner::Leader, ServerRequest::CreateSession { .. }) => {
                let planted = context.config.bugs.has(Bug::PlantedNewSessionsUnanswered);
                self.clients.hold(session, if planted { Xid(u32::MAX) } else { xid });
            }
            (Owner::Leader, _) => {}
        }
        self.propose_prepared(txn, context)
    }

    /// Queues a request of a learner, or of the leader itself, in the leader's own CommitProcessor too, as
    /// ProposalRequestProcessor does: later requests of the same session *at this server* wait for it (rule 4.5.7).
    fn hold_for_commit(&mut self, session: SessionId, xid: Xid, context: &Context<'_>) {
        let options = &context.config.options;
        if !options.forward_learner_requests_to_commit_processor_disabled
            && !context.config.bugs.has(Bug::PlantedRequestsNotHeld)
        {
            self.clients.hold(session, xid);
        }
    }

    /// Proposes a write without a client, for searches without programs.
    pub(in crate::server) fn propose_write(&mut self, context: &mut Context<'_>) -> Stays {
        let (prep, tree) = (self.leader.prep_mut(), &self.database.tree);
        let txn = prep.write(tree, context.config, context.at);
        self.propose_prepared(txn, context)
    }

    /// Proposes a reconfiguration without a client, for searches without programs.
    pub(in crate::server) fn propose_reconfiguration(
        &mut self,
        joins: ServerId,
        leaves: ServerId,
        context: &mut Context<'_>,
    ) -> Stays {
        let view = self.view(context);
        let line = QuorumVerifier::line(joins, false);
        let asked = Reconfiguration::incremental([&*line], [leaves.0]);
        let run = Run { config: context.config, view, at: context.at };
        let (prep, tree) = (self.leader.prep_mut(), &self.database.tree);
        let txn = prep.reconfigure(tree, &asked, &run);
        self.propose_prepared(txn, context)
    }

    fn propose_prepared(&mut self, txn: Option<Arc<Txn>>, context: &mut Context<'_>) -> Stays {
        self.propose(txn.ok_or(Leave(COUNTER_EXHAUSTED))?, context);
        Ok(())
    }

    /// Expires a session: closeSession enters the pipeline (rule 2.3.2). The ephemerals stay visible until it
    /// commits.
    pub(in crate::server) fn expire_session(
        &mut self,
        session: SessionId,
        context: &mut Context<'_>,
    ) -> Stays {
        match self.leader.prep_mut().expire(
            &self.database.tree,
            session,
            context.config,
            context.at,
        ) {
            Expiry::Nothing => unreachable!("{session} is not alive, so it cannot expire"),
            Expiry::Proposed(txn) => {
                context.disarm(ServerTimer::SessionExpiry(session));
                self.clients.hold(session, txn.cxid);
                self.propose(txn, context);
                Ok(())
            }
            Expiry::Exhausted => Err(Leave(COUNTER_EXHAUSTED)),
        }
    }

    /// Restarts the timeout of a session that has sent a packet.
    pub(in crate::server) fn touch(&mut self, session: SessionId, context: &mut Context<'_>) {
        if context.config.bugs.has(Bug::PlantedDeafLeader) {
            return;
        }
        if let Some(timeout) = self.leader.prep_mut().sessions_mut().touch(session) {
            context.arm(ServerTimer::SessionExpiry(session), timeout);
        }
    }

    /// Revalidates a session (revalidateSession): it is alive if a touch succeeds. Then `owner` becomes its owner
    /// (rule 2.4.1).
    pub(in crate::server) fn revalidate(
        &mut self,
        session: SessionId,
        owner: Owner,
        context: &mut Context<'_>,
    ) -> Option<Duration> {
        let sessions = self.leader.prep_mut().sessions_mut();
        let timeout = match context.config.bugs.has(Bug::PlantedOwnerStays) {
            true => sessions.touch(session)?,
            false => sessions.revalidate(session, owner)?,
        };
        if !context.config.bugs.has(Bug::PlantedRevalidateKeepsTimer) {
            context.arm(ServerTimer::SessionExpiry(session), timeout);
        }
        Some(timeout)
    }

    /// Answers a sync (processSync): immediately if nothing is outstanding, otherwise right after the commit of the
    /// last proposal. There is no quorum round (rule 4.6.4).
    pub(super) fn sync_for_learner(
        &mut self,
        connection: LearnerConnection,
        session: SessionId,
        xid: Xid,
        context: &mut Context<'_>,
    ) {
        let hasty = context.config.bugs.has(Bug::PlantedHastySync);
        match self.leader.outstanding.back_mut().filter(|_| !hasty) {
            Some(_) if context.config.bugs.has(Bug::PlantedSyncForgotten) => {}
            Some(last) => last.syncs.push((connection, session, xid)),
            None => context.to_learner(connection, LeaderPacket::Synced { session, xid }),
        }
    }
}
