//! Leaving a role without the process ending (semantics 6.8), because of a failed fsync also.

use super::election::TIMERS;
use super::{Context, Role, Server};
use crate::vocabulary::effect::{Blocker, Effect};
use crate::vocabulary::event::{Event, SyncMode};
use crate::vocabulary::release::Bug;
use crate::vocabulary::timer::ServerTimer;
use std::sync::Arc;

impl Server {
    /// Goes back to LOOKING, keeping memory: stops serving; the log thread finishes its queue and
    /// fsyncs (ZOOKEEPER-4712); a half-done SNAP drops the tree (ZOOKEEPER-3642); otherwise every
    /// logged transaction is applied, committed or not (ZOOKEEPER-2845).
    pub fn leave_role(&mut self, reason: &'static str, context: &mut Context<'_>) {
        self.leave(reason, false, context);
    }

    fn leave(&mut self, reason: &'static str, drop_tree: bool, context: &mut Context<'_>) {
        context.effects.event(Event::LeftRole { server: self.id, reason });
        self.read_only = false;
        self.detach_all_clients(context);
        self.stop_timers(context);
        let reload = match std::mem::replace(&mut self.role, Role::Looking) {
            Role::Looking => false,
            Role::Following(learner) => {
                if let Some(connection) = learner.connection() {
                    context.network.close_by_learner(connection, context.effects);
                }
                match learner.unfinished_sync() {
                    Some(SyncMode::Snap) => true,
                    Some(SyncMode::Trunc) => {
                        !context.config.bugs.has(Bug::InterruptedTruncKeepsTree)
                    }
                    Some(SyncMode::Diff) | None => false,
                }
            }
            Role::Leading(leader) => {
                for connection in leader.connections() {
                    context.network.close_by_leader(connection, context.effects);
                }
                false
            }
        };
        if self.writing.take().is_some() {
            context.effects.push(Effect::Unblocked(Blocker::Busy(self.id)));
        }
        self.snapshot = None;
        self.finish_log_queue(context);
        if reload || drop_tree {
            self.reload(context);
        } else {
            self.fast_forward(context);
        }
        self.look(context);
    }

    /// The log thread's fsync fails (semantics 6.7). In HEAD that ends the thread: what waits for it is
    /// neither appended nor acknowledged any more, and the server's state is ERROR, for which its main
    /// thread leaves the role at the next packet or ping round. Until then it does what a server does
    /// whose fsync takes long, so both are one step here. Its connections are closed before the log
    /// thread is joined, so the second fsync that this tries brings no ack to anybody.
    ///
    /// Of what was appended, only the first so many transactions have reached the disk. Memory may
    /// have more (semantics 9 rule 6), see [`Bug::FsyncErrorKeepsMemory`].
    pub(crate) fn fsync_fails(&mut self, survive: u8, context: &mut Context<'_>) -> bool {
        if !self.can_fsync() {
            return false;
        }
        self.log_queue.clear();
        self.to_ack.clear();
        let lost = context.disk.make_mut().lose_unsynced(survive);
        context.effects.note(|| format!("the fsync of {} fails, and {lost} are lost", self.id));
        let drop_tree = !context.config.bugs.has(Bug::FsyncErrorKeepsMemory);
        self.leave("its fsync has failed", drop_tree, context);
        true
    }

    fn finish_log_queue(&mut self, context: &mut Context<'_>) {
        for txn in self.log_queue.drain(..) {
            context.disk.make_mut().append(txn);
        }
        self.to_ack.clear();
        if context.disk.unsynced() > 0 {
            context.disk.make_mut().fsync();
        }
    }

    /// Loads the database from disk: drops what memory had.
    pub(super) fn reload(&mut self, context: &mut Context<'_>) {
        let (tree, from) = context.disk.load();
        self.tree = Arc::new(tree);
        self.committed_log.clear();
        for txn in &context.disk.log()[from..] {
            self.committed_log.add(Arc::clone(txn), context.config);
        }
    }

    /// fastForwardDataBase: applies to memory all that the log has beyond it.
    fn fast_forward(&mut self, context: &mut Context<'_>) {
        let last = self.tree.last_processed();
        let from = context.disk.log().partition_point(|txn| txn.zxid <= last);
        for txn in &context.disk.log()[from..] {
            Arc::make_mut(&mut self.tree).apply(txn);
            self.committed_log.add(Arc::clone(txn), context.config);
        }
    }

    /// The process dies, and its timers with it: none of them may fire in its next life.
    pub(crate) fn die(&mut self, context: &mut Context<'_>) {
        for timer in TIMERS {
            context.disarm(timer);
        }
        if context.config.options.read_only_mode {
            context.disarm(ServerTimer::ReadOnly);
        }
        self.forget_all_local(context);
        self.stop_timers(context);
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
        if let Role::Leading(leader) = &self.role {
            if leader.watches_containers() {
                context.disarm(ServerTimer::Containers);
            }
            for connection in leader.connections() {
                context.disarm(ServerTimer::LearnerSilent(connection));
            }
            for session in leader.tracked_sessions() {
                context.disarm(ServerTimer::SessionExpiry(session));
            }
        }
    }
}
