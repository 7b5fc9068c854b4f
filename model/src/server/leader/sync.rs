//! Synchronisation of a learner: DIFF, TRUNC or SNAP as [`super::sync_plan`] decides, and the transition to
//! forwarding (rules 6.4 and 6.5).

use super::Leading;
use super::state::{Handler, HandlerPhase, Stream};
use super::sync_plan::{self, Plan};
use crate::server::context::Context;
use crate::tree::DataTree;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::LearnerConnection;
use crate::vocabulary::packet::LeaderPacket;
use crate::vocabulary::quorum::Attached;
use crate::vocabulary::release::Bug;
use crate::vocabulary::step::Step;
use crate::vocabulary::zxid::{Epoch, Zxid};
use std::sync::Arc;

impl Leading<'_> {
    /// Begins the synchronisation of a learner (LearnerHandler.syncFollower), atomically with respect to propose and
    /// commit.
    pub(super) fn synchronise(
        &mut self,
        connection: LearnerConnection,
        last_zxid: Zxid,
        context: &mut Context<'_>,
    ) {
        let plan =
            sync_plan::of(last_zxid, self.database, self.commits, context.disk, context.config);
        let sent = plan.sent;
        if !context.config.bugs.has(Bug::AcksOutliveReconnect) {
            self.supersede_older_registration(connection, sent);
        }
        let leader = &mut *self.leader;
        let handler = leader.handlers.get_mut(&connection).expect("a handler synchronises");
        handler.begin_sending(connection, plan, context);
        // startForwarding: sends the transactions that are committed and not applied, then those that are proposed
        // and not committed. From now on the handler is among the forwarding followers, and proposals and commits
        // made before the handler's next step precede NEWLEADER (rule 6.5.1).
        for txn in self.commits.to_be_applied().filter(|txn| txn.zxid > sent) {
            handler.send(connection, LeaderPacket::Proposal(Arc::clone(txn)), context);
            handler.send(connection, LeaderPacket::Commit(txn.zxid), context);
        }
        // An observer gets no proposal that is not committed (rule 5.7.4).
        let is_observer = handler.observes.0;
        for proposal in leader.outstanding.iter().filter(|_| !is_observer) {
            if proposal.txn.zxid > sent {
                handler.send(connection, LeaderPacket::Proposal(proposal.txn.clone()), context);
            }
        }
    }

    /// Handles a learner that has registered again: what it acknowledged before may be truncated now, and is sent
    /// again, to be acknowledged again (see [`Bug::AcksOutliveReconnect`]).
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

    /// Streams the next piece of a SNAP: first its zxid, which is read only now, and the sessions; then znodes, while
    /// transactions are being applied (fuzzy). After the last piece, or immediately for DIFF and TRUNC, it sends the
    /// packets queued by then, commits included (ZOOKEEPER-3104), then NEWLEADER, and starts the sending thread.
    pub(in crate::server) fn stream_next(
        &mut self,
        connection: LearnerConnection,
        context: &mut Context<'_>,
    ) {
        let (epoch, tree) = (self.leader.epoch, &self.database.tree);
        let handler = self.leader.handlers.get_mut(&connection).expect("a handler streams");
        handler.stream_next(connection, epoch, tree, context);
    }
}

impl Handler {
    /// Begins a synchronisation: its packets wait for the sending thread, and what is sent from now on follows them.
    pub(in crate::server) fn begin_sending(
        &mut self,
        connection: LearnerConnection,
        plan: Plan,
        context: &mut Context<'_>,
    ) {
        let (leader, mode) = (context.id, plan.mode());
        context.effects.event(Event::Synchronising { leader, learner: connection, mode });
        let stream = Stream { is_snap: plan.first.is_none(), ..Stream::default() };
        self.enter(HandlerPhase::Streaming(stream), connection, context);
        context.effects.due(Step::Stream(connection));
        for packet in plan.first.into_iter().chain(plan.packets) {
            self.send(connection, packet, context);
        }
    }

    /// Streams the next piece of a SNAP of this tree, or sends the queued packets and NEWLEADER of this epoch.
    pub(in crate::server) fn stream_next(
        &mut self,
        connection: LearnerConnection,
        epoch: Epoch,
        tree: &DataTree,
        context: &mut Context<'_>,
    ) {
        let HandlerPhase::Streaming(stream) = &mut self.phase else {
            unreachable!("{}: nothing is to be streamed to {connection}", context.id)
        };
        if !stream.is_snap {
            let queued = std::mem::take(&mut stream.queued);
            self.start_sending(connection, epoch, queued, context);
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
            self.start_sending(connection, epoch, queued, context);
        } else {
            context.effects.due(Step::Stream(connection));
        }
    }

    /// Starts the sending thread (startSendingPackets): sends the queued packets, then NEWLEADER; later packets are
    /// sent immediately.
    fn start_sending(
        &mut self,
        connection: LearnerConnection,
        epoch: Epoch,
        queued: Vec<LeaderPacket>,
        context: &mut Context<'_>,
    ) {
        self.enter(HandlerPhase::AwaitingAck, connection, context);
        for packet in queued {
            context.to_learner(connection, packet);
        }
        let reconfigures = context.config.options.reconfig_enabled;
        let last_seen = reconfigures.then(|| context.configurations().last_seen);
        context.to_learner(connection, LeaderPacket::NewLeader(epoch, Attached(last_seen)));
    }
}
