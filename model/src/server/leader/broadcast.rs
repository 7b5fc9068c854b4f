//! Activation and broadcast: propose, count acks, commit in order (semantics 6.7, 4.4).

use super::{HandlerPhase, Leader, Phase, Proposal};
use crate::server::prep::{Asker, Expiry, Prep};
use crate::server::tracker::Owner;
use crate::server::{Context, Role, Server};
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{LearnerConnection, ServerId, ServerSet, SessionId, Xid};
use crate::vocabulary::op::Request;
use crate::vocabulary::packet::{LeaderPacket, LearnerPacket, ServerRequest};
use crate::vocabulary::timer::ServerTimer;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

impl Server {
    // ---- activation ----

    /// The main thread's own vote for its NEWLEADER, without any fsync (semantics 9 rule 10).
    pub(super) fn begin_synchronization(&mut self, context: &mut Context<'_>) {
        let Role::Leading(leader) = &mut self.role else { return };
        leader.phase = Phase::Synchronization;
        leader.new_leader_acks.insert(self.id);
        self.consider_activation(context);
    }

    /// The first ACK after NEWLEADER ends the handler's wait whatever its zxid, but counts only if
    /// it is NEWLEADER's (ZOOKEEPER-4685; semantics 6.7 rule 1).
    pub(super) fn first_ack(
        &mut self,
        connection: LearnerConnection,
        zxid: Zxid,
        context: &mut Context<'_>,
    ) {
        let Role::Leading(leader) = &mut self.role else { return };
        let handler = leader.handlers.get_mut(&connection).expect("it was just read from");
        handler.phase = HandlerPhase::AwaitingStart;
        if leader.phase == Phase::Broadcast {
            self.release_handlers(context);
        } else if zxid == leader.epoch.opening() {
            leader.new_leader_acks.insert(connection.learner);
            self.consider_activation(context);
        }
    }

    fn consider_activation(&mut self, context: &mut Context<'_>) {
        let Role::Leading(leader) = &mut self.role else { return };
        if leader.phase == Phase::Synchronization
            && leader.new_leader_acks.contains(self.id)
            && context.config.is_quorum(leader.new_leader_acks.len())
        {
            self.activate(context);
        }
    }

    /// startZkServer: all of the leader's history is committed; sessions get a full fresh timeout;
    /// clients are served.
    fn activate(&mut self, context: &mut Context<'_>) {
        let Role::Leading(leader) = &mut self.role else { return };
        let epoch = leader.epoch;
        let history = self.tree.last_processed();
        leader.phase = Phase::Broadcast;
        leader.new_leader_acks = ServerSet::default();
        leader.last_committed = epoch.opening();
        Arc::make_mut(&mut self.tree).set_last_processed(epoch.opening());
        leader.prep = Some(Box::new(Prep::new(epoch, &self.tree)));
        for (session, timeout) in self.tree.sessions() {
            context.arm(ServerTimer::SessionExpiry(*session), *timeout);
        }
        self.remember_epoch(epoch, context);
        context.disarm(ServerTimer::InitLimit);
        context.arm(ServerTimer::Ping, context.config.tick / 2);
        self.announce_established(epoch, history, context);
        context.effects.event(Event::Serving {
            server: self.id,
            zxid: self.tree.last_processed(),
            digest: self.tree.digest(),
        });
        self.watch_containers(context);
        self.release_handlers(context);
    }

    /// Handlers that waited for the leader's start send UPTODATE.
    fn release_handlers(&mut self, context: &mut Context<'_>) {
        let Role::Leading(leader) = &mut self.role else { return };
        for (connection, handler) in &mut leader.handlers {
            if handler.phase == HandlerPhase::AwaitingStart {
                handler.phase = HandlerPhase::Broadcast;
                context.to_learner(*connection, LeaderPacket::UpToDate);
            }
        }
    }

    // ---- requests ----

    /// A packet of a learner in broadcast (semantics 6.7 rule 2).
    pub(super) fn learner_packet(
        &mut self,
        connection: LearnerConnection,
        packet: LearnerPacket,
        context: &mut Context<'_>,
    ) {
        match packet {
            LearnerPacket::Ack(_) if self.is_superseded(connection) => {}
            LearnerPacket::Ack(zxid) => self.process_ack(connection.learner, zxid, context),
            LearnerPacket::Ping { touched } => {
                for session in touched {
                    self.touch_at_leader(session, context);
                }
            }
            LearnerPacket::Request { session, xid, request, auth } => match request {
                ServerRequest::Client(request) if matches!(*request, Request::Sync { .. }) => {
                    self.sync_for_learner(connection, session, xid, context);
                }
                request => {
                    let local =
                        context.config.options.local_sessions && session.issuer() != self.id;
                    let owner = Owner::Learner(connection);
                    let asker = Asker { local, ..Asker::new(session, owner, auth) };
                    self.prepare(&asker, xid, &request, context);
                }
            },
            LearnerPacket::Revalidate { session, connection: waiting } => {
                let timeout =
                    self.revalidate_at_leader(session, Owner::Learner(connection), context);
                let answer = LeaderPacket::Revalidated { session, connection: waiting, timeout };
                context.to_learner(connection, answer);
            }
            packet @ (LearnerPacket::FollowerInfo { .. } | LearnerPacket::AckEpoch { .. }) => {
                unreachable!("{}: {packet:?} in broadcast", self.id)
            }
        }
    }

    /// Whether its learner has registered again since (see
    /// [`crate::vocabulary::release::Bug::AcksOutliveReconnect`]).
    fn is_superseded(&self, connection: LearnerConnection) -> bool {
        let Role::Leading(leader) = &self.role else { return false };
        leader.handlers.get(&connection).is_some_and(|handler| handler.superseded)
    }

    /// Prep, then propose. A request that fails validation is proposed as an error transaction.
    pub(in crate::server) fn prepare(
        &mut self,
        asker: &Asker,
        xid: Xid,
        request: &ServerRequest,
        context: &mut Context<'_>,
    ) {
        let session = asker.session;
        let Role::Leading(leader) = &mut self.role else { return };
        let prep = leader.prep.as_mut().expect("an established leader prepares");
        let txn = prep.request(&self.tree, asker, xid, request, context.config, context.at);
        if let ServerRequest::CreateSession { timeout } = request {
            context.arm(ServerTimer::SessionExpiry(session), *timeout);
        } else {
            self.touch_at_leader(session, context);
        }
        match txn {
            Some(txn) => self.propose(txn, context),
            None => self.leave_role("the zxid counter is exhausted", context),
        }
    }

    /// Proposes a write that no client asked for: for searches without programs.
    pub fn propose_write(&mut self, context: &mut Context<'_>) -> bool {
        let Role::Leading(leader) = &mut self.role else { return false };
        let Some(prep) = &mut leader.prep else { return false };
        match prep.write(&self.tree, context.config, context.at) {
            Some(txn) => self.propose(txn, context),
            None => self.leave_role("the zxid counter is exhausted", context),
        }
        true
    }

    /// A session's time is up: closeSession goes into the pipeline (semantics 2.3). Ephemerals stay
    /// visible until it commits.
    pub(in crate::server) fn expire_session(
        &mut self,
        session: SessionId,
        context: &mut Context<'_>,
    ) -> bool {
        let Role::Leading(leader) = &mut self.role else { return false };
        let Some(prep) = leader.prep.as_mut() else { return false };
        match prep.expire(&self.tree, session, context.at) {
            Expiry::Nothing => return false,
            Expiry::Proposed(txn) => {
                context.disarm(ServerTimer::SessionExpiry(session));
                self.propose(txn, context);
            }
            Expiry::Exhausted => {
                self.leave_role("the zxid counter is exhausted", context);
            }
        }
        true
    }

    /// A session is taken for expired, whenever it was last heard from: a fault.
    pub fn expire(&mut self, session: SessionId, context: &mut Context<'_>) -> bool {
        self.expire_session(session, context)
    }

    fn touch_at_leader(&mut self, session: SessionId, context: &mut Context<'_>) {
        let Role::Leading(leader) = &mut self.role else { return };
        let Some(prep) = &mut leader.prep else { return };
        if let Some(timeout) = prep.sessions_mut().touch(session) {
            context.arm(ServerTimer::SessionExpiry(session), timeout);
        }
    }

    /// A session was heard from on one of this server's connections.
    pub(in crate::server) fn touch(&mut self, session: SessionId, context: &mut Context<'_>) {
        match &mut self.role {
            Role::Following(learner) => learner.touch(session),
            Role::Leading(_) => self.touch_at_leader(session, context),
            Role::Looking => {}
        }
    }

    /// revalidateSession: alive means that a touch succeeds; then the asker owns the session
    /// (semantics 2.4).
    pub(in crate::server) fn revalidate_at_leader(
        &mut self,
        session: SessionId,
        owner: Owner,
        context: &mut Context<'_>,
    ) -> Option<crate::vocabulary::time::Duration> {
        let Role::Leading(leader) = &mut self.role else { return None };
        let timeout = leader.prep.as_mut()?.sessions_mut().revalidate(session, owner)?;
        context.arm(ServerTimer::SessionExpiry(session), timeout);
        Some(timeout)
    }

    /// processSync: answered at once if nothing is outstanding, else right after the commit of the
    /// last proposal. No quorum round (semantics 4.6).
    fn sync_for_learner(
        &mut self,
        connection: LearnerConnection,
        session: SessionId,
        xid: Xid,
        context: &mut Context<'_>,
    ) {
        let Role::Leading(leader) = &mut self.role else { return };
        match leader.outstanding.back_mut() {
            Some(last) => last.syncs.push((connection, session, xid)),
            None => context.to_learner(connection, LeaderPacket::Synced { session, xid }),
        }
    }

    // ---- proposals ----

    fn propose(&mut self, txn: Arc<Txn>, context: &mut Context<'_>) {
        let Role::Leading(leader) = &mut self.role else { return };
        leader.last_proposed = txn.zxid;
        leader.outstanding.push_back(Proposal {
            txn: Arc::clone(&txn),
            acks: ServerSet::default(),
            syncs: Vec::new(),
        });
        leader.forward(LeaderPacket::Proposal(Arc::clone(&txn)), context);
        context.effects.event(Event::Proposed { leader: self.id, txn: Arc::clone(&txn) });
        self.queue_for_log(txn, context);
    }

    /// processAck (semantics 4.4 rule 3).
    pub(in crate::server) fn process_ack(
        &mut self,
        server: ServerId,
        zxid: Zxid,
        context: &mut Context<'_>,
    ) {
        let Role::Leading(leader) = &mut self.role else { return };
        if zxid.is_opening() || zxid <= leader.last_committed {
            return;
        }
        let Some(first) = leader.outstanding.front() else { return };
        // Proposals are contiguous: the place follows from the distance to the first.
        let Some(at) = zxid.0.checked_sub(first.txn.zxid.0) else { return };
        let Some(proposal) = leader.outstanding.get_mut(at as usize) else { return };
        debug_assert_eq!(proposal.txn.zxid, zxid);
        proposal.acks.insert(server);
        // tryToCommit: never before its predecessor; a later proposal is tried again by its own next
        // ack only (rule 4).
        if at == 0 && context.config.is_quorum(proposal.acks.len()) {
            self.commit_first(context);
        }
    }

    fn commit_first(&mut self, context: &mut Context<'_>) {
        let Role::Leading(leader) = &mut self.role else { return };
        let Proposal { txn, syncs, .. } = leader.outstanding.pop_front().expect("it has a quorum");
        leader.last_committed = txn.zxid;
        leader.forward(LeaderPacket::Commit(txn.zxid), context);
        context.effects.event(Event::Committed { leader: self.id, txn: Arc::clone(&txn) });
        for (connection, session, xid) in syncs {
            if leader.handlers.contains_key(&connection) {
                context.to_learner(connection, LeaderPacket::Synced { session, xid });
            }
        }
        self.deliver(txn, context);
    }

    /// The leader's tree has applied a transaction: outstanding changes up to it leave.
    pub(in crate::server) fn applied_at_leader(&mut self, txn: &Txn, context: &mut Context<'_>) {
        if let Role::Leading(leader) = &mut self.role
            && let Some(prep) = &mut leader.prep
        {
            prep.applied(txn);
            if matches!(txn.body, TxnBody::CloseSession { .. }) {
                context.disarm(ServerTimer::SessionExpiry(txn.session));
            }
            self.watch_containers(context);
        }
    }
}

impl Leader {
    /// Sends to every forwarding follower.
    fn forward(&mut self, packet: LeaderPacket, context: &mut Context<'_>) {
        for (connection, handler) in &mut self.handlers {
            if handler.is_forwarding() {
                handler.send(*connection, packet.clone(), context);
            }
        }
    }
}
