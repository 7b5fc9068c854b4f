//! Synchronisation of a learner: DIFF, TRUNC or SNAP, and the hand-over to forwarding (semantics
//! 6.4, 6.5).
//!
//! Row 5 of the decision table (the transaction log on disk) is off, as with
//! `zookeeper.snapshotSizeFactor=-1`: a learner below the window of committedLog gets a SNAP.

use super::{HandlerPhase, Stream};
use crate::event::{Event, SyncMode};
use crate::id::LearnerConnection;
use crate::packet::LeaderPacket;
use crate::server::{Context, Role, Server};
use crate::step::Step;
use crate::zxid::Zxid;

/// What to send for a synchronisation.
struct Plan {
    /// The first packet; `None` for a SNAP.
    first: Option<LeaderPacket>,
    /// Proposals and commits behind it.
    packets: Vec<LeaderPacket>,
    /// The last zxid that the learner has after these.
    sent: Zxid,
}

impl Server {
    /// LearnerHandler.syncFollower, atomic with propose and commit.
    pub(super) fn synchronise(
        &mut self,
        connection: LearnerConnection,
        last_zxid: Zxid,
        context: &mut Context<'_>,
    ) {
        let plan = self.plan_sync(last_zxid);
        let mode = match &plan.first {
            Some(LeaderPacket::Trunc(_)) => SyncMode::Trunc,
            Some(_) => SyncMode::Diff,
            None => SyncMode::Snap,
        };
        context.effects.event(Event::Synchronising { leader: self.id, learner: connection, mode });
        let Role::Leading(leader) = &mut self.role else { return };
        let handler = leader.handlers.get_mut(&connection).expect("a handler synchronises");
        handler.phase = match plan.first {
            Some(first) => {
                context.to_learner(connection, first);
                HandlerPhase::AwaitingAck
            }
            None => {
                context.effects.due(Step::Stream(connection));
                HandlerPhase::Streaming(Stream::default())
            }
        };
        for packet in plan.packets {
            handler.send(connection, packet, context);
        }
        // startForwarding: what is proposed and not committed; from here on the handler is among the
        // forwarding followers. (toBeApplied is always empty between steps.)
        for proposal in &leader.outstanding {
            if proposal.txn.zxid > plan.sent {
                handler.send(connection, LeaderPacket::Proposal(proposal.txn.clone()), context);
            }
        }
        // NEWLEADER goes behind all of it: where a SNAP is streamed, behind its end and behind what
        // is forwarded meanwhile, since the snapshot may hold that already (ZOOKEEPER-3104).
        if handler.phase == HandlerPhase::AwaitingAck {
            context.to_learner(connection, LeaderPacket::NewLeader(leader.epoch));
        }
    }

    /// The decision table of semantics 6.4; the first matching row wins.
    fn plan_sync(&self, learner: Zxid) -> Plan {
        let last_processed = self.tree.last_processed();
        let (min, max) = self.committed_log.bounds().unwrap_or((last_processed, last_processed));
        if last_processed == learner {
            let first = Some(LeaderPacket::Diff(learner));
            return Plan { first, packets: Vec::new(), sent: learner };
        }
        if learner > max && !learner.is_opening() {
            let first = Some(LeaderPacket::Trunc(max));
            return Plan { first, packets: Vec::new(), sent: max };
        }
        if (min..=max).contains(&learner)
            && let Some(plan) = self.walk_committed_log(learner, max)
        {
            return plan;
        }
        Plan { first: None, packets: Vec::new(), sent: last_processed }
    }

    /// Walks committedLog from the learner's zxid (semantics 6.4). `None`: the learner's zxid is not
    /// in the history and of another epoch, so only a SNAP will do.
    fn walk_committed_log(&self, learner: Zxid, max: Zxid) -> Option<Plan> {
        let mut plan = Plan { first: None, packets: Vec::new(), sent: learner };
        let mut previous = Zxid::ZERO;
        for txn in self.committed_log.iter() {
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
                plan.packets.push(LeaderPacket::Proposal(txn.clone()));
                plan.packets.push(LeaderPacket::Commit(txn.zxid));
                plan.sent = txn.zxid;
            }
        }
        if plan.first.is_none() && learner.is_opening() {
            plan.first = Some(LeaderPacket::Diff(max));
        }
        plan.first.is_some().then_some(plan)
    }

    /// Whether a piece of a SNAP can be streamed on this connection.
    pub fn can_stream(&self, connection: LearnerConnection) -> bool {
        let Role::Leading(leader) = &self.role else { return false };
        let handler = leader.handlers.get(&connection);
        handler.is_some_and(|handler| matches!(handler.phase, HandlerPhase::Streaming(_)))
    }

    /// Streams the next piece of a SNAP: first its label, which is read only now, and the sessions;
    /// then znodes, while transactions go on being applied (fuzzy); after the last piece the packets
    /// that were queued behind it, the commits of all that made it fuzzy among them, and NEWLEADER.
    pub fn stream_next(
        &mut self,
        connection: LearnerConnection,
        context: &mut Context<'_>,
    ) -> bool {
        let Role::Leading(leader) = &mut self.role else { return false };
        let epoch = leader.epoch;
        let Some(handler) = leader.handlers.get_mut(&connection) else { return false };
        let HandlerPhase::Streaming(stream) = &mut handler.phase else { return false };
        if !stream.started {
            stream.started = true;
            let sessions = self.tree.sessions().iter().map(|(id, timeout)| (*id, *timeout));
            context.to_learner(connection, LeaderPacket::Snap(self.tree.last_processed()));
            context.to_learner(connection, LeaderPacket::SnapSessions(sessions.collect()));
            context.effects.due(Step::Stream(connection));
            return true;
        }
        let size = context.config.snapshot_piece;
        let piece = self.tree.nodes_after(stream.cursor.as_ref(), size);
        let is_last = piece.len() < size;
        stream.cursor = piece.last().map(|(path, _)| path.clone()).or(stream.cursor.take());
        context.to_learner(connection, LeaderPacket::SnapNodes(piece));
        if is_last {
            let queued = std::mem::take(&mut stream.queued);
            handler.phase = HandlerPhase::AwaitingAck;
            context.to_learner(connection, LeaderPacket::SnapEnd);
            for packet in queued {
                context.to_learner(connection, packet);
            }
            context.to_learner(connection, LeaderPacket::NewLeader(epoch));
        } else {
            context.effects.due(Step::Stream(connection));
        }
        true
    }
}
