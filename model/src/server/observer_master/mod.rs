//! An observer master: what a follower keeps for the observers that are connected to it (rule 5.9).
//!
//! The follower's packet thread passes it what the leader proposes and commits; its handlers synchronise observers from the
//! follower's database and send them what is committed. Requests of an observer's clients pass through the follower
//! (`learner::master`).

mod cache;
mod hosted;
mod left;

pub(in crate::server) use cache::Cache;
pub(in crate::server) use hosted::{Answer, Hosted, Stored};
pub(in crate::server) use left::LeftHandlers;

use super::commit_processor::CommitProcessor;
use super::context::{Context, Leave};
use super::leader::HandlerPhase;
use crate::vocabulary::event::{AtMaster, Event};
use crate::vocabulary::id::{ClientConnection, LearnerConnection, ServerId, SessionId, Xid};
use crate::vocabulary::packet::LeaderPacket;
use crate::vocabulary::release::Bug;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A sync that a follower has forwarded for an observer, and to which the leader has not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PendingSync {
    /// The observer's connection; `None` after its end.
    observer: Option<LearnerConnection>,
    session: SessionId,
    xid: Xid,
}

/// A revalidation that a follower has forwarded for an observer, and to which the leader has not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::server) struct Revalidation {
    /// The observer's connection; `None` after its end.
    pub(in crate::server) observer: Option<LearnerConnection>,
    session: SessionId,
    /// The client's connection to the observer.
    pub(in crate::server) client: ClientConnection,
}

/// The observer master of a follower.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::server) struct ObserverMaster {
    /// `proposedPkts`: what is proposed and not committed, in order.
    proposed: VecDeque<Arc<Txn>>,
    /// `committedPkts`.
    cache: Cache,
    hosted: BTreeMap<LearnerConnection, Hosted>,
    /// The syncs of observers among the follower's `pendingSyncs`.
    syncs: VecDeque<PendingSync>,
    /// `pendingRevalidations`.
    revalidations: VecDeque<Revalidation>,
}

impl ObserverMaster {
    /// Begins, after a follower's synchronisation, with what that has proposed and not committed (`pendingTxns`), and with
    /// what it has committed and not applied (rule 5.9.4; see [`Bug::MasterDropsProposed`] and
    /// [`Bug::MasterOmitsCommitted`]).
    pub(in crate::server) fn begin(
        pending: &VecDeque<Arc<Txn>>,
        commits: &CommitProcessor,
        context: &Context<'_>,
    ) -> ObserverMaster {
        let (mut master, bugs) = (ObserverMaster::default(), context.config.bugs);
        if !bugs.has(Bug::MasterDropsProposed) {
            master.proposed.clone_from(pending);
        }
        if !bugs.has(Bug::MasterOmitsCommitted) {
            for txn in commits.to_be_applied() {
                master.cache.add(LeaderPacket::Inform(Arc::clone(txn)), context.config);
            }
        }
        master
    }

    /// Handles a PROPOSAL of the leader (`proposalReceived`).
    pub(in crate::server) fn proposed(&mut self, txn: Arc<Txn>) {
        self.proposed.push_back(txn);
    }

    /// Handles a COMMIT of the leader (`proposalCommitted`), or a COMMITANDACTIVATE with the designated leader
    /// (`informAndActivate`): sends the transaction to every observer and keeps it (rule 5.9.5).
    ///
    /// # Errors
    /// The follower leaves its role if an older proposal is still not committed.
    pub(in crate::server) fn committed(
        &mut self,
        zxid: Zxid,
        designated: Option<ServerId>,
        context: &mut Context<'_>,
    ) -> Result<(), Leave> {
        match self.proposed.front() {
            // The commit is dropped without a word (rule 5.9.4).
            None => return Ok(()),
            Some(head) if head.zxid > zxid => return Ok(()),
            Some(head) if head.zxid < zxid => {
                return Err(Leave("an exception: an observer master expects another commit"));
            }
            Some(_) => {}
        }
        let txn = self.proposed.pop_front().expect("just looked at it");
        let packet = match designated {
            Some(designated) => LeaderPacket::InformAndActivate { txn, designated },
            None => LeaderPacket::Inform(txn),
        };
        self.cache.add(packet.clone(), context.config);
        for (connection, hosted) in &mut self.hosted {
            hosted.inform(*connection, &packet, context);
        }
        Ok(())
    }

    /// Returns the handler of a connection, and what the master keeps for it.
    pub(in crate::server) fn hosted(
        &mut self,
        connection: LearnerConnection,
    ) -> Option<(&mut Hosted, &Cache)> {
        self.hosted.get_mut(&connection).map(|hosted| (hosted, &self.cache))
    }

    /// Adds the handler of a new connection.
    pub(in crate::server) fn host(&mut self, connection: LearnerConnection, hosted: Hosted) {
        self.hosted.insert(connection, hosted);
    }

    /// Returns true if this connection has a handler.
    pub(in crate::server) fn hosts(&self, connection: LearnerConnection) -> bool {
        self.hosted.contains_key(&connection)
    }

    /// Returns the connections of its observers.
    pub(in crate::server) fn connections(&self) -> impl Iterator<Item = LearnerConnection> {
        self.hosted.keys().copied()
    }

    /// Returns true if the handler of this connection has a piece of a SNAP, or its queued packets, to send.
    pub(in crate::server) fn can_stream(&self, connection: LearnerConnection) -> bool {
        self.hosted.get(&connection).is_some_and(Hosted::can_stream)
    }

    /// Records a sync that is forwarded for an observer.
    pub(in crate::server) fn forwards_sync(
        &mut self,
        observer: LearnerConnection,
        session: SessionId,
        xid: Xid,
    ) {
        self.syncs.push_back(PendingSync { observer: Some(observer), session, xid });
    }

    /// Handles the leader's SYNC: an observer that waits for it gets it at once, after all that is committed before (rule
    /// 5.9.7).
    pub(in crate::server) fn synced(
        &mut self,
        session: SessionId,
        xid: Xid,
        context: &mut Context<'_>,
    ) {
        let is_head = |it: &&PendingSync| (it.session, it.xid) == (session, xid);
        if self.syncs.front().filter(is_head).is_none() {
            return;
        }
        let head = self.syncs.pop_front().expect("just looked at it");
        if let Some(observer) = head.observer {
            context.to_learner(observer, LeaderPacket::Synced { session, xid });
        }
    }

    /// Records a revalidation that is forwarded for an observer.
    pub(in crate::server) fn forwards_revalidation(
        &mut self,
        observer: LearnerConnection,
        session: SessionId,
        client: ClientConnection,
    ) {
        self.revalidations.push_back(Revalidation { observer: Some(observer), session, client });
    }

    /// Returns the revalidation that the leader's answer for a session is taken for: the oldest one, if it is of this
    /// session (rule 5.9.8). Any other answer is for a client of the follower itself.
    pub(in crate::server) fn revalidated(&mut self, session: SessionId) -> Option<Revalidation> {
        let is_head = self.revalidations.front().is_some_and(|it| it.session == session);
        if is_head { self.revalidations.pop_front() } else { None }
    }

    /// Closes an observer's connection after it was silent for too long, has ended, or cannot be served.
    pub(in crate::server) fn drop_handler(
        &mut self,
        connection: LearnerConnection,
        context: &mut Context<'_>,
    ) {
        let hosted = self.hosted.remove(&connection);
        hosted.expect("only a connection with a handler fails").end(connection, context);
        // A later connection with the same slot must not receive the answers.
        for sync in &mut self.syncs {
            sync.observer = sync.observer.filter(|observer| *observer != connection);
        }
        for revalidation in &mut self.revalidations {
            revalidation.observer = revalidation.observer.filter(|it| *it != connection);
        }
    }

    /// Runs a ping round (rule 5.9.9).
    pub(in crate::server) fn ping_round(&mut self, context: &mut Context<'_>) {
        for (connection, hosted) in &self.hosted {
            hosted.ping(*connection, context);
        }
    }

    /// Ends with the process.
    pub(in crate::server) fn die(&self, context: &mut Context<'_>) {
        for (connection, hosted) in &self.hosted {
            hosted.end(*connection, context);
        }
    }

    /// Ends with the follower's role: closes the connections of its observers (rule 5.9.10). Returns the handlers that
    /// stay (see [`Bug::HandlersOutliveMaster`]).
    pub(in crate::server) fn end(self, left: &mut LeftHandlers, context: &mut Context<'_>) {
        for (connection, hosted) in self.hosted {
            let (master, observer) = (context.id, connection);
            if hosted.is_active() || !context.config.bugs.has(Bug::HandlersOutliveMaster) {
                if !matches!(hosted.handler.phase, HandlerPhase::Broadcast) {
                    let what = AtMaster::EndsMeanwhile;
                    context.effects.event(Event::AtMaster { master, observer, what });
                }
                hosted.end(connection, context);
            } else {
                let what = AtMaster::Outlives;
                context.effects.event(Event::AtMaster { master, observer, what });
                left.keep(connection, hosted, self.cache.clone());
            }
        }
    }
}
