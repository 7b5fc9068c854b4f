//! A leader: from winning the election to broadcast (rules 6.3, 6.4, 6.7 and 4.4).
//!
//! What a learner sends is read by its handler (`learner_handler`), which passes it on by its phase:
//! `discovery` collects accepted epochs and epoch acks, `sync` brings each learner up to date,
//! `activation` is the beginning of the established leader's life, `requests` makes transactions of
//! what sessions ask, `broadcast` proposes, counts acks and commits.

mod activation;
mod broadcast;
mod containers;
mod discovery;
mod learner_handler;
mod requests;
mod state;
mod sync;
mod sync_limit;
mod sync_plan;

pub(in crate::server) use state::HandlerPhase;
pub use state::{Leader, Phase};
pub(in crate::server) use sync_plan::Window;

use super::clients::Clients;
use super::commit_processor::CommitProcessor;
use super::context::{Context, Leave, PacketThread, Stays, Writing};
use super::database::Database;
use super::election::Election;
use super::log_thread::LogThread;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{LearnerConnection, ServerSet};
use crate::vocabulary::packet::LeaderPacket;
use crate::vocabulary::release::Bug;
use crate::vocabulary::timer::ServerTimer;

/// What the code of a leader works with: its memory, and what it needs of its server.
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
    /// Begins to lead: loadData kills orphans and snapshots the tree, uncommitted transactions
    /// included, before anything is established (rule 6.3.1).
    pub(in crate::server) fn begin(
        database: &mut Database,
        thread: &mut PacketThread,
        context: &mut Context<'_>,
    ) -> Leader {
        if database.tree.has_orphans() {
            database.tree_mut().kill_orphans();
        }
        // One snapshot is written at a time.
        database.finish_snapshot(context);
        context.open_snapshot(database.tree.last_processed());
        thread.write(Writing::LeadSnapshot, context);
        let summary = (context.disk.current_epoch(), database.tree.last_processed());
        Leader::new(summary, context.config.quorum_verifier())
    }
}

impl Leading<'_> {
    /// A wait for learners begins, of getEpochToPropose, waitForEpochAck or waitForNewLeaderAck: each has initLimit
    /// ticks (rule 5.5.2).
    pub(super) fn be_patient(&self, context: &mut Context<'_>) {
        context.arm(ServerTimer::InitLimit, context.config.tick * context.config.init_limit);
    }

    /// A learner's connection was not read from for too long, or a handler fails: it is closed.
    pub(in crate::server) fn drop_handler(
        &mut self,
        connection: LearnerConnection,
        context: &mut Context<'_>,
    ) {
        let handler = self.leader.handlers.remove(&connection);
        let handler = handler.expect("only a connection with a handler fails");
        // Its pending syncs are that handler's: whoever uses the same slot later never hears of them.
        for proposal in &mut self.leader.outstanding {
            proposal.syncs.retain(|(asker, ..)| *asker != connection);
        }
        context.network.close_by_leader(connection, context.effects);
        handler.stop_timers(connection, context);
    }

    /// The leader's own disk operation completed.
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
            Writing::SyncSnapshot | Writing::SyncAppend | Writing::SyncFsync => {
                unreachable!("only a learner writes this")
            }
        }
    }

    /// The ping round, twice a tick: every second time the learners heard from must be a quorum,
    /// with the leader itself (rule 6.7.3).
    pub(in crate::server) fn ping_round(&mut self, context: &mut Context<'_>) -> Stays {
        let leader = &mut *self.leader;
        assert!(leader.is_established(), "{}: only an established leader pings", context.id);
        leader.skip_tick = !leader.skip_tick;
        if leader.skip_tick {
            let mut synced = ServerSet::default();
            synced.insert(context.id);
            for (connection, _) in leader.handlers.iter().filter(|(_, it)| !it.is_overdue) {
                synced.insert(connection.learner);
            }
            if !leader.verifier.contains_quorum(synced) {
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
