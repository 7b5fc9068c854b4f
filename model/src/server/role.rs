//! Taking a role, and leaving it while the process continues (rule 6.8), also after a failed fsync.

use super::context::{Exit, Leave, Stays};
use super::election::{Decision, TIMERS};
use super::leader::Leader;
use super::learner::Learner;
use super::{Context, InRole, Role, Server};
use crate::vocabulary::effect::{Blocker, Effect};
use crate::vocabulary::event::{Event, SyncMode, WRITE_FAILED};
use crate::vocabulary::id::ServerId;
use crate::vocabulary::note::Note;
use crate::vocabulary::packet::Vote;
use crate::vocabulary::release::Bug;
use crate::vocabulary::step::Unwritten;
use crate::vocabulary::timer::ServerTimer;

impl Server {
    /// Returns its vote for itself: (current epoch, the *tree's* last zxid, id) (rule 5.1.3).
    pub(super) fn own_vote(&self, context: &Context<'_>) -> Vote {
        self.vote(context.disk.current_epoch())
    }

    /// Begins an election.
    pub(super) fn look(&mut self, context: &mut Context<'_>) {
        let own = self.own_vote(context);
        match self.in_role() {
            InRole::Looking(mut looking) => looking.look(own, context),
            _ => unreachable!("{}: it looks for a leader without any role", context.id),
        }
    }

    /// Begins to lead, to follow or to observe.
    pub(super) fn take_role(&mut self, decision: Decision, context: &mut Context<'_>) {
        assert!(
            self.is_looking(),
            "{}: only a LOOKING server can be elected or follow",
            context.id
        );
        for timer in TIMERS {
            context.disarm(timer);
        }
        self.clients.end_read_only(context);
        let Decision { leader, round } = decision;
        context.effects.event(Event::Elected { server: self.id, leader, round });
        self.begin_role(leader, context);
    }

    /// Begins to lead, or to learn from this leader. A server finds the leader's address in its committed configuration
    /// only (rule 5.8.7).
    fn begin_role(&mut self, leader: ServerId, context: &mut Context<'_>) {
        if leader == self.id {
            let leader = Leader::begin(&mut self.database, &mut self.thread, context);
            self.role = Role::Leading(Box::new(leader));
            return;
        }
        let observes = self.election.part.observes();
        let has_address = context.configurations().quorum.has_member(leader);
        let learner = match has_address {
            true => Learner::begin(leader, observes, context),
            false => Learner::new(leader),
        };
        self.role = match observes {
            true => Role::Observing(learner),
            false => Role::Following(learner),
        };
        if !has_address {
            self.leave_role("its configuration does not list the leader", context);
        }
    }

    /// Begins an election, or the role that a reconfiguration gives the server (`updateServerState`).
    fn look_or_take_designated_role(&mut self, context: &mut Context<'_>) {
        let Some(leader) = self.election.take_designated() else {
            self.look(context);
            return;
        };
        context.effects.event(Event::Designated { server: self.id, leader });
        self.begin_role(leader, context);
    }

    /// Leaves the role if its code demands it.
    pub(super) fn stay_or_leave(&mut self, stays: Stays, context: &mut Context<'_>) {
        if let Err(Leave(reason)) = stays {
            self.leave_role(reason, context);
        }
    }

    /// Returns to LOOKING and keeps the memory (rule 5.5.1). A server that served stops serving: the log thread
    /// finishes its queue and fsyncs (ZOOKEEPER-4712), and every logged transaction is applied, committed or not
    /// (ZOOKEEPER-2845). A server that did not serve yet has no such work, and HEAD does not do it (rule 6.8.5); an
    /// incomplete SNAP drops the tree (rule 6.8.4).
    pub(crate) fn leave_role(&mut self, reason: &'static str, context: &mut Context<'_>) {
        self.leave(reason, false, context);
    }

    fn leave(&mut self, reason: &'static str, drop_tree: bool, context: &mut Context<'_>) {
        context.effects.event(Event::LeftRole { server: self.id, reason });
        let served = self.is_serving();
        self.clients.read_only = false;
        self.clients.detach_all_clients(context);
        self.stop_timers(context);
        let was_learner = matches!(self.role, Role::Following(_) | Role::Observing(_));
        let observed = matches!(self.role, Role::Observing(_));
        let votes = self.votes_after_unlogged(observed, context);
        let reload = self.hang_up(context) || drop_tree || votes;
        if self.thread.writing.take().is_some() {
            context.effects.push(Effect::Unblocked(Blocker::Busy(self.id)));
        }
        if let Some(txn) = self.commits.under_way() {
            self.database.leave_rest_of(txn, context);
        }
        self.commits.end();
        let bugs = context.config.bugs;
        let takes_tree_first = was_learner && bugs.has(Bug::TreeTakenBeforeLogEnds);
        let mut loaded = match (reload, served) {
            (false, true) if takes_tree_first => self.database.fast_forward(context),
            _ => Ok(()),
        };
        self.end_log_thread(was_learner, served, context);
        if served && !bugs.has(Bug::SnapshotOutlivesRole) {
            self.database.finish_snapshot(context);
        }
        if loaded.is_ok() {
            loaded = match (reload, served) {
                (true, _) => self.database.reload(context),
                (false, true) if takes_tree_first || bugs.has(Bug::TailNotApplied) => Ok(()),
                (false, true) => self.database.fast_forward(context),
                (false, false) => Ok(()),
            };
        }
        if let Err(reason) = loaded {
            self.thread.exit = Some(Exit::NotLoaded(reason));
            return;
        }
        self.look_or_take_designated_role(context);
    }

    /// Returns true if a server that observed without a log is to vote now: it must claim no more than it has on disk, so
    /// it loads its database from there (see [`Bug::UnloggedObserverVotes`]).
    pub(super) fn votes_after_unlogged(&self, observed: bool, context: &Context<'_>) -> bool {
        observed
            && !self.election.part.observes()
            && !context.config.options.observer_sync_enabled
            && !context.config.bugs.has(Bug::UnloggedObserverVotes)
    }

    /// Closes the connections of its role, and becomes LOOKING. Returns true if the tree must be loaded from disk, because
    /// a synchronisation was broken off (rule 6.8.4).
    fn hang_up(&mut self, context: &mut Context<'_>) -> bool {
        let bugs = context.config.bugs;
        let learner = match std::mem::replace(&mut self.role, Role::Looking) {
            Role::Looking => return false,
            Role::Leading(leader) => {
                for connection in leader.connections() {
                    context.network.close_by_leader(connection, context.effects);
                }
                return false;
            }
            Role::Following(learner) | Role::Observing(learner) => learner,
        };
        let (mut learner, left) = (learner, &mut self.left);
        if let Some(master) = learner.master.0.take() {
            master.end(left, context);
        }
        if let Some(connection) = learner.connection() {
            context.network.close_by_learner(connection, context.effects);
        }
        match learner.unfinished_sync() {
            Some(SyncMode::Snap) if bugs.has(Bug::InterruptedSnapKeepsTree) => {
                if let Some(partial) = learner.into_partial_tree() {
                    self.database.replace_tree(partial);
                    self.database.committed_log.clear();
                }
                false
            }
            Some(SyncMode::Snap) => true,
            Some(SyncMode::Trunc) => !bugs.has(Bug::InterruptedTruncKeepsTree),
            Some(SyncMode::Diff) | None => false,
        }
    }

    /// Ends the log thread with its role (rules 6.8.1 and 6.8.7).
    fn end_log_thread(&mut self, was_learner: bool, served: bool, context: &mut Context<'_>) {
        if was_learner && context.config.bugs.has(Bug::LogThreadOutlivesRole) {
            self.log.outlive();
        } else if served || !self.log.is_idle() {
            self.log.finish(context);
        }
        // Without a log thread the server fsyncs its appends before it reads on, and cannot leave in between (rule 6.6.3).
        if !served && !self.log.can_fsync() {
            let unsynced = context.disk.unsynced();
            assert_eq!(unsynced, 0, "{}: unsynced records remain after the role ended", self.id);
        }
    }

    /// Fails an fsync of the log, or a write to it (rule 6.7.6). In a synchronisation it is the packet thread's,
    /// which leaves the role. Otherwise it is the log thread's. In HEAD that ends the thread: queued transactions are
    /// neither appended nor acknowledged any more. The server's state is ERROR, so its main thread leaves the role at
    /// the next packet or ping round. Until then it behaves like a server whose fsync takes long, so both are one
    /// step here. Its connections are closed before the log thread is joined, so the second fsync, which that
    /// attempts, sends no acks.
    ///
    /// Of the appended transactions, only the first `survive` have reached the disk. Memory may have more (rule
    /// 4.5.3), see [`Bug::FsyncErrorKeepsMemory`]; for the others see [`Bug::TornRecordHidesLog`] and
    /// [`Bug::FailedWriteComesLater`].
    ///
    /// If a snapshot was being written, the process exits (rule 6.9.11).
    pub(crate) fn fsync_fails(&mut self, survive: u8, rest: Unwritten, context: &mut Context<'_>) {
        assert!(self.can_fail_to_write(context.disk), "{}: it has nothing to write", self.id);
        if !self.writes_log() {
            context.effects.note(|| Note::SnapshotNotWritten { server: self.id });
            self.thread.exit = Some(Exit::SnapshotNotWritten);
            return;
        }
        self.log.end();
        let lost = context.disk.make_mut().fail_to_fsync(survive, rest, context.config.bugs);
        context.effects.note(|| Note::FsyncFailed { server: self.id, lost, rest });
        let drop_tree = !context.config.bugs.has(Bug::FsyncErrorKeepsMemory);
        self.leave(WRITE_FAILED, drop_tree, context);
    }

    /// Ends the process and disarms its timers, so that none fires after the next start.
    pub(crate) fn die(&mut self, context: &mut Context<'_>) {
        for timer in TIMERS {
            context.disarm(timer);
        }
        if context.config.options.read_only_mode {
            context.disarm(ServerTimer::ReadOnly);
        }
        self.clients.forget_all_local(context);
        self.stop_timers(context);
        self.left.end_all(context);
        if let Role::Following(learner) = &self.role
            && let Some(master) = &learner.master.0
        {
            master.die(context);
        }
    }

    fn stop_timers(&mut self, context: &mut Context<'_>) {
        for timer in [
            ServerTimer::ConnectLeader,
            ServerTimer::InitLimit,
            ServerTimer::LeaderSilent,
            ServerTimer::Ping,
        ] {
            context.disarm(timer);
        }
        if let Role::Observing(learner) = &self.role {
            learner.choose_no_master(context);
        }
        if let Role::Leading(leader) = &self.role {
            leader.container_timers().for_each(|timer| context.disarm(timer));
            for (connection, handler) in &leader.handlers {
                handler.stop_timers(*connection, context);
            }
            for session in leader.tracked_sessions() {
                context.disarm(ServerTimer::SessionExpiry(session));
            }
        }
    }
}
