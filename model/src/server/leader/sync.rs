//! Synchronisation of a learner: DIFF, TRUNC or SNAP, and the hand-over to forwarding (rules
//! 6.4 and 6.5).
//!
//! Rule 6.4.5 (the transaction log on disk) is off, as with
//! `zookeeper.snapshotSizeFactor=-1`: a learner below the window of committedLog gets a SNAP.

use super::Leading;
use super::state::{Handler, HandlerPhase, Stream};
use crate::server::context::Context;
use crate::vocabulary::event::{Event, SyncMode};
use crate::vocabulary::id::LearnerConnection;
use crate::vocabulary::packet::LeaderPacket;
use crate::vocabulary::release::Bug;
use crate::vocabulary::step::Step;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::{Epoch, Zxid};
use std::sync::Arc;

/// What to send for a synchronisation.
struct Plan {
    /// The first packet; `None` for a SNAP.
    first: Option<LeaderPacket>,
    /// Proposals and commits behind it.
    packets: Vec<LeaderPacket>,
    /// The last zxid that the learner has after these.
    sent: Zxid,
}

impl Leading<'_> {
    /// LearnerHandler.syncFollower, atomic with propose and commit.
    pub(super) fn synchronise(
        &mut self,
        connection: LearnerConnection,
        last_zxid: Zxid,
        context: &mut Context<'_>,
    ) {
        let plan = self.plan_sync(last_zxid, context);
        let mode = match &plan.first {
            Some(LeaderPacket::Trunc(_)) => SyncMode::Trunc,
            Some(_) => SyncMode::Diff,
            None => SyncMode::Snap,
        };
        context.effects.event(Event::Synchronising {
            leader: context.id,
            learner: connection,
            mode,
        });
        if !context.config.bugs.has(Bug::AcksOutliveReconnect) {
            self.supersede_older_registration(connection, plan.sent);
        }
        let leader = &mut *self.leader;
        let handler = leader.handlers.get_mut(&connection).expect("a handler synchronises");
        let stream = Stream { is_snap: plan.first.is_none(), ..Stream::default() };
        handler.phase = HandlerPhase::Streaming(stream);
        context.effects.due(Step::Stream(connection));
        for packet in plan.first.into_iter().chain(plan.packets) {
            handler.send(connection, packet, context);
        }
        // startForwarding: what is committed and not applied, then what is proposed and not committed; from
        // here on the handler is among the forwarding followers, and what is proposed and committed
        // until the handler's next step comes before NEWLEADER (rule 6.5.1).
        for txn in self.commits.to_be_applied().filter(|txn| txn.zxid > plan.sent) {
            handler.send(connection, LeaderPacket::Proposal(Arc::clone(txn)), context);
            handler.send(connection, LeaderPacket::Commit(txn.zxid), context);
        }
        for proposal in &leader.outstanding {
            if proposal.txn.zxid > plan.sent {
                handler.send(connection, LeaderPacket::Proposal(proposal.txn.clone()), context);
            }
        }
    }

    /// The learner has registered again: what it acknowledged before may be cut now, and is sent again
    /// to be acknowledged again (see [`Bug::AcksOutliveReconnect`]).
    fn supersede_older_registration(&mut self, connection: LearnerConnection, sent: Zxid) {
        let leader = &mut *self.leader;
        for proposal in leader.outstanding.iter_mut().filter(|it| it.txn.zxid > sent) {
            proposal.acks.remove(connection.learner);
        }
        let is_older =
            |other: &LearnerConnection| other.learner == connection.learner && *other != connection;
        for (_, older) in leader.handlers.iter_mut().filter(|(other, _)| is_older(other)) {
            older.superseded = true;
        }
    }

    /// The decision table of rule 6.4: the first row that fits, of rules 6.4.2, 6.4.3, 6.4.4 and 6.4.6.
    fn plan_sync(&self, learner: Zxid, context: &Context<'_>) -> Plan {
        let applied = self.database.tree.last_processed();
        let (committed, last) = self.window(context);
        let (min, max) = match (committed.first(), committed.last()) {
            (Some(first), Some(last)) => (first.zxid, last.zxid),
            _ => (last, last),
        };
        if last == learner {
            let first = Some(LeaderPacket::Diff(learner));
            return Plan { first, packets: Vec::new(), sent: learner };
        }
        if learner > max && !learner.is_opening() {
            let first = Some(LeaderPacket::Trunc(max));
            return Plan { first, packets: Vec::new(), sent: max };
        }
        if (min..=max).contains(&learner)
            && let Some(plan) = walk(&committed, learner, max)
        {
            return plan;
        }
        Plan { first: None, packets: Vec::new(), sent: applied }
    }

    /// The window of what is committed, and its last zxid: of what is *applied* only, in HEAD (see
    /// [`Bug::TruncCutsCommitted`]).
    fn window(&self, context: &Context<'_>) -> (Vec<&Arc<Txn>>, Zxid) {
        let applied = self.database.tree.last_processed();
        let mut window: Vec<&Arc<Txn>> = self.database.committed_log.iter().collect();
        if context.config.bugs.has(Bug::TruncCutsCommitted) {
            return (window, applied);
        }
        window.extend(self.commits.to_be_applied());
        let oldest = window.len().saturating_sub(context.config.commit_log_count);
        window.drain(..oldest);
        (window, self.commits.last().unwrap_or(applied))
    }

    /// Streams the next piece of a SNAP: first its label, which is read only now, and the sessions;
    /// then znodes, while transactions go on being applied (fuzzy). After the last piece (and at once
    /// for DIFF and TRUNC) NEWLEADER goes behind the packets that are queued by then, commits included
    /// (ZOOKEEPER-3104), and the sending thread starts.
    pub(in crate::server) fn stream_next(
        &mut self,
        connection: LearnerConnection,
        context: &mut Context<'_>,
    ) {
        let (epoch, tree) = (self.leader.epoch, &self.database.tree);
        let handler = self.leader.handlers.get_mut(&connection).expect("a handler streams");
        let HandlerPhase::Streaming(stream) = &mut handler.phase else {
            unreachable!("{}: nothing is to be streamed to {connection}", context.id)
        };
        if !stream.is_snap {
            let queued = std::mem::take(&mut stream.queued);
            handler.start_sending(connection, epoch, queued, context);
            return;
        }
        if !stream.started {
            stream.started = true;
            let sessions = tree.sessions().iter().map(|(id, timeout)| (*id, *timeout));
            context.to_learner(connection, LeaderPacket::Snap(tree.last_processed()));
            context.to_learner(connection, LeaderPacket::SnapSessions(sessions.collect()));
            context.effects.due(Step::Stream(connection));
            return;
        }
        let size = context.config.snapshot_piece;
        let piece = tree.nodes_after(stream.cursor.as_ref(), size);
        let is_last = piece.len() < size;
        stream.cursor = piece.last().map(|(path, _)| path.clone()).or(stream.cursor.take());
        context.to_learner(connection, LeaderPacket::SnapNodes(piece));
        if is_last {
            let queued = std::mem::take(&mut stream.queued);
            context.to_learner(connection, LeaderPacket::SnapEnd);
            handler.start_sending(connection, epoch, queued, context);
        } else {
            context.effects.due(Step::Stream(connection));
        }
    }
}

/// Walks committedLog from the learner's zxid (rule 6.4.7). `None`: the learner's zxid is not in the
/// history and of another epoch, so only a SNAP will do.
fn walk(committed: &[&Arc<Txn>], learner: Zxid, max: Zxid) -> Option<Plan> {
    let mut plan = Plan { first: None, packets: Vec::new(), sent: learner };
    let mut previous = Zxid::ZERO;
    for txn in committed {
        if txn.zxid < learner {
            previous = txn.zxid;
            continue;
        }
        if plan.first.is_none() {
            if txn.zxid == learner {
                plan.first = Some(LeaderPacket::Diff(max));
                continue;
            }
            if learner.is_opening() {
                plan.first = Some(LeaderPacket::Diff(max));
            } else if txn.zxid.epoch() != learner.epoch() {
                return None;
            } else {
                plan.first = Some(LeaderPacket::Trunc(previous));
            }
        }
        if txn.zxid > plan.sent {
            plan.packets.push(LeaderPacket::Proposal(Arc::clone(txn)));
            plan.packets.push(LeaderPacket::Commit(txn.zxid));
            plan.sent = txn.zxid;
        }
    }
    if plan.first.is_none() && learner.is_opening() {
        plan.first = Some(LeaderPacket::Diff(max));
    }
    plan.first.is_some().then_some(plan)
}

impl Handler {
    /// startSendingPackets: what is queued, then NEWLEADER; whatever comes later goes out at once.
    fn start_sending(
        &mut self,
        connection: LearnerConnection,
        epoch: Epoch,
        queued: Vec<LeaderPacket>,
        context: &mut Context<'_>,
    ) {
        self.phase = HandlerPhase::AwaitingAck;
        for packet in queued {
            context.to_learner(connection, packet);
        }
        context.to_learner(connection, LeaderPacket::NewLeader(epoch));
    }
}
