//! The ensemble behind the sockets: what its clients send goes in, and what they are to read comes out.

use super::chaos::Chaos;
use super::clock::Clock;
use super::command::Command;
use super::counters::{Counters, Totals};
use super::options::ServeOptions;
use super::peer::{Peer, Received};
use super::recorder::Recorder;
use super::words::{Command as AdminCommand, Reset, Status, Word};
use crate::properties::{Stated, stated_parameters};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use vivarium_model::case::Case;
use vivarium_model::id::{ClientConnection, ClientId, ServerId, SessionId, Xid};
use vivarium_model::network::Delivered;
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::time::Time;
use vivarium_model::wire::Password;
use vivarium_sim::random::Seeds;
use vivarium_sim::served::{Served, ServedOptions};

/// How far the ensemble may be ahead of its clock: what is due within this time happens at once. The timers of this machine
/// are no finer.
const AHEAD: Duration = Duration::from_millis(5);

/// The most events that virtual time passes by at once, so that clients are served in between.
const MOST_HOPS: usize = 10_000;

/// The number of clients that have ended before their numbers are used again.
const RESTING: usize = 64;

/// The ensemble, its clock and its connections.
pub(super) struct Core {
    pub(super) served: Served,
    pub(super) clock: Clock,
    peers: BTreeMap<ClientConnection, Rc<Peer>>,
    /// The connection of each session that clients have.
    pub(super) sessions: BTreeMap<SessionId, ClientConnection>,
    /// Clients whose connections have ended.
    resting: VecDeque<ClientId>,
    /// The numbers of observers, by name.
    pub(super) observers: BTreeMap<String, ClientId>,
    /// The names of the observations that a property needs and no program has made: it could not object.
    pub(super) unobserved: BTreeSet<Arc<str>>,
    /// The only server that lets a session re-attach.
    pub(super) moves: BTreeMap<SessionId, ServerId>,
    /// Whether the faults of a seed happen.
    pub(super) is_struck: bool,
    pub(super) recorder: Option<Recorder>,
    secrets: Seeds,
    ports: Vec<u16>,
    properties: Vec<Stated>,
    /// The number of the last request.
    requests: u32,
    /// By server.
    totals: Vec<Totals>,
    changed: Rc<Notify>,
}

/// The core, as the tasks of one thread share it.
pub(super) type Shared = Rc<RefCell<Core>>;

impl Core {
    /// Starts an ensemble, and lets it elect its first leader before anything is asked.
    pub(super) fn start(
        options: &ServeOptions,
        ports: Vec<u16>,
        recorder: Option<Recorder>,
        now: Time,
    ) -> Core {
        let settings = ServedOptions {
            servers: options.servers,
            bugs: options.bugs,
            options: options.options.clone(),
            tick: options.tick,
            seed: options.seed,
            // A client that outlives an ensemble must not find its session's id in the next one.
            earlier_starts: ((now.0 / 1_000_000) % 0xffff) as u16,
            start: now,
        };
        let further: Vec<_> = options.properties.iter().map(Stated::monitor).collect();
        let unobserved = further.iter().flat_map(|monitor| monitor.looks_for()).collect();
        let mut served = Served::judged_by(&settings, further);
        served.pass(now + options.tick);
        Core {
            clock: match options.virtual_time {
                true => Clock::standing(served.now()),
                false => Clock::new(served.now(), options.speed),
            },
            served,
            peers: BTreeMap::new(),
            sessions: BTreeMap::new(),
            resting: VecDeque::new(),
            observers: BTreeMap::new(),
            unobserved,
            moves: BTreeMap::new(),
            is_struck: true,
            recorder,
            secrets: Seeds::new(options.seed),
            ports,
            requests: 0,
            properties: options.properties.clone(),
            totals: (0..options.servers).map(|_| Totals::default()).collect(),
            changed: Rc::new(Notify::new()),
        }
    }

    /// Opens a connection to a server; `None` if it is down.
    pub(super) fn open(&mut self, server: ServerId, remote: SocketAddr) -> Option<Rc<Peer>> {
        self.arrive();
        let client = self.next_client();
        let connection = self.served.open(client, server)?;
        let counters = Counters::new(remote, self.clock());
        let peer = Rc::new(Peer::new(connection, server, counters));
        self.peers.insert(connection, Rc::clone(&peer));
        Some(peer)
    }

    fn next_client(&mut self) -> ClientId {
        let is_free =
            |client: &ClientId| self.served.ensemble().open_connections(*client).is_empty();
        let first = self.resting.front().copied().filter(is_free);
        match first.filter(|_| self.resting.len() > RESTING) {
            Some(client) => {
                self.resting.pop_front();
                client
            }
            None => self.served.ensemble().next_outside(),
        }
    }

    /// Sends what a client has sent, and delivers what follows from it at once.
    pub(super) fn send(&mut self, connection: ClientConnection, received: Vec<Received>) {
        self.arrive();
        for Received { packet } in received {
            self.served.send(connection, packet);
        }
        self.turn();
    }

    /// Ends a connection whose socket has ended.
    pub(super) fn close(&mut self, connection: ClientConnection) {
        if self.peers.remove(&connection).is_some() {
            self.arrive();
            self.served.hang_up(connection);
            self.turn();
            self.sessions.retain(|_, of| *of != connection);
            self.resting.push_back(connection.client);
        }
    }

    /// Returns a number for a request.
    pub(super) fn next_number(&mut self) -> Xid {
        // The numbers of clients are positive.
        self.requests = self.requests % i32::MAX.unsigned_abs() + 1;
        Xid(self.requests)
    }

    /// Returns the connections to a server.
    pub(super) fn peers_of(&self, server: ServerId) -> impl Iterator<Item = &Rc<Peer>> {
        self.peers.values().filter(move |peer| peer.server == server)
    }

    /// Returns the session of a connection.
    pub(super) fn session_of(&self, connection: ClientConnection) -> Option<SessionId> {
        self.peers.get(&connection)?.session()
    }

    /// Returns what a server has counted.
    pub(super) fn totals(&self, server: ServerId) -> &Totals {
        &self.totals[server.index()]
    }

    /// Returns the port of a server.
    pub(super) fn port(&self, server: ServerId) -> u16 {
        self.ports.get(server.index()).copied().unwrap_or(0)
    }

    /// Answers a four-letter word on a connection that has just begun.
    pub(super) fn answer_word(&mut self, peer: &Peer, word: Word) {
        let status = self.present_status_of(peer.server);
        peer.queue_text(&word.answer(&status));
        self.reset(peer.server, word.reset());
    }

    /// Answers a command of the admin server.
    pub(super) fn admin(&mut self, server: ServerId, name: &str) -> String {
        let status = self.present_status_of(server);
        let response = AdminCommand::run(name, &status).to_string();
        self.reset(server, AdminCommand::named(name).and_then(AdminCommand::reset));
        response
    }

    fn present_status_of(&mut self, server: ServerId) -> Status {
        self.arrive();
        self.turn();
        self.status_of(server)
    }

    fn reset(&self, server: ServerId, reset: Option<Reset>) {
        match reset {
            Some(Reset::Server) => self.totals(server).reset(),
            Some(Reset::Connections) => {
                self.peers_of(server).for_each(|peer| peer.counters.reset());
            }
            None => {}
        }
    }

    /// Lets the ensemble come up to the present.
    pub(super) fn arrive(&mut self) {
        let now = self.clock.now();
        self.served.pass(now);
    }

    /// Lets virtual time pass until a client has something to read, but not longer than a span.
    pub(super) fn pass_idle_time(&mut self, longest: Duration) {
        let end = self.clock.now() + longest;
        for _ in 0..MOST_HOPS {
            if self.clock.now() >= end || self.peers.values().any(|peer| peer.has_output()) {
                return;
            }
            let pings = self.peers.values().filter_map(|peer| peer.next_ping());
            let next = pings.chain(self.served.next()).min().unwrap_or(end);
            self.clock.move_to(next.clamp(self.clock.now(), end));
            self.arrive();
            self.ping_for_clients();
            self.served.run(self.clock.now());
            self.deliver();
            if self.recorder.is_none() {
                self.served.recorded();
            }
        }
    }

    /// Sends the pings that are due of clients whose connections are open.
    fn ping_for_clients(&mut self) {
        let now = self.clock.now();
        for peer in self.peers.values() {
            if peer.next_ping().is_some_and(|due| due <= now) {
                peer.ping_for_client(now);
                self.served.send(peer.connection, ClientPacket::Ping);
            }
        }
    }

    /// Lets everything happen that is due, and delivers it.
    pub(super) fn turn(&mut self) {
        self.served.run(self.clock.now() + AHEAD);
        self.deliver();
        if self.recorder.is_none() {
            self.served.recorded();
        }
        self.changed.notify_one();
    }

    fn deliver(&mut self) {
        let delivered: Vec<_> = self.served.delivered().collect();
        for (connection, delivered) in delivered {
            let Some(peer) = self.peers.get(&connection) else { continue };
            match delivered {
                Delivered::Packet(packet) => {
                    if let ServerPacket::Connected { session, .. } = &packet {
                        self.sessions.insert(*session, connection);
                        self.moves.remove(session);
                    }
                    let password = |session| password(&self.secrets, session);
                    peer.write(&packet, &self.clock, password);
                }
                Delivered::End { .. } => peer.end(),
            }
        }
    }

    /// Returns true if a session that a packet wants to re-attach has to go to another server than this.
    pub(super) fn is_elsewhere(&self, packet: &ClientPacket, server: ServerId) -> bool {
        let ClientPacket::Connect { session: Some(session), .. } = packet else { return false };
        self.moves.get(session).is_some_and(|to| *to != server)
    }

    /// Returns true if the secret is that of the session that a packet wants to re-attach.
    pub(super) fn admits(&self, packet: &ClientPacket, secret: &Password) -> bool {
        match packet {
            ClientPacket::Connect { session: Some(session), .. } => {
                password(&self.secrets, *session) == *secret
            }
            _ => true,
        }
    }

    /// Returns the number of open connections.
    pub(super) fn connections(&self) -> usize {
        self.peers.len()
    }

    /// Returns the case of the run before its first step, with the properties that judge it.
    fn empty_case(&self) -> Case {
        let mut case = self.served.case();
        case.parameters.extend(stated_parameters(&self.properties));
        case
    }

    /// Writes the record so far, and copies it into another file.
    pub(super) fn save_record(&mut self, path: &Path) -> Result<(), String> {
        self.write_record();
        let none = || "the run is not recorded: start it with --record FILE".to_owned();
        let recorder = self.recorder.as_ref().ok_or_else(none)?;
        let copied = recorder.copy(path);
        copied.map_err(|error| {
            format!("the record cannot be written into {}: {error}", path.display())
        })
    }

    /// Writes the beginning of the record.
    pub(super) fn begin_record(&mut self) {
        let case = self.empty_case();
        if let Some(recorder) = &mut self.recorder
            && let Err(error) = recorder.begin(&case)
        {
            self.lose_record(&error);
        }
    }

    /// Writes what has happened since the last record.
    pub(super) fn write_record(&mut self) {
        let Some(recorder) = &mut self.recorder else { return };
        if let Err(error) = recorder.add(self.served.recorded()) {
            self.lose_record(&error);
        }
    }

    /// The ensemble goes on without a record, and says so.
    fn lose_record(&mut self, error: &std::io::Error) {
        eprintln!("the record ends here: {error}");
        self.recorder = None;
    }

    /// Returns the signal that something may be due earlier than before.
    pub(super) fn changed(&self) -> Rc<Notify> {
        Rc::clone(&self.changed)
    }
}

/// Returns the password of a session.
fn password(secrets: &Seeds, session: SessionId) -> Password {
    let mut stream = secrets.stream("password", session.0);
    let mut secret = [0; 16];
    secret[..8].copy_from_slice(&stream.number().to_be_bytes());
    secret[8..].copy_from_slice(&stream.number().to_be_bytes());
    Password(secret)
}

/// Carries out the faults of a seed until the ensemble recovers, and says which.
pub(super) async fn strike(core: Shared, mut chaos: Chaos, tell: impl Fn(&Command)) {
    loop {
        let next = core.borrow().clock.when(chaos.next());
        tokio::time::sleep_until(next.into()).await;
        let mut core = core.borrow_mut();
        if !core.is_struck {
            return;
        }
        let sessions: Vec<SessionId> = core.sessions.keys().copied().collect();
        let now = core.clock.now();
        if let Some(command) = chaos.due(now, &sessions)
            && core.command(&command).is_ok()
        {
            tell(&command);
        }
    }
}

/// Keeps the time of an ensemble until its thread ends.
pub(super) async fn keep_time(core: Shared) {
    let changed = core.borrow().changed();
    loop {
        let next = {
            let core = core.borrow();
            core.served.next().map(|next| core.clock.when(next))
        };
        match next {
            Some(next) => {
                tokio::select! {
                    () = tokio::time::sleep_until(next.into()) => core.borrow_mut().turn(),
                    () = changed.notified() => {}
                }
            }
            None => changed.notified().await,
        }
    }
}
