//! The steps of a server, with a method for each. These methods dispatch to the role, whose code gets the borrowed
//! parts. A step that can arrive in a role that it was not meant for is refused here, with the reason; one that
//! cannot is an assertion.
//!
//! Callers must check first that the step is possible (`enabled`).

use super::commit_processor::Committed;
use super::context::Leave;
use super::observer_master::Stored;
use super::{Context, InRole, Role, Server, Writing};
use crate::network::Delivered;
use crate::vocabulary::effect::{Blocker, Effect};
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{LearnerConnection, ServerId, SessionId};
use crate::vocabulary::note::Note;
use crate::vocabulary::packet::{LeaderPacket, LearnerPacket, Notification};
use crate::vocabulary::release::Bug;
use crate::vocabulary::step::Step;
use crate::vocabulary::timer::ServerTimer;
use std::sync::Arc;

impl Server {
    // ---- what is read ----

    /// Handles an election notification. It matters in every role: a server that follows or leads tells a LOOKING
    /// server its leader.
    pub(crate) fn notification(
        &mut self,
        from: ServerId,
        notification: Notification,
        context: &mut Context<'_>,
    ) {
        if self.takes_configuration(&notification, context) {
            return;
        }
        let own = self.own_vote(context);
        let state = self.peer_state();
        if let Some(decision) = self.election.notification(from, notification, state, own, context)
        {
            self.take_role(decision, context);
        }
    }

    /// Reads from a learner's connection.
    pub(crate) fn read_from_learner(
        &mut self,
        connection: LearnerConnection,
        delivered: Delivered<LearnerPacket>,
        context: &mut Context<'_>,
    ) {
        if self.left.has(connection) {
            let stored = Stored { database: &self.database, commits: &self.commits };
            self.left.read(connection, delivered, &stored, context);
            return;
        }
        match self.in_role() {
            InRole::Leading(leading) if leading.refuses(connection, &delivered, context) => {
                context.network.close_by_leader(connection, context.effects);
            }
            InRole::Following(mut following) if context.config.has_observer_masters() => {
                following.read_from_observer(connection, delivered, context);
            }
            InRole::Leading(mut leading) => {
                let stays = leading.read_from_learner(connection, delivered, context);
                self.stay_or_leave(stays, context);
            }
            // The learner considers this server the leader, but it does not lead, or no longer: its port is closed,
            // and the connection is refused.
            InRole::Looking(_) | InRole::Following(_) => {
                context.network.close_by_leader(connection, context.effects);
            }
        }
    }

    /// Reads from the connection to the leader. A learner that leaves its role closes the connection.
    pub(crate) fn read_from_leader(
        &mut self,
        connection: LearnerConnection,
        delivered: Delivered<LeaderPacket>,
        context: &mut Context<'_>,
    ) {
        let InRole::Following(mut following) = self.in_role() else {
            unreachable!("{}: only a learner has a connection to a leader", context.id)
        };
        let stays = following.read_from_leader(connection, delivered, context);
        self.stay_or_leave(stays, context);
    }

    // ---- time ----

    /// Handles a timer of this server, which must have a meaning now.
    pub(crate) fn timer(&mut self, timer: ServerTimer, context: &mut Context<'_>) {
        if let ServerTimer::SessionExpiry(session) = timer
            && self.clients.local.contains(session)
        {
            self.clients.expire_local(session, context);
            return;
        }
        if let ServerTimer::LearnerSilent(connection) = timer
            && self.left.has(connection)
        {
            self.left.end(connection, context);
            return;
        }
        let stays = match (timer, self.in_role()) {
            (ServerTimer::Notification, InRole::Looking(mut looking)) => {
                looking.notification_timeout(context);
                Ok(())
            }
            (ServerTimer::Finalize, InRole::Looking(mut looking)) => {
                let decision = looking.finalize();
                self.take_role(decision, context);
                Ok(())
            }
            (ServerTimer::ReadOnly, InRole::Looking(mut looking)) => {
                looking.begin_read_only(context);
                Ok(())
            }
            (ServerTimer::ConnectLeader, InRole::Following(following)) => {
                following.learner.connect_to_leader(following.observes, context);
                Ok(())
            }
            (ServerTimer::ConnectMaster(voter), InRole::Following(following)) => {
                following.learner.connect_to_master(voter, context);
                Ok(())
            }
            (ServerTimer::Ping, InRole::Following(mut following)) => {
                following.ping_observers(context);
                Ok(())
            }
            (ServerTimer::LearnerSilent(connection), InRole::Following(mut following)) => {
                following.drop_observer(connection, context);
                Ok(())
            }
            (ServerTimer::InitLimit, InRole::Following(_) | InRole::Leading(_)) => {
                Err(Leave("initLimit ticks without synchronisation"))
            }
            (ServerTimer::LeaderSilent, InRole::Following(_)) => {
                Err(Leave("nothing read from the leader for syncLimit ticks"))
            }
            (ServerTimer::LearnerSilent(connection), InRole::Leading(mut leading)) => {
                leading.drop_handler(connection, context);
                Ok(())
            }
            (ServerTimer::AckDeadline(connection), InRole::Leading(leading)) => {
                leading.leader.is_overdue(connection);
                Ok(())
            }
            (ServerTimer::Unacknowledged(connection, watched), InRole::Leading(leading)) => {
                leading.leader.is_late(connection, watched);
                Ok(())
            }
            (ServerTimer::Ping, InRole::Leading(mut leading)) => leading.ping_round(context),
            (ServerTimer::Containers, InRole::Leading(mut leading)) => {
                leading.check_containers(context)
            }
            (ServerTimer::DeleteContainer, InRole::Leading(mut leading)) => {
                leading.delete_next_container(context)
            }
            (ServerTimer::SessionExpiry(session), InRole::Leading(mut leading)) => {
                leading.expire_session(session, context)
            }
            _ => unreachable!("{}: {timer:?} means nothing in its role", context.id),
        };
        self.stay_or_leave(stays, context);
    }

    // ---- threads and disks ----

    /// Appends the next transaction in the log thread; it is not durable yet.
    pub(crate) fn append_next(&mut self, context: &mut Context<'_>) {
        self.log.append_next(context);
        self.planted_ack(context);
        let may_begin = self.is_serving() && !self.database.is_writing_snapshot();
        if self.log.count_for_snapshot(may_begin, context) {
            self.database.begin_snapshot(context);
        }
    }

    /// Plants [`Bug::PlantedAckBeforeFsync`] and [`Bug::PlantedLeaderAckBeforeFsync`]: the fsync acknowledges the
    /// transaction once more.
    fn planted_ack(&mut self, context: &mut Context<'_>) {
        let bugs = context.config.bugs;
        let Some(zxid) = self.log.to_ack.last().copied() else { return };
        match self.in_role() {
            InRole::Following(following)
                if bugs.has(Bug::PlantedAckBeforeFsync) && !following.observes =>
            {
                following.learner.ack(zxid, context);
            }
            InRole::Leading(mut leading) if bugs.has(Bug::PlantedLeaderAckBeforeFsync) => {
                leading.process_ack(context.id, zxid, context);
            }
            _ => {}
        }
    }

    /// Completes the log thread's fsync; only now are acks sent (rules 4.4.2 and 4.5.1).
    pub(crate) fn fsync(&mut self, context: &mut Context<'_>) {
        let snapshot_waits = self.database.snapshot_waits(context.disk);
        let to_ack = self.log.fsync(context);
        // The packet thread has waited for the log thread (ProposalsAckedFirst).
        if self.thread.writing == Some(Writing::NewLeaderAck) && self.log.is_idle() {
            context.effects.due(Step::Write(context.id));
        }
        if snapshot_waits && self.database.can_snapshot(context.disk) {
            context.effects.due(Step::Snapshot(context.id));
        }
        let durable = context.disk.last_durable();
        // An observer's log thread acknowledges nothing (rule 5.7.6).
        if matches!(self.role, Role::Observing(_)) {
            return;
        }
        for zxid in to_ack {
            context.effects.event(Event::Acked { server: self.id, zxid, durable });
            match self.in_role() {
                InRole::Following(following) => following.learner.ack(zxid, context),
                InRole::Leading(mut leading) => leading.process_ack(context.id, zxid, context),
                InRole::Looking(_) => unreachable!("leaving a role empties the log thread"),
            }
        }
    }

    /// Applies the next transaction in the CommitProcessor, or answers the next sync (rule 4.5.8).
    ///
    /// # Panics
    /// If there is none, or the server is LOOKING: the queue of a role must not outlive it.
    pub(crate) fn apply_next(&mut self, context: &mut Context<'_>) {
        let is_looking = matches!(self.role, Role::Looking);
        assert!(!is_looking, "{}: leaving a role ends its CommitProcessor", context.id);
        match self.commits.take(context) {
            Committed::Txn(txn) => {
                let is_serving = self.is_serving();
                let applied = self.database.commit(&txn, context);
                if let InRole::Leading(mut leading) = self.in_role() {
                    leading.applied(&txn, context);
                }
                self.serving().deliver(&txn, applied, is_serving, context);
            }
            Committed::Sync(session, xid) => self.serving().synced(session, xid, context),
        }
    }

    /// Lets the CommitProcessor miss the wake-up for its newest entry (ZOOKEEPER-4537).
    pub(crate) fn miss_wake_up(&mut self, _context: &mut Context<'_>) {
        self.commits.miss_wake_up();
    }

    /// Applies the rest of a transaction in the thread of an earlier role, and fires watches as if the transaction
    /// were new.
    pub(crate) fn apply_rest(&mut self, context: &mut Context<'_>) {
        let (txn, changes) = self.database.apply_rest();
        context.effects.note(|| Note::AppliedRest { server: context.id, txn: Arc::clone(&txn) });
        self.serving().fire(&txn, &changes, context);
    }

    /// Applies all commits of a step, if their application is not a step of its own.
    pub(crate) fn apply_at_once(&mut self, context: &mut Context<'_>) {
        while !self.commits.is_empty() {
            self.apply_next(context);
        }
    }

    /// Completes the packet thread's disk operation.
    pub(crate) fn write_completes(&mut self, context: &mut Context<'_>) {
        let writing = self.thread.writing.take().expect("the packet thread waits for its disk");
        context.effects.note(|| Note::Written { server: self.id, writing: writing.clone() });
        match self.in_role() {
            InRole::Looking(_) => unreachable!("leaving a role cancels its writes"),
            InRole::Following(mut following) => following.wrote(writing, context),
            InRole::Leading(mut leading) => leading.wrote(writing, context),
        }
        // Blocked readers try again; the packet thread may be waiting for its disk again by then.
        context.effects.push(Effect::Unblocked(Blocker::Busy(context.id)));
    }

    /// Writes the next piece of the background snapshot, or completes it.
    pub(crate) fn snapshot_next(&mut self, context: &mut Context<'_>) {
        self.database.snapshot_next(context);
    }

    /// Streams the next piece to the learner of this connection.
    pub(crate) fn stream_next(&mut self, connection: LearnerConnection, context: &mut Context<'_>) {
        if self.left.has(connection) {
            self.left.stream_next(connection, &self.database, context);
            return;
        }
        match self.in_role() {
            InRole::Leading(mut leading) => leading.stream_next(connection, context),
            InRole::Following(mut following) => following.stream_to_observer(connection, context),
            InRole::Looking(_) => unreachable!("{}: a LOOKING server streams nothing", context.id),
        }
    }

    // ---- faults, and searches without programs ----

    /// Proposes a write without a client, for searches without programs.
    pub(crate) fn propose_write(&mut self, context: &mut Context<'_>) {
        let InRole::Leading(mut leading) = self.in_role() else {
            unreachable!("{}: only a leader proposes", context.id)
        };
        let stays = leading.propose_write(context);
        self.stay_or_leave(stays, context);
    }

    /// Proposes a reconfiguration without a client, for searches without programs.
    pub(crate) fn propose_reconfiguration(
        &mut self,
        joins: ServerId,
        leaves: ServerId,
        context: &mut Context<'_>,
    ) {
        let InRole::Leading(mut leading) = self.in_role() else {
            unreachable!("{}: only a leader proposes", context.id)
        };
        let stays = leading.propose_reconfiguration(joins, leaves, context);
        self.stay_or_leave(stays, context);
    }

    /// Expires a session, whenever its last packet arrived: a fault.
    pub(crate) fn expire(&mut self, session: SessionId, context: &mut Context<'_>) {
        let InRole::Leading(mut leading) = self.in_role() else {
            unreachable!("{}: only a leader takes a session for expired", context.id)
        };
        let stays = leading.expire_session(session, context);
        self.stay_or_leave(stays, context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;
    use crate::server::disk::Disk;
    use crate::tree::{DataTree, EphemeralType, Znode};
    use crate::vocabulary::acl::AclList;
    use crate::vocabulary::config::Config;
    use crate::vocabulary::effect::Effects;
    use crate::vocabulary::error::Error;
    use crate::vocabulary::fingerprint::Tracked;
    use crate::vocabulary::id::Xid;
    use crate::vocabulary::path::ZnodePath;
    use crate::vocabulary::release::Bugs;
    use crate::vocabulary::time::Time;
    use crate::vocabulary::txn::{Txn, TxnBody};
    use crate::vocabulary::zxid::{Epoch, Zxid};
    use std::sync::Arc;

    /// Runs this on a server that has just started, and is LOOKING.
    fn while_looking(run: impl FnOnce(&mut Server, &mut Context<'_>)) {
        while_looking_with(Bugs::NONE, run);
    }

    /// Like `while_looking`, with these defects.
    fn while_looking_with(bugs: Bugs, run: impl FnOnce(&mut Server, &mut Context<'_>)) {
        let config = Config { bugs, ..Config::new(3, 0) };
        let mut network = Network::new(3, 0);
        let mut disk = Tracked::new(
            Disk::new(Arc::new(config.first_tree()), config.bugs)
                .with_file_system(config.file_system()),
        );
        let mut effects = Effects::default();
        let mut context = Context {
            at: Time::ZERO,
            id: ServerId(1),
            config: &config,
            network: &mut network,
            disk: &mut disk,
            effects: &mut effects,
        };
        let mut server = Server::boot(&mut context).expect("an empty disk is no reason to refuse");
        run(&mut server, &mut context);
    }

    /// Transaction 1:1.
    fn first() -> Arc<Txn> {
        let (zxid, body) = (Zxid::new(Epoch(1), 1), TxnBody::Error(Error::NoNode));
        Arc::new(Txn { zxid, session: SessionId(1), cxid: Xid(0), time: 0, body })
    }

    /// The only snapshot is being rewritten when the tree is to be loaded from it.
    #[test]
    fn a_database_without_a_snapshot_is_loaded_only_where_there_is_no_log() {
        while_looking(|server, context| {
            let in_place = Bugs::NONE.with(Bug::SnapshotWrittenInPlace);
            let _ = context.disk.make_mut().open_snapshot(Zxid::ZERO, in_place);
            let mut empty = context.disk.clone();
            context.disk.make_mut().append(first());
            let refused = server.database.reload(context);
            assert_eq!(refused, Err("no snapshot was found, but there is a log"));
            std::mem::swap(context.disk, &mut empty);
            assert_eq!(server.database.reload(context), Ok(()));
            assert_eq!(server.database.tree.last_processed(), Zxid::ZERO);
        });
    }

    /// The database has another tree before its snapshot is complete, mostly because of a SNAP.
    #[test]
    fn a_snapshot_in_progress_goes_on_with_its_tree() {
        while_looking(|server, context| {
            let node = |path: &str| {
                let path = ZnodePath::new(path).expect("valid");
                let (zxid, acl) = (Zxid::new(Epoch(1), 1), AclList::OPEN);
                let node = Znode::created(zxid, 0, [].into(), EphemeralType::Void, acl);
                (path, Arc::new(node))
            };
            for (path, node) in ["/a", "/b", "/c", "/d", "/e", "/f"].map(node) {
                server.database.tree_mut().load_node(path, node);
            }
            server.database.tree_mut().set_last_processed(Zxid::new(Epoch(1), 1));
            // Otherwise it waits for the log.
            context.disk.make_mut().append(first());
            context.disk.make_mut().fsync();
            let digest = server.database.tree.digest();
            server.database.begin_snapshot(context);
            server.database.snapshot_next(context);
            server.database.replace_tree(DataTree::new());
            server.database.finish_snapshot(context);
            let (tree, _) = context.disk.load().expect("it was written");
            assert_eq!((tree.last_processed().counter(), tree.digest()), (1, digest));
        });
    }

    /// A multi with this number that deletes `/a` and `/b`, in that order.
    fn deletes(counter: u32) -> Arc<Txn> {
        let path = |text: &str| ZnodePath::new(text.to_owned()).expect("valid");
        let parts = ["/a", "/b"].map(|it| TxnBody::Delete { path: path(it) });
        let body = TxnBody::Multi(parts.to_vec());
        Arc::new(Txn { zxid: Zxid::new(Epoch(1), counter), body, ..Txn::clone(&first()) })
    }

    /// A tree with `/a` and `/b`.
    fn with_both() -> DataTree {
        let mut tree = DataTree::new();
        for path in ["/a", "/b"] {
            let path = ZnodePath::new(path.to_owned()).expect("valid");
            let (zxid, acl) = (Zxid::new(Epoch(1), 1), AclList::OPEN);
            tree.load_node(
                path,
                Arc::new(Znode::created(zxid, 0, [].into(), EphemeralType::Void, acl)),
            );
        }
        tree
    }

    /// A role ends while its thread applies a multi; then the database may get another tree.
    #[test]
    fn the_rest_of_a_transaction_is_applied_to_its_own_tree_or_to_the_present_one() {
        // Of two operations, transaction number 2 has both left, and number 3 the second.
        for (counter, replaced, left) in
            [(2, false, ""), (3, false, "/a"), (2, true, ""), (3, true, "/a /b")]
        {
            let bugs = Bugs::NONE.with(Bug::ApplyOutlivesRole);
            while_looking_with(bugs, |server, context| {
                server.database.replace_tree(with_both());
                server.database.leave_rest_of(&deletes(counter), context);
                if replaced {
                    server.database.replace_tree(with_both());
                }
                if server.database.has_rest() {
                    server.apply_rest(context);
                }
                let stands =
                    ["/a", "/b"].into_iter().filter(|path| server.tree().node(path).is_some());
                assert_eq!(stands.collect::<Vec<_>>().join(" "), left, "{counter} {replaced}");
            });
        }
    }

    #[test]
    fn a_thread_that_is_waited_for_leaves_nothing() {
        while_looking(|server, context| {
            server.database.replace_tree(with_both());
            server.database.leave_rest_of(&deletes(2), context);
            assert!(!server.database.has_rest());
        });
    }

    /// Until then no step of the server is eager.
    #[test]
    fn an_earlier_log_thread_has_work_until_its_fsync() {
        while_looking(|server, context| {
            assert!(!server.has_left());
            server.log.push(first(), context);
            server.log.outlive();
            assert!(server.has_left(), "it has one to append");
            server.append_next(context);
            assert!(server.has_left(), "it has one to fsync");
            server.fsync(context);
            assert!(!server.has_left());
            assert_eq!(context.disk.last_durable(), first().zxid);
        });
    }

    #[test]
    #[should_panic(expected = "only a leader proposes")]
    fn a_leaders_step_in_another_role_is_no_silence() {
        while_looking(|server, context| server.propose_write(context));
    }

    #[test]
    #[should_panic(expected = "means nothing in its role")]
    fn a_timer_of_another_role_is_no_silence() {
        while_looking(|server, context| server.timer(ServerTimer::Ping, context));
    }

    #[test]
    #[should_panic(expected = "only a learner has a connection to a leader")]
    fn a_leaders_packet_for_who_does_not_follow_is_no_silence() {
        let connection = LearnerConnection { learner: ServerId(1), slot: 0 };
        let end = Delivered::End { accepted: true };
        while_looking(|server, context| server.read_from_leader(connection, end, context));
    }
}
