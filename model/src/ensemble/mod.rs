//! Servers, disks, links and client machines as one cloneable, hashable value, and the effect of each step on it.

mod enabled;
pub mod faults;
pub mod oracle;
mod outside;
mod seen;
pub mod view;

use crate::network::{Delivered, Network};
use crate::program::machines::{ClientNode, Machines, Resources, Wire};
use crate::server::disk::Disk;
use crate::server::disk::first_tree;
use crate::server::{Context, Server};
use crate::vocabulary::config::Config;
use crate::vocabulary::effect::{Effects, Status};
use crate::vocabulary::event::Event;
use crate::vocabulary::fingerprint::{Fingerprint, StableHasher, Tracked};
use crate::vocabulary::id::{ClientConnection, ClientId, LearnerConnection, ServerId};
use crate::vocabulary::note::Note;
use crate::vocabulary::packet::{ClientPacket, LeaderPacket, LearnerPacket, ServerPacket};
use crate::vocabulary::step::Step;
use crate::vocabulary::time::Time;
use crate::vocabulary::timer::Timer;
use seen::Seen;
use std::hash::Hash;
use std::sync::Arc;

/// A server's machine: a disk, and a process while it is up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerNode {
    /// The disk, which survives the process.
    pub disk: Tracked<Disk>,
    /// The process, while it is up.
    pub process: Option<Server>,
}

/// The whole ensemble with its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ensemble {
    config: Arc<Config>,
    pub(crate) servers: Vec<Tracked<ServerNode>>,
    pub(crate) clients: Vec<Tracked<ClientNode>>,
    pub(crate) network: Network,
    resources: Resources,
    /// What clients outside have sent and read, if monitors of clients judge it. It follows from the steps, and is part of
    /// no fingerprint: searches have no clients outside.
    seen: Option<Box<Seen>>,
}

impl Ensemble {
    /// Returns an ensemble whose servers and programs have not started yet.
    pub fn new(config: Arc<Config>) -> Ensemble {
        let first = Arc::new(first_tree(&config));
        let server = |_| {
            let disk = Tracked::new(
                Disk::new(Arc::clone(&first), config.bugs).with_file_system(config.file_system()),
            );
            Tracked::new(ServerNode { disk, process: None })
        };
        let client = |at: usize| Tracked::new(ClientNode::new(&config, ClientId::at(at)));
        Ensemble {
            servers: (0..usize::from(config.servers)).map(server).collect(),
            clients: (0..config.clients.len()).map(client).collect(),
            network: Network::new(config.servers, config.clients.len()),
            resources: Resources::new(),
            seen: None,
            config,
        }
    }

    /// Returns an ensemble without clients, built from these parts.
    pub fn of_pieces(
        config: Arc<Config>,
        servers: Vec<Tracked<ServerNode>>,
        network: Network,
    ) -> Ensemble {
        let (clients, resources) = (Vec::new(), Resources::new());
        Ensemble { config, servers, clients, network, resources, seen: None }
    }

    /// Returns a server's machine, for sharing.
    pub fn node(&self, server: ServerId) -> &Tracked<ServerNode> {
        &self.servers[server.index()]
    }

    /// Returns the connections, mailboxes and cuts.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Starts all servers, and makes the start of every program due.
    pub fn begin(&mut self, effects: &mut Effects) {
        for server in self.config.server_ids() {
            self.restart(server, Time::ZERO, effects);
        }
        for at in 0..self.clients.len() {
            effects.due(Step::Start(ClientId::at(at)));
        }
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Returns the fingerprint, computed from those of all parts in order. Parts that have not changed use their
    /// caches.
    pub fn fingerprint(&self) -> Fingerprint {
        self.combine(Tracked::fingerprint, Tracked::fingerprint)
    }

    /// Returns the fingerprint computed without caches, to check them.
    pub fn recomputed_fingerprint(&self) -> Fingerprint {
        self.combine(Tracked::recomputed_fingerprint, Tracked::recomputed_fingerprint)
    }

    fn combine(
        &self,
        server: impl Fn(&Tracked<ServerNode>) -> Fingerprint,
        client: impl Fn(&Tracked<ClientNode>) -> Fingerprint,
    ) -> Fingerprint {
        let mut hasher = StableHasher::new();
        (&self.network, &self.resources).hash(&mut hasher);
        self.servers.iter().for_each(|node| server(node).hash(&mut hasher));
        self.clients.iter().for_each(|node| client(node).hash(&mut hasher));
        hasher.finished()
    }

    /// Runs a function on a server's process, if the process is up.
    fn with_server<T>(
        &mut self,
        server: ServerId,
        at: Time,
        effects: &mut Effects,
        run: impl FnOnce(&mut Server, &mut Context<'_>) -> T,
    ) -> Option<T> {
        self.servers[server.index()].process.as_ref()?;
        let ServerNode { disk, process } = self.servers[server.index()].make_mut();
        let network = &mut self.network;
        let mut context = Context { at, id: server, config: &self.config, network, disk, effects };
        process.as_mut().map(|process| {
            let done = run(process, &mut context);
            if context.config.applies_at_once {
                process.apply_at_once(&mut context);
            }
            done
        })
    }

    /// Takes a step if it can happen. The world handles inputs of programs and their hosts, so [`Step::Input`] must
    /// not be passed here.
    pub fn apply(&mut self, at: Time, step: &Step, effects: &mut Effects) -> Status {
        if let Err(status) = self.allows(step) {
            return status;
        }
        self.take(at, step, effects);
        self.end_exiting(step, effects);
        if self.config.election.is_oracle() {
            self.tidy_connections(effects);
        }
        Status::Done
    }

    /// Takes a step that can happen.
    fn take(&mut self, at: Time, step: &Step, effects: &mut Effects) {
        match *step {
            Step::ToServer(connection) => self.server_reads(connection, at, effects),
            Step::ToClient(connection) => self.client_machine_reads(connection, effects),
            Step::ToLeader(connection) => self.leader_reads(connection, at, effects),
            Step::ToLearner(connection) => self.learner_reads(connection, at, effects),
            Step::Vote { from, to } => self.vote(from, to, at, effects),
            Step::Append(server) => self.on_server(server, at, effects, Server::append_next),
            Step::Fsync(server) => self.on_server(server, at, effects, Server::fsync),
            Step::Apply(server) => self.on_server(server, at, effects, Server::apply_next),
            Step::MissWakeUp(server) => self.on_server(server, at, effects, Server::miss_wake_up),
            Step::ApplyRest(server) => self.on_server(server, at, effects, Server::apply_rest),
            Step::Write(server) => self.on_server(server, at, effects, Server::write_completes),
            Step::Snapshot(server) => self.on_server(server, at, effects, Server::snapshot_next),
            Step::Stream(connection) => {
                let leader = self.network.leader_of(connection).expect("it leads somewhere");
                let streams = |it: &mut Server, context: &mut Context<'_>| {
                    it.stream_next(connection, context);
                };
                self.on_server(leader, at, effects, streams);
            }
            Step::Fire(Timer::Server(server, timer)) => {
                let fires = |it: &mut Server, context: &mut Context<'_>| it.timer(timer, context);
                self.on_server(server, at, effects, fires);
            }
            Step::Propose(server) => self.on_server(server, at, effects, Server::propose_write),
            Step::Reconfigure { leader, joins, leaves } => {
                self.on_server(leader, at, effects, |it, context| {
                    it.propose_reconfiguration(joins, leaves, context);
                });
            }
            Step::Elect { leader, followers } => self.elect(leader, followers, at, effects),
            Step::Start(_)
            | Step::Fire(Timer::Client(..) | Timer::Sleep(..))
            | Step::Random { .. }
            | Step::Resource { .. }
            | Step::Message { .. }
            | Step::Kill(_)
            | Step::Cancel(_) => self.machines().take(step, effects),
            Step::Input(_) => unreachable!("the world feeds programs"),
            Step::Outside(_) => unreachable!("the world has the inputs from outside"),
            Step::Clock { .. }
            | Step::Serve { .. }
            | Step::Notify(_)
            | Step::Late(_)
            | Step::CloseSession(_)
            | Step::DeleteContainer(_) => {
                unreachable!("{step} is a step of the service grain")
            }
            Step::Crash { .. }
            | Step::FsyncError { .. }
            | Step::Restart(_)
            | Step::Rejoin(_)
            | Step::BreakClient { .. }
            | Step::BreakLearner { .. }
            | Step::Cut { .. }
            | Step::Heal { .. }
            | Step::Expire(_)
            | Step::Pause(_)
            | Step::Resume(_) => self.fault(step, at, effects),
        }
    }

    /// Runs a function on the process of a server that is up.
    fn on_server(
        &mut self,
        server: ServerId,
        at: Time,
        effects: &mut Effects,
        run: impl FnOnce(&mut Server, &mut Context<'_>),
    ) {
        self.with_server(server, at, effects, run).expect("the server is up");
    }

    /// Returns the client machines, borrowed for one step.
    pub(crate) fn machines(&mut self) -> Machines<'_, Network> {
        Machines {
            nodes: &mut self.clients,
            resources: &mut self.resources,
            wire: &mut self.network,
            scope: None,
        }
    }

    // ---- deliveries ----

    fn server_reads(&mut self, connection: ClientConnection, at: Time, effects: &mut Effects) {
        let server = self.network.server_of(connection).expect("it leads somewhere");
        let delivered =
            self.network.read_from_client(connection).expect("there is something to read");
        let (client, read) = (connection.client, || delivered.clone());
        effects.note(|| Note::FromClient { server, client, delivered: read() });
        effects.keep_alive = delivered == Delivered::Packet(ClientPacket::Ping);
        let handled = self.with_server(server, at, effects, |process, context| {
            process.read_from_client(connection, delivered, context);
        });
        if handled.is_none() {
            effects.note(|| Note::Refused { server });
            self.network.close_by_server(connection, effects);
        }
    }

    fn client_machine_reads(&mut self, connection: ClientConnection, effects: &mut Effects) {
        let client = connection.client;
        let server = self.network.server_of(connection).expect("it leads somewhere");
        let delivered =
            self.network.read_from_server(connection).expect("there is something to read");
        if self.is_outside(client) {
            let note = |delivered| Note::FromServer {
                client,
                server: Some(server),
                delivered,
                answers: None,
            };
            effects.note(|| note(delivered.clone()));
            effects.keep_alive = delivered == Delivered::Packet(ServerPacket::Pong);
            if let Some(seen) = &mut self.seen {
                seen.reads(connection, &delivered, effects);
            }
            effects.to_outside.push((connection, delivered));
            return;
        }
        effects.note(|| {
            let machine = &self.clients[client.index()].machine;
            machine.note(client, Some(server), &delivered)
        });
        effects.keep_alive = delivered == Delivered::Packet(ServerPacket::Pong);
        self.machines().client_reads(connection, delivered, effects);
    }

    fn leader_reads(&mut self, connection: LearnerConnection, at: Time, effects: &mut Effects) {
        let leader = self.network.leader_of(connection).expect("it leads somewhere");
        let delivered =
            self.network.read_from_learner(connection).expect("there is something to read");
        effects.note(|| {
            let (learner, delivered) = (connection.learner, delivered.clone());
            Note::FromLearner { leader, learner, delivered }
        });
        effects.keep_alive = matches!(delivered, Delivered::Packet(LearnerPacket::Ping { .. }));
        let handled = self.with_server(leader, at, effects, |process, context| {
            process.read_from_learner(connection, delivered, context);
        });
        if handled.is_none() {
            effects.note(|| Note::Refused { server: leader });
            self.network.close_by_leader(connection, effects);
        }
    }

    fn learner_reads(&mut self, connection: LearnerConnection, at: Time, effects: &mut Effects) {
        let learner = connection.learner;
        let leader = self.network.leader_of(connection).expect("it leads somewhere");
        let delivered =
            self.network.read_from_leader(connection).expect("there is something to read");
        effects.note(|| {
            let delivered = delivered.clone();
            Note::FromLeader { learner, leader, delivered }
        });
        effects.keep_alive = delivered == Delivered::Packet(LeaderPacket::Ping);
        self.with_server(learner, at, effects, |process, context| {
            process.read_from_leader(connection, delivered, context);
        });
    }

    fn vote(&mut self, from: ServerId, to: ServerId, at: Time, effects: &mut Effects) {
        let notification = self.network.take_mail(from, to).expect("there is something to read");
        effects.note(|| Note::Notified { server: to, from, notification });
        self.with_server(to, at, effects, |process, context| {
            process.notification(from, notification, context);
        });
    }

    // ---- starting ----

    /// Starts a server's process from its disk; it may refuse to start.
    fn restart(&mut self, server: ServerId, at: Time, effects: &mut Effects) {
        let ServerNode { disk, process } = self.servers[server.index()].make_mut();
        let network = &mut self.network;
        let mut context = Context { at, id: server, config: &self.config, network, disk, effects };
        context.effects.event(Event::Restarted { server });
        match Server::boot(&mut context) {
            Ok(booted) => *process = Some(booted),
            Err(reason) => context.effects.event(Event::Exited { server, reason }),
        }
        for other in self.config.server_ids().filter(|other| *other != server) {
            self.network.reconnect_mail(other, server, effects);
            if self.network.has_mail(other, server) {
                effects.due(Step::Vote { from: other, to: server });
            }
        }
    }
}

impl Wire for Network {
    const CHOOSES_CLOCKS: bool = false;

    fn open(&mut self, client: ClientId, server: ServerId) -> ClientConnection {
        self.open_client(client, server)
    }

    fn send(&mut self, connection: ClientConnection, packet: ClientPacket, effects: &mut Effects) {
        self.send_to_server(connection, packet, effects);
    }

    fn close(&mut self, connection: ClientConnection, effects: &mut Effects) {
        self.close_by_client(connection, effects);
    }
}

impl std::hash::Hash for Ensemble {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.fingerprint().hash(state);
    }
}
