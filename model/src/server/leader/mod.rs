//! A leader: from its election to broadcast (rules 6.3, 6.4, 6.7 and 4.4).
//!
//! A learner's packets are read by its handler (`learner_handler`), which passes them on according to its phase:
//! `discovery` collects accepted epochs and epoch acks, `sync` synchronises learners, `activation` begins the
//! established phase, `requests` makes transactions from sessions' requests, `broadcast` proposes, counts acks and
//! commits, `reconfiguration` replaces the configuration.

mod activation;
mod broadcast;
mod containers;
mod discovery;
mod learner_handler;
mod reconfiguration;
mod requests;
mod state;
mod sync;
mod sync_limit;
pub(in crate::server) mod sync_plan;

pub(in crate::server) use state::{Handler, HandlerPhase};
pub use state::{Leader, Phase};
pub(in crate::server) use sync_plan::Window;

use super::clients::Clients;
use super::commit_processor::CommitProcessor;
use super::context::{Context, Leave, PacketThread, Stays};
use super::database::Database;
use super::election::Election;
use super::log_thread::LogThread;
use crate::vocabulary::event::Event;
use crate::vocabulary::file_system::Writing;
use crate::vocabulary::id::{LearnerConnection, ServerSet};
use crate::vocabulary::packet::LeaderPacket;
use crate::vocabulary::release::Bug;
use crate::vocabulary::timer::ServerTimer;

/// What the code of a leader works with: its own memory, and the parts of its server that it needs.
pub(in crate::server) struct Leading<'a> {
    pub(in crate::server) leader: &'a mut Leader,
    pub(in crate::server) database: &'a mut Database,
    pub(in crate::server) thread: &'a mut PacketThread,
    pub(in crate::server) log: &'a mut LogThread,
    pub(in crate::server) commits: &'a mut CommitProcessor,
    pub(in crate::server) clients: &'a mut Clients,
    pub(in crate::server) election: &'a mut Election,
}

impl Leader {
    /// Begins to lead: loadData kills orphans and snapshots the tree, including uncommitted transactions, before the
    /// leader is established (rule 6.3.1).
    pub(in crate::server) fn begin(
        database: &mut Database,
        thread: &mut PacketThread,
        context: &mut Context<'_>,
    ) -> Leader {
        if database.tree.has_orphans() {
            database.tree_mut().kill_orphans();
        }
        // Only one snapshot is written at a time.
        database.finish_snapshot(context);
        context.open_snapshot(database.tree.last_processed());
        thread.write(Writing::LeadSnapshot, context);
        let summary = (context.disk.current_epoch(), database.tree.last_processed());
        // The configurations may change until discovery ends.
        Leader::new(summary, context.configurations().quorums())
    }
}

impl Leading<'_> {
    /// Begins a wait for learners (getEpochToPropose, waitForEpochAck or waitForNewLeaderAck), each limited to
    /// initLimit ticks (rule 5.5.2).
    pub(super) fn be_patient(&self, context: &mut Context<'_>) {
        context.arm(ServerTimer::InitLimit, context.config.tick * context.config.init_limit);
    }

    /// Closes a learner's connection after it was silent for too long or its handler failed.
    pub(in crate::server) fn drop_handler(
        &mut self,
        connection: LearnerConnection,
        context: &mut Context<'_>,
    ) {
        let handler = self.leader.handlers.remove(&connection);
        let handler = handler.expect("only a connection with a handler fails");
        // Its pending syncs belong to that handler: a later connection with the same slot must not receive their
        // answers.
        for proposal in &mut self.leader.outstanding {
            proposal.syncs.retain(|(asker, ..)| *asker != connection);
        }
        context.network.close_by_leader(connection, context.effects);
        handler.stop_timers(connection, context);
    }

    /// Handles the completion of the leader's own disk operation.
    pub(in crate::server) fn wrote(&mut self, writing: Writing, context: &mut Context<'_>) {
        match writing {
            Writing::LeadSnapshot => {
                let snapshot = self.database.whole_snapshot(false);
                context.disk.make_mut().add_snapshot(snapshot, context.config.bugs);
                self.begin_discovery(context);
            }
            Writing::AcceptedEpoch => self.epoch_accepted(context),
            Writing::CurrentEpochTmp => {
                context.disk.make_mut().write_current_epoch_tmp(self.leader.epoch);
                self.thread.write(Writing::CurrentEpoch, context);
            }
            Writing::CurrentEpoch => {
                context.disk.make_mut().rename_current_epoch();
                self.begin_synchronization(context);
            }
            Writing::SyncSnapshot
            | Writing::SyncAppend
            | Writing::SyncFsync
            | Writing::NewLeaderAck => {
                unreachable!("only a learner writes this")
            }
        }
    }

    /// Runs a ping round, twice per tick: in every second one, the leader and the learners that are not overdue must
    /// form a quorum (rule 6.7.3).
    pub(in crate::server) fn ping_round(&mut self, context: &mut Context<'_>) -> Stays {
        let leader = &mut *self.leader;
        assert!(leader.is_established(), "{}: only an established leader pings", context.id);
        leader.skip_tick = !leader.skip_tick;
        if leader.skip_tick {
            let mut synced = ServerSet::default();
            synced.insert(context.id);
            // An observer may vote in a configuration that is only proposed. It acknowledges no proposal.
            let all = context.config.bugs.has(Bug::UncommittedConfigActivated);
            let counts = |it: &Handler| !it.is_overdue && (all || !it.observes.0);
            for (connection, _) in leader.handlers.iter().filter(|(_, it)| counts(it)) {
                synced.insert(connection.learner);
            }
            if !context.configurations().quorums().contains_quorum(synced) {
                return Err(Leave("not sufficient followers synced"));
            }
        }
        let mut late = Vec::new();
        for (connection, handler) in &mut leader.handlers {
            let planted = context.config.bugs.has(Bug::PlantedHealthyHungUp);
            if handler.sync_limit.is_late() || planted && handler.sync_limit.is_waiting() {
                late.push(*connection);
            // f.ping() does nothing before the sending thread has started.
            } else if handler.is_forwarding()
                && !matches!(handler.phase, HandlerPhase::Streaming(_))
            {
                context.to_learner(*connection, LeaderPacket::Ping);
            }
        }
        for connection in late {
            let (leader, learner) = (context.id, connection);
            context.effects.event(Event::AcksStalled { leader, learner });
            self.drop_handler(connection, context);
        }
        let planted = context.config.bugs.has(Bug::PlantedSlowPings);
        let seldom = context.config.tick * (context.config.sync_limit - 1);
        let pause = if planted { seldom } else { context.config.tick / 2 };
        context.arm(ServerTimer::Ping, pause);
        Ok(())
    }
}
