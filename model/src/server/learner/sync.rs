//! Synchronisation from the learner's side: DIFF, TRUNC or SNAP, then NEWLEADER with its disk operations one after
//! the other, then UPTODATE (rule 6.6).

use super::Following;
use super::state::Phase;
use crate::server::context::{Context, Exit, Stays};
use crate::tree::DataTree;
use crate::vocabulary::event::{Event, SyncMode};
use crate::vocabulary::file_system::Writing;
use crate::vocabulary::packet::{LeaderPacket, LearnerPacket};
use crate::vocabulary::quorum::{Attached, QuorumVerifier};
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::timer::ServerTimer;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::{Epoch, Zxid};
use std::collections::VecDeque;
use std::sync::Arc;

impl Following<'_> {
    /// Handles DIFF, TRUNC or SNAP (rule 6.6.1).
    pub(super) fn begin_sync(&mut self, packet: LeaderPacket, context: &mut Context<'_>) {
        let learner = &mut *self.learner;
        match packet {
            LeaderPacket::Diff(end) => {
                if context.config.bugs.has(Bug::DiffMovesZxidAhead) {
                    self.database.tree_mut().set_last_processed(end);
                }
                learner.mode = Some(SyncMode::Diff);
                learner.phase = Phase::Synchronising;
            }
            LeaderPacket::Trunc(zxid) => {
                learner.mode = Some(SyncMode::Trunc);
                learner.phase = Phase::Synchronising;
                // FileSnap.close waits for the thread that is writing the previous tree.
                self.database.finish_snapshot(context);
                if !context.disk.make_mut().truncate(zxid, context.config) {
                    learner.ask_for_snapshot = true;
                    self.reconnect_for_snapshot(context);
                    return;
                }
                if let Err(reason) = self.database.reload(context) {
                    self.thread.exit = Some(Exit::NotLoaded(reason));
                    return;
                }
                self.database.tree_mut().set_last_processed(zxid);
            }
            LeaderPacket::Snap(label) => {
                learner.mode = Some(SyncMode::Snap);
                let mut tree = DataTree::empty();
                tree.set_last_processed(label);
                learner.phase = Phase::LoadingSnapshot(Box::new(tree));
            }
            _ => unreachable!("only a synchronisation's first packet comes here"),
        }
    }

    /// Reconnects to the same leader and claims an empty history, so that the leader sends a SNAP: the history up to
    /// the truncation point cannot be rebuilt here.
    fn reconnect_for_snapshot(&mut self, context: &mut Context<'_>) {
        let learner = &mut *self.learner;
        let connection = learner.connection.take().expect("it was reading from it");
        context.network.close_by_learner(connection, context.effects);
        learner.phase = Phase::Discovery;
        learner.mode = None;
        learner.not_logged.clear();
        learner.committed.clear();
        learner.attempts = 0;
        learner.connect_to_leader(self.observes, context);
    }

    /// Handles a COMMIT before NEWLEADER. In SNAP and TRUNC mode it is applied to memory immediately, because the
    /// snapshot to be written will contain it; in DIFF mode it is kept for the log (rule 6.6.2).
    pub(super) fn commit_while_synchronising(&mut self, zxid: Zxid, context: &mut Context<'_>) {
        let learner = &mut *self.learner;
        if learner.mode == Some(SyncMode::Diff) {
            learner.committed.push_back(zxid);
            return;
        }
        if learner.not_logged.front().is_some_and(|txn| txn.zxid == zxid) {
            let txn = learner.not_logged.pop_front().expect("just looked at it");
            self.database.apply(txn, context);
        }
    }

    /// Handles an INFORM before NEWLEADER. In SNAP and TRUNC mode it is applied to memory immediately; in DIFF mode it is
    /// kept (rule 5.7.5).
    pub(super) fn informed_while_synchronising(
        &mut self,
        txn: Arc<Txn>,
        context: &mut Context<'_>,
    ) {
        let learner = &mut *self.learner;
        if learner.mode == Some(SyncMode::Diff) {
            learner.committed.push_back(txn.zxid);
            learner.not_logged.push_back(txn);
        } else {
            self.database.apply(txn, context);
        }
    }

    /// Handles NEWLEADER: makes the synchronised history durable, then the epoch, then acknowledges, one disk
    /// operation after the other (rule 6.6.3).
    pub(super) fn new_leader(&mut self, epoch: Epoch, context: &mut Context<'_>) {
        let is_behind = !self.logs(context) && self.makes_durable(context);
        let learner = &mut *self.learner;
        debug_assert_eq!(epoch, learner.epoch, "NEWLEADER is of the epoch of LEADERINFO");
        learner.phase = Phase::Persisting;
        match learner.mode {
            Some(mode @ (SyncMode::Snap | SyncMode::Trunc)) => {
                // Only one snapshot is written at a time; that of a SNAP has another name until it is fsynced.
                self.database.finish_snapshot(context);
                if mode == SyncMode::Trunc {
                    context.open_snapshot(self.database.tree.last_processed());
                }
                self.thread.write(Writing::SyncSnapshot, context)
            }
            // Its log does not go as far as its memory, which is what it acknowledges.
            _ if is_behind => {
                self.database.finish_snapshot(context);
                context.open_snapshot(self.database.tree.last_processed());
                self.thread.write(Writing::SyncSnapshot, context);
            }
            _ => self.persist_history(context),
        }
    }

    /// Makes the transactions of the synchronisation durable, and the epoch: in this order, but in older releases in the
    /// other.
    fn persist_history(&mut self, context: &mut Context<'_>) {
        if is_epoch_first(context.config.bugs) {
            self.thread.write(Writing::CurrentEpochTmp, context);
        } else {
            self.persist_log(context);
        }
    }

    /// Begins to log the transactions of the synchronisation, by the packet thread or, in older releases, by the log
    /// thread.
    fn persist_log(&mut self, context: &mut Context<'_>) {
        let count = self.to_log_at_new_leader(context);
        if count == 0 {
            self.log_persisted(context);
        } else if is_by_log_thread(context.config.bugs) {
            let txns: Vec<_> = self.learner.not_logged.drain(..count).collect();
            for txn in txns {
                self.log_synchronised(&txn, context);
                self.log.push(txn, context);
            }
            self.log_persisted(context);
        } else {
            self.thread.write(Writing::SyncAppend, context);
        }
    }

    /// Returns how many of packetsNotLogged, from the first one, are logged at NEWLEADER: those that are committed, or all
    /// ([`Bug::PendingClearedAtNewLeader`]). A real observer logs nothing of a DIFF before it acknowledges (rule 5.7.5).
    fn to_log_at_new_leader(&self, context: &Context<'_>) -> usize {
        let (learner, bugs) = (&*self.learner, context.config.bugs);
        if !self.makes_durable(context) || bugs.has(Bug::DiffAckedUnlogged) {
            return 0;
        }
        if self.clears_pending(bugs) {
            return learner.not_logged.len();
        }
        let (proposed, committed) = (learner.not_logged.iter(), learner.committed.iter());
        proposed.zip(committed).take_while(|(txn, zxid)| txn.zxid == **zxid).count()
    }

    /// Returns true if the learner logs transactions (rule 5.7.7).
    fn logs(&self, context: &Context<'_>) -> bool {
        !self.observes || context.config.options.observer_sync_enabled
    }

    /// Returns true if the leader may count its acknowledgement of NEWLEADER: it votes in the configuration which that
    /// carries, although it observes in its own (rule 5.8.8).
    fn may_be_counted(&self, context: &Context<'_>) -> bool {
        !self.observes || context.configurations().last_seen.voters().contains(context.id)
    }

    /// Returns true if it makes the synchronised history durable before it acknowledges it. A real observer does not
    /// ([`Bug::ObserverEpochBeforeLog`], [`Bug::UnloggedObserverVotes`]).
    fn makes_durable(&self, context: &Context<'_>) -> bool {
        let bugs = context.config.bugs;
        if !self.observes {
            return true;
        }
        match self.logs(context) {
            true => !bugs.has(Bug::ObserverEpochBeforeLog),
            false => self.may_be_counted(context) && !bugs.has(Bug::UnloggedObserverVotes),
        }
    }

    /// Returns true if the learner forgets at NEWLEADER what is not committed ([`Bug::PendingClearedAtNewLeader`]). No release
    /// does so as an observer, which logs nothing at that time.
    fn clears_pending(&self, bugs: Bugs) -> bool {
        !self.observes && bugs.has(Bug::PendingClearedAtNewLeader)
    }

    /// Handles a transaction that is logged at NEWLEADER: it is committed and is applied, or becomes one of pendingTxns,
    /// which UPTODATE commits ([`Bug::PendingClearedAtNewLeader`]).
    fn log_synchronised(&mut self, txn: &Arc<Txn>, context: &mut Context<'_>) {
        let bugs = context.config.bugs;
        if self.clears_pending(bugs) {
            self.learner.pending.push_back(Arc::clone(txn));
            return;
        }
        let committed = self.learner.committed.pop_front();
        debug_assert_eq!(committed, Some(txn.zxid), "only what is committed is logged");
        if bugs.has(Bug::SyncSkipsCommittedLog) {
            self.database.tree_mut().apply(txn);
        } else {
            self.database.apply(Arc::clone(txn), context);
        }
    }

    /// Continues when the log is written, or is left to the log thread.
    fn log_persisted(&mut self, context: &mut Context<'_>) {
        if is_epoch_first(context.config.bugs) {
            self.acknowledge(context);
        } else {
            self.thread.write(Writing::CurrentEpochTmp, context);
        }
    }

    /// Acknowledges NEWLEADER; if the log thread may overtake, in a step of its own. Unless that step need not wait for
    /// the log thread ([`Bug::NewLeaderAckedBeforeFsync`]), the thread's last fsync makes it due.
    fn acknowledge(&mut self, context: &mut Context<'_>) {
        let bugs = context.config.bugs;
        if !bugs.has(Bug::ProposalsAckedFirst) || self.log.is_idle() {
            self.ack_new_leader(context);
        } else if bugs.has(Bug::NewLeaderAckedBeforeFsync) {
            self.thread.write(Writing::NewLeaderAck, context);
        } else {
            self.thread.hold(Writing::NewLeaderAck);
        }
    }

    /// Handles the completion of a disk operation of the packet thread.
    pub(in crate::server) fn wrote(&mut self, writing: Writing, context: &mut Context<'_>) {
        let learner = &mut *self.learner;
        match writing {
            Writing::AcceptedEpoch => {
                context.disk.make_mut().write_accepted_epoch(learner.epoch);
                let current = context.disk.current_epoch();
                self.ack_epoch(Some(current), context);
            }
            Writing::SyncSnapshot => {
                let is_snap = learner.mode == Some(SyncMode::Snap);
                self.store_sync_snapshot(is_snap, context);
                self.persist_history(context);
            }
            Writing::SyncAppend => self.append_synchronised(context),
            Writing::SyncFsync => {
                context.disk.make_mut().fsync();
                self.log_persisted(context);
            }
            Writing::CurrentEpochTmp => {
                context.disk.make_mut().write_current_epoch_tmp(learner.epoch);
                self.thread.write(Writing::CurrentEpoch, context);
            }
            Writing::CurrentEpoch => {
                context.disk.make_mut().rename_current_epoch();
                if is_epoch_first(context.config.bugs) {
                    self.persist_log(context);
                } else {
                    self.acknowledge(context);
                }
            }
            Writing::NewLeaderAck => self.ack_new_leader(context),
            Writing::LeadSnapshot => unreachable!("only a leader writes this"),
        }
        // If no disk operation follows, it reads again.
        self.learner.be_patient(context);
    }

    /// Stores the snapshot of NEWLEADER. If the log has a gap before it (always after a SNAP; after a TRUNC if
    /// anything was committed before NEWLEADER), the snapshot is fsynced and replaces the log (see
    /// [`Bug::TruncSnapshotUnsynced`]).
    fn store_sync_snapshot(&mut self, is_snap: bool, context: &mut Context<'_>) {
        let bugs = context.config.bugs;
        let is_ahead_of_log = self.database.tree.last_processed() > context.disk.last_logged();
        let has_gap = is_snap || is_ahead_of_log && !bugs.has(Bug::TruncSnapshotUnsynced);
        let is_fsynced = has_gap && !(is_snap && bugs.has(Bug::SnapNotFsynced));
        let snapshot = self.database.whole_snapshot(is_fsynced);
        if has_gap {
            context.disk.make_mut().replace_by_snapshot(snapshot, bugs);
        } else {
            context.disk.make_mut().add_snapshot(snapshot, bugs);
        }
        self.log.logged_since_snapshot = 0;
    }

    /// Appends the next transaction of packetsNotLogged that is logged at NEWLEADER.
    fn append_synchronised(&mut self, context: &mut Context<'_>) {
        let txn = self.learner.not_logged.pop_front().expect("there was one to append");
        context.disk.make_mut().append(Arc::clone(&txn));
        self.log_synchronised(&txn, context);
        let next = match self.to_log_at_new_leader(context) {
            0 => Writing::SyncFsync,
            _ => Writing::SyncAppend,
        };
        self.thread.write(next, context);
    }

    fn ack_new_leader(&mut self, context: &mut Context<'_>) {
        let may_be_counted = self.may_be_counted(context);
        let learner = &mut *self.learner;
        learner.phase = Phase::AwaitingUpToDate;
        learner.mode = None;
        let connection = learner.connected();
        // What no quorum counts promises nothing.
        if may_be_counted {
            let applied = self.database.tree.last_processed();
            let history = learner.committed.back().copied().unwrap_or_default().max(applied);
            context.effects.event(Event::AckedNewLeader {
                server: context.id,
                epoch: learner.epoch,
                history,
                durable: context.disk.last_durable(),
                current_epoch: context.disk.current_epoch(),
            });
        }
        context.to_leader(connection, LearnerPacket::Ack(learner.epoch.opening()));
        context.disarm(ServerTimer::InitLimit);
    }

    /// Handles UPTODATE: begins to serve, logs the proposals, and commits what is committed (rule 6.6.4).
    pub(super) fn up_to_date(
        &mut self,
        committed: Attached<QuorumVerifier>,
        context: &mut Context<'_>,
    ) -> Stays {
        self.activate_new_leaders(committed, context)?;
        let learner = &mut *self.learner;
        let connection = learner.connected();
        let epoch = learner.epoch;
        let logged: Vec<_> = learner.pending.iter().map(|txn| txn.zxid).collect();
        let not_logged = std::mem::take(&mut learner.not_logged);
        let committed = std::mem::take(&mut learner.committed);
        context.to_leader(connection, LearnerPacket::Ack(epoch.opening()));
        // What the packet thread has logged is acknowledged now; the log thread acknowledges by itself.
        if !is_by_log_thread(context.config.bugs) {
            for zxid in logged {
                let durable = context.disk.last_durable();
                context.effects.event(Event::Acked { server: context.id, zxid, durable });
                context.to_leader(connection, LearnerPacket::Ack(zxid));
            }
        }
        self.election.established_in(epoch, context.config);
        let (not_logged, informed) = match self.observes {
            true => (VecDeque::new(), not_logged),
            false => (not_logged, VecDeque::new()),
        };
        for txn in not_logged {
            self.log_proposal(txn, context);
        }
        // It serves from the present tree, before these commits are applied (rule 6.6.4).
        self.learner.phase = Phase::Broadcast;
        context.effects.event(Event::Serving {
            server: context.id,
            zxid: self.database.tree.last_processed(),
            digest: self.database.tree.digest(),
        });
        if self.observes {
            self.commit_kept(informed, committed, context);
            return Ok(());
        }
        for zxid in committed {
            self.commit_pending(zxid, context);
        }
        self.begin_master(context);
        Ok(())
    }

    /// Logs and commits what an observer has kept until UPTODATE (rule 5.7.5).
    fn commit_kept(
        &mut self,
        kept: VecDeque<Arc<Txn>>,
        mut committed: VecDeque<Zxid>,
        context: &mut Context<'_>,
    ) {
        let forgets = context.config.bugs.has(Bug::PlantedInformsForgotten);
        for txn in kept.into_iter().filter(|_| !forgets) {
            if committed.front() == Some(&txn.zxid) {
                committed.pop_front();
                self.commit_informed(txn, context);
            }
        }
    }
}

/// Returns true if currentEpoch is written before the transactions of the synchronisation.
fn is_epoch_first(bugs: Bugs) -> bool {
    bugs.has(Bug::EpochBeforeLog) || is_by_log_thread(bugs)
}

/// Returns true if the log thread logs a DIFF at NEWLEADER.
fn is_by_log_thread(bugs: Bugs) -> bool {
    bugs.has(Bug::NewLeaderAckedBeforeFsync) || bugs.has(Bug::ProposalsAckedFirst)
}
