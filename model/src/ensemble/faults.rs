//! The effects of faults on the ensemble, and the ends of faults.

use super::{Ensemble, ServerNode};
use crate::program::exchange::Exchange;
use crate::server::disk::Undone;
use crate::server::{Exit, Server};
use crate::vocabulary::effect::{Blocker, Effect, Effects};
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{Machine, ServerId};
use crate::vocabulary::note::Note;
use crate::vocabulary::step::{Step, Tail};
use crate::vocabulary::time::Time;

impl Ensemble {
    pub(super) fn fault(&mut self, step: &Step, at: Time, effects: &mut Effects) {
        match *step {
            Step::Crash { server, tail } => self.crash(server, tail, effects),
            Step::Restart(server) => self.restart(server, at, effects),
            Step::Rejoin(server) => self.on_server(server, at, effects, |it, context| {
                it.leave_role("an exception in its main thread", context);
            }),
            Step::FsyncError { server, survive, rest } => {
                self.on_server(server, at, effects, |it, context| {
                    it.fsync_fails(survive, rest, context);
                });
            }
            Step::BreakClient { connection, to_server, to_client } => {
                self.network.break_client(connection, to_server, to_client, effects);
            }
            Step::BreakLearner { connection, to_leader, to_learner } => {
                self.network.break_learner(connection, to_leader, to_learner, effects);
            }
            Step::Cut { from, to } => {
                self.network.cut(from, to);
            }
            Step::Heal { from, to } => self.heal(from, to, effects),
            Step::Expire(session) => {
                let leader = self.leader().expect("there is a leader to take it for expired");
                effects.event(Event::TakenForExpired { leader, session });
                self.on_server(leader, at, effects, |it, context| it.expire(session, context));
            }
            Step::Pause(client) => {
                self.clients[client.index()].make_mut().paused = true;
                effects.event(Event::Paused { client });
                effects.exchange(client, || Exchange::Paused);
            }
            Step::Resume(client) => {
                self.clients[client.index()].make_mut().paused = false;
                effects.event(Event::Resumed { client });
                effects.exchange(client, || Exchange::Resumed);
                effects.push(Effect::Unblocked(Blocker::Paused(client)));
            }
            _ => unreachable!("{step} is no fault"),
        }
    }

    fn crash(&mut self, server: ServerId, tail: Tail, effects: &mut Effects) {
        // Packets that the process had sent but not yet flushed from its queues are lost: the same number of packets
        // survives on each of its connections.
        for connection in self.network.clients_of(server) {
            self.network.break_client(connection, 0, tail.packets, effects);
            self.network.close_by_server(connection, effects);
        }
        for connection in self.network.learners_of(server) {
            self.network.break_learner(connection, 0, tail.packets, effects);
            self.network.close_by_leader(connection, effects);
        }
        if let Some(connection) = self.learner_connection(server) {
            self.network.break_learner(connection, tail.packets, 0, effects);
            self.network.close_by_learner(connection, effects);
        }
        self.network.forget_mail(server);
        self.with_server(server, Time::ZERO, effects, Server::die);
        let ServerNode { disk, process } = self.servers[server.index()].make_mut();
        *process = None;
        if tail.cuts && disk.may_undo_cuts() {
            effects.note(|| Note::TruncUndone { server });
        }
        let lost = disk.make_mut().crash(tail);
        let undone = disk.make_mut().undo_renames(tail.epochs);
        for Undone { file, written, found } in undone {
            effects.event(Event::EpochUndone { server, file, written, found });
        }
        effects.event(Event::Crashed { server, lost });
        effects.push(Effect::Unblocked(Blocker::Busy(server)));
    }

    /// Ends the process of the server that has just taken a step, if the step caused it to exit. Writes to its files
    /// survive; what it had not yet handed to files or connections is lost.
    pub(super) fn end_exiting(&mut self, step: &Step, effects: &mut Effects) {
        let exits = |id: ServerId| self.server(id).and_then(Server::exits);
        let taken = self.taker(step).and_then(|server| Some((server, exits(server)?)));
        debug_assert!(
            taken.is_some() || self.config.server_ids().all(|id| exits(id).is_none()),
            "{step} ends the process of a server that did not take it"
        );
        let Some((server, exit)) = taken else { return };
        let survive = match *step {
            Step::FsyncError { survive, .. } => survive,
            _ => 0,
        };
        self.crash(server, Tail { survive, snapshots: true, ..Tail::LOST }, effects);
        if let Exit::NotLoaded(reason) = exit {
            effects.event(Event::Exited { server, reason });
        }
    }

    fn heal(&mut self, from: Machine, to: Machine, effects: &mut Effects) {
        self.network.heal(from, to);
        effects.push(Effect::Unblocked(Blocker::Cut { from, to }));
        if let (Machine::Server(from), Machine::Server(to)) = (from, to) {
            self.network.reconnect_mail(from, to, effects);
        }
    }
}
