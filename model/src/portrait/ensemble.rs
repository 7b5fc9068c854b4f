//! The ensemble grain: servers with their disks, and client machines.

use super::{Condition, Portrait, condition, log_lines};
use crate::ensemble::Ensemble;
use crate::server::disk::Disk;
use crate::vocabulary::id::{ClientId, Machine, ServerId};
use crate::vocabulary::parcel::{Queue, Route};
use crate::vocabulary::step::Step;
use crate::vocabulary::timer::Timer;
use std::collections::BTreeMap;

impl Portrait for Ensemble {
    fn machines(&self) -> Vec<Machine> {
        let servers = self.config().server_ids().map(Machine::Server);
        let clients = (0..self.network.clients()).map(|at| Machine::Client(ClientId::at(at)));
        servers.chain(clients).collect()
    }

    fn places(&self, step: &Step) -> Vec<Machine> {
        let server = |server: ServerId| vec![Machine::Server(server)];
        let client = |client: ClientId| vec![Machine::Client(client)];
        let servers = |ids: Option<ServerId>| ids.map(Machine::Server).into_iter().collect();
        match *step {
            Step::ToServer(connection) => servers(self.server_of(connection)),
            Step::ToLeader(connection) | Step::Stream(connection) => {
                servers(self.leader_of(connection))
            }
            Step::ToLearner(connection) => server(connection.learner),
            Step::Vote { to, .. } => server(to),
            Step::BreakClient { connection, .. } => {
                let other = self.server_of(connection).map(Machine::Server);
                [Machine::Client(connection.client)].into_iter().chain(other).collect()
            }
            Step::BreakLearner { connection, .. } => {
                let other = self.leader_of(connection).map(Machine::Server);
                [Machine::Server(connection.learner)].into_iter().chain(other).collect()
            }
            Step::Expire(_) => servers(self.leader()),
            Step::Elect { leader, followers } => {
                [leader].into_iter().chain(followers.iter()).map(Machine::Server).collect()
            }
            Step::Append(it)
            | Step::Fsync(it)
            | Step::Apply(it)
            | Step::MissWakeUp(it)
            | Step::ApplyRest(it)
            | Step::Write(it)
            | Step::Snapshot(it)
            | Step::Propose(it)
            | Step::Reconfigure { leader: it, .. }
            | Step::Restart(it)
            | Step::Rejoin(it)
            | Step::Crash { server: it, .. }
            | Step::FsyncError { server: it, .. }
            | Step::Fire(Timer::Server(it, _)) => server(it),
            Step::ToClient(connection) => client(connection.client),
            Step::Cut { from, to } | Step::Heal { from, to } => vec![from, to],
            _ => of_client(step).map(client).unwrap_or_default(),
        }
    }

    fn lines(&self, machine: Machine) -> Vec<String> {
        match machine {
            Machine::Server(server) => self.server_lines(server),
            Machine::Client(client) => match self.clients.get(client.index()) {
                Some(node) => node.lines(),
                None => Vec::new(),
            },
        }
    }

    fn is_waiting(&self, client: ClientId) -> bool {
        self.clients.get(client.index()).is_some_and(|node| node.is_waiting())
    }

    fn conditions(&self, machine: Machine) -> Vec<Condition> {
        let mut all = Vec::new();
        match machine {
            Machine::Server(server) => all.push(condition::of_server(self.server(server))),
            Machine::Client(client) => {
                let node = self.clients.get(client.index());
                all.extend(node.and_then(|node| condition::of_client(&node.machine)));
                if node.is_some_and(|node| node.paused) {
                    all.push(Condition::Paused);
                }
            }
        }
        let is_cut = |other: &Machine| self.is_cut(machine, *other) || self.is_cut(*other, machine);
        let from: Vec<Machine> = self.machines().into_iter().filter(is_cut).collect();
        if !from.is_empty() {
            all.push(Condition::CutOff { from });
        }
        all
    }

    fn under_way(&self) -> BTreeMap<Route, Queue> {
        let mut routes = self.network.under_way_everywhere();
        for (at, node) in self.clients.iter().enumerate() {
            node.messages(ClientId::at(at), &mut routes);
        }
        routes
    }
}

impl Ensemble {
    fn server_lines(&self, server: ServerId) -> Vec<String> {
        let (process, disk) = (self.server(server), self.disk(server));
        let mut lines = vec![process.map_or_else(|| "down".to_owned(), |it| it.describe())];
        disk_lines(disk, &mut lines);
        if let Some(process) = process {
            process.lines(&mut lines);
        }
        log_lines(disk.log(), disk.unsynced(), &mut lines);
        if disk.is_torn() {
            lines.push("log: half of a record".to_owned());
        }
        lines
    }
}

fn disk_lines(disk: &Disk, lines: &mut Vec<String>) {
    lines.push(format!("acceptedEpoch {}", disk.accepted_epoch()));
    lines.push(format!("currentEpoch {}", disk.current_epoch()));
    if let Some(epoch) = disk.current_epoch_tmp() {
        lines.push(format!("currentEpoch.tmp {epoch}"));
    }
    for snapshot in disk.snapshots() {
        let durable = if snapshot.durable { "" } else { " (not yet durable)" };
        lines.push(format!("snapshot {}{durable}", snapshot.label));
    }
}

/// Returns the client on whose machine a step happens, at either grain.
pub(super) fn of_client(step: &Step) -> Option<ClientId> {
    match *step {
        Step::Fire(Timer::Client(client, _) | Timer::Sleep(client, _))
        | Step::Start(client)
        | Step::Input(client)
        | Step::Random { client, .. }
        | Step::Clock { client, .. }
        | Step::Resource { client, .. }
        | Step::Message { to: client, .. }
        | Step::Kill(client)
        | Step::Cancel(client)
        | Step::Pause(client)
        | Step::Resume(client) => Some(client),
        _ => None,
    }
}
