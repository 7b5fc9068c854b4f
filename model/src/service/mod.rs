//! The service grain: exactly what ZooKeeper promises to its clients.
//!
//! It has no servers but only their observable behaviour: **one totally ordered log** of transactions, applied to the
//! same [`DataTree`](crate::tree::DataTree), and for each client a connection to *some* server, which has applied
//! some prefix of the log. Client machines and their programs are those of the ensemble grain, so they get the same
//! inputs in the same order; the same [`Prep`] decides requests. A monitor checks that every simulated run of the
//! ensemble is a run of this grain ([`Bridge`](crate::property::Bridge)).
//!
//! | Part | Rule |
//! |---|---|
//! | a write is checked and appended to the log in one step | rules 4.3.1 and 4.6.1: writes are linearizable |
//! | its reply shows a server that has applied the log up to it | rules 4.5.5 and 4.6.1 |
//! | a read shows any prefix of the log at or after the server's: [`Step::Serve`] chooses it | rule 4.6.2: local, stale, from a prefix, monotone |
//! | a new connection may show less than the last one, but never less than the client's last zxid | rules 2.1.2 and 2.8.6 |
//! | `sync` shows nothing new | rule 4.6.4: no quorum round, a deposed leader answers it too; and rule 4.5.6 |
//! | requests of a connection are served in order, replies come in order | rules 2.8.5 and 4.5.4 |
//! | a notification is sent before any reply that reflects its change; events are in zxid order; none is lost while the connection lasts | rules 3.2.1, 3.2.3 and 3.2.4 ([`Step::Notify`]) |
//! | SetWatches on reconnect, at any prefix from the last zxid on | rules 3.2.5 and 3.4.1 |
//! | after a lost connection, the writes that were served have happened; the others may still happen, in order ([`Step::Late`]), until the session is accepted again | rules 2.4.1 and 2.4.2: the leader refuses the old owner |
//! | so a `create()` without a reply was applied, is applied late, is never applied, or was applied and is not visible at the next server | rules 2.4.2 and 2.8.4 |
//! | a session can expire at any moment ([`Step::Expire`]): the leader refuses its writes and its re-attachment immediately, while its ephemerals exist until its closeSession commits ([`Step::CloseSession`]) | rules 2.3.2 and 2.4.1 |
//! | an expired session's connection can still read until its server has applied the closeSession; so can a new connection, to a server of a deposed leader that does not know that its successor has closed the session | rules 2.3.5 and 2.4.2; runs of the ensemble grain |
//! | a client that [may](crate::vocabulary::config::ClientConfig::expires_locally) can give up its session by its own clock at any moment, and loses its connection with it; the session lives on until it expires | rule 2.8.3 |
//! | the leader can delete a container that has lost its children, and a TTL znode without children, at any moment ([`Step::DeleteContainer`]), whatever its time to live: there is no clock; the leader's check and its decision are one step | rule 1.5.4 |
//! | an expired session's client learns of the expiry when it reconnects; its next session is usually created after the closeSession, but not if the leader failed before committing that | rules 2.3.3 and 4.3.3: at the end of a leadership everything outstanding is dropped, and a new leader tracks all sessions of its tree |
//!
//! Left out, because no client can observe it: failed transactions take no zxid here, and creates leave gaps before
//! them (a gap tells a program nothing, since any client's failure makes one); durations; leaders, whose change only
//! looks like a lost connection. Pings are not sent, because the end of a silent connection is also a lost
//! connection. A session's number counts the sessions of its client, where a real server counts its own.

mod choices;
mod containers;
mod footprint;
mod lines;
pub(crate) mod link;
pub(crate) mod log;
mod pieces;
mod serve;
mod steady;

pub use choices::Prefixes;
pub use footprint::{OwnSessions, Reads};
pub use pieces::{Common, Floor, Share};

use crate::client::ClientMachine;
use crate::network::Delivered;
use crate::program::host::Output;
use crate::program::machines::{ClientNode, Machines, ProgramState, Resources, Told, Wire};
use crate::server::prep::Prep;
use crate::vocabulary::config::Config;
use crate::vocabulary::effect::{Effects, Status};
use crate::vocabulary::fingerprint::{Fingerprint, Tracked};
use crate::vocabulary::id::{ClientConnection, ClientId, ServerId, SessionId};
use crate::vocabulary::outside::Outside;
use crate::vocabulary::packet::ClientPacket;
use crate::vocabulary::step::Step;
use crate::vocabulary::time::Time;
use crate::vocabulary::timer::{ClientTimer, Timer};
use crate::vocabulary::zxid::{Epoch, Zxid};
use crate::world::grain::Grain;
use link::{LateWrite, Link};
use log::Log;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The leader in events of commits: this grain does not know which server leads.
const LEADER: ServerId = ServerId(1);

/// The abstract ZooKeeper with its clients.
#[derive(Clone, Debug)]
pub struct Service {
    config: Arc<Config>,
    log: Log,
    /// The zxid before that of the next transaction, if the engine has chosen it.
    number: Option<Zxid>,
    /// Sessions, and the checks of every write.
    prep: Tracked<Prep>,
    pub(crate) clients: Vec<Tracked<ClientNode>>,
    links: Links,
    resources: Resources,
}

/// The connections, and the writes of lost connections that may still arrive.
#[derive(Clone, Debug)]
struct Links {
    config: Arc<Config>,
    links: Vec<Tracked<Link>>,
    late: BTreeMap<SessionId, VecDeque<LateWrite>>,
    /// Number of sessions that each client has begun.
    sessions: Vec<u32>,
}

impl Service {
    /// Returns a ZooKeeper with the initial znodes of its configuration.
    pub fn new(config: Arc<Config>) -> Service {
        let clients = config.clients.len();
        let log = Log::beginning_with(config.first_tree());
        let prep = Prep::new(Epoch(1), &log.last().tree);
        let client = |at: usize| Tracked::new(ClientNode::new(&config, ClientId::at(at)));
        let link = |at: usize| Tracked::new(Link::closed(ClientId::at(at), &config));
        Service {
            clients: (0..clients).map(client).collect(),
            links: Links {
                links: (0..clients).map(link).collect(),
                config: Arc::clone(&config),
                late: BTreeMap::new(),
                sessions: vec![0; clients],
            },
            log,
            number: None,
            prep: Tracked::new(prep),
            resources: Resources::new(),
            config,
        }
    }

    /// Returns the configuration; only the parts that concern clients matter at this grain.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Returns the ids of all clients.
    pub fn client_ids(&self) -> impl Iterator<Item = ClientId> + use<> {
        (0..self.clients.len()).map(ClientId::at)
    }

    /// Returns the session that a client's machine considers its own.
    pub fn session(&self, client: ClientId) -> Option<SessionId> {
        self.clients[client.index()].machine.session()
    }

    /// Returns true if the leader considers a session alive: neither expired nor closed.
    pub fn is_alive(&self, session: SessionId) -> bool {
        self.prep.sessions().touch(session).is_some()
    }

    /// Returns true if a client can give up its session by its own clock while its servers keep it (rule 2.8.3).
    pub fn can_give_up(&self, client: ClientId) -> bool {
        self.clients[client.index()].machine.is_armed(ClientTimer::Expiry)
    }

    /// Returns true if a client has a connection that can break.
    pub fn is_connected(&self, client: ClientId) -> bool {
        self.links.links[client.index()].open
    }

    /// Returns the name of a client's connection.
    pub fn connection(&self, client: ClientId) -> ClientConnection {
        Link::name(client)
    }

    /// Returns true if a client's program awaits a cancellation.
    pub fn can_cancel(&self, client: ClientId) -> bool {
        !self.clients[client.index()].cancellable.is_empty()
    }

    fn machines(&mut self) -> Machines<'_, Links> {
        let (nodes, resources) = (&mut self.clients, &mut self.resources);
        Machines { nodes, resources, wire: &mut self.links, scope: None }
    }

    /// Takes a step of a client machine or its program, if possible.
    fn on_machine(&mut self, client: ClientId, step: &Step, effects: &mut Effects) -> Status {
        if let Err(status) = self.clients[client.index()].allows(client, step) {
            return status;
        }
        self.machines().take(step, effects);
        Status::Done
    }

    /// Lets a client machine read the next packet of its connection, or its end.
    fn client_reads(&mut self, connection: ClientConnection, effects: &mut Effects) -> Status {
        let client = connection.client;
        let link = &self.links.links[client.index()];
        if !link.open || (link.to_client.is_empty() && !link.hung_up) {
            return Status::NotEnabled;
        }
        let link = self.links.links[client.index()].make_mut();
        match link.to_client.pop_front() {
            Some(packet) => {
                let delivered = Delivered::Packet(packet);
                let machine = &self.clients[client.index()].machine;
                effects.note(|| machine.note(client, None, &delivered));
                self.machines().client_reads(connection, delivered, effects);
            }
            None => self.break_link(client, effects),
        }
        Status::Done
    }

    /// Breaks the connection and notifies the client machine.
    fn break_link(&mut self, client: ClientId, effects: &mut Effects) {
        self.links.end(client);
        let end = Delivered::End { accepted: true };
        self.machines().client_reads(Link::name(client), end, effects);
    }

    fn sum(
        &self,
        client: impl Fn(&Tracked<ClientNode>) -> Fingerprint,
        link: impl Fn(&Tracked<Link>) -> Fingerprint,
        prep: Fingerprint,
    ) -> Fingerprint {
        let mut whole = self.log.fingerprint(self.floor());
        whole.add(prep);
        for (at, (node, its_link)) in self.clients.iter().zip(&self.links.links).enumerate() {
            whole.add(salted(2 * at as u128 + 1, client(node)));
            whole.add(salted(2 * at as u128 + 2, link(its_link)));
        }
        if !self.links.late.is_empty() || !self.resources.is_empty() {
            whole.add(Fingerprint::of(&("rest", &self.links.late, &self.resources)));
        }
        whole
    }

    /// Returns the zxid below which no server will ever show the log again, whatever goes wrong: zero before all
    /// programs have finished. A program can begin a new session at any time, after an expiry, after its own close,
    /// or as its own replacement. That session has seen nothing, and a lost connection can lead it to a server that
    /// lags arbitrarily.
    fn floor(&self) -> Zxid {
        match self.clients.iter().all(|node| node.program == ProgramState::Finished) {
            true => self.log.last().zxid(),
            false => Zxid::ZERO,
        }
    }
}

/// Distinguishes equal parts in different places. Fingerprints are uniformly distributed, so rotating the bits
/// suffices.
fn salted(place: u128, part: Fingerprint) -> Fingerprint {
    Fingerprint(part.0.rotate_left((place as u32 * 7 + 1) % 128) ^ (place << 64))
}

impl Wire for Links {
    const CHOOSES_CLOCKS: bool = true;

    fn open(&mut self, client: ClientId, _server: ServerId) -> ClientConnection {
        let link = self.links[client.index()].make_mut();
        let closed = Link::closed(client, &self.config);
        *link = Link { open: true, after_end: link.after_end, ..closed };
        Link::name(client)
    }

    /// Ignores pings, which only keep connections alive.
    fn send(&mut self, connection: ClientConnection, packet: ClientPacket, _: &mut Effects) {
        if packet != ClientPacket::Ping {
            self.links[connection.client.index()].make_mut().to_server.push_back(packet);
        }
    }

    fn close(&mut self, connection: ClientConnection, _: &mut Effects) {
        self.end(connection.client);
    }
}

impl Links {
    fn end(&mut self, client: ClientId) {
        let link = self.links[client.index()].make_mut();
        if let Some((session, writes)) = link.end(client, &self.config) {
            self.late.insert(session, writes);
        }
    }
}

impl Grain for Service {
    fn config(&self) -> &Arc<Config> {
        &self.config
    }

    fn begin(&mut self, effects: &mut Effects) {
        for at in 0..self.clients.len() {
            effects.due(Step::Start(ClientId::at(at)));
        }
    }

    fn apply(&mut self, _at: Time, step: &Step, effects: &mut Effects) -> Status {
        match *step {
            Step::Serve { client, prefix } => self.serve(client, prefix, effects),
            Step::Notify(client) => self.notify(client, effects),
            Step::Late(session) => self.late(session, effects),
            Step::CloseSession(session) => self.close_session(session, effects),
            Step::DeleteContainer(at) => self.delete_container(at, effects),
            Step::Expire(session) => self.expire(session),
            Step::ToClient(connection) => self.client_reads(connection, effects),
            Step::BreakClient { connection, to_server: 0, to_client: 0 } => {
                let open = self.is_connected(connection.client);
                if open {
                    self.break_link(connection.client, effects);
                }
                done(open)
            }
            Step::Fire(Timer::Client(client, timer))
                if !self.clients[client.index()].machine.is_armed(timer) =>
            {
                Status::NotEnabled
            }
            Step::Fire(Timer::Client(client, _) | Timer::Sleep(client, _))
            | Step::Start(client)
            | Step::Random { client, .. }
            | Step::Clock { client, .. }
            | Step::Resource { client, .. }
            | Step::Message { to: client, .. }
            | Step::Kill(client)
            | Step::Cancel(client) => self.on_machine(client, step, effects),
            _ => Status::NotEnabled,
        }
    }

    /// The service grain has no connections to open from outside.
    fn outside(&mut self, _input: &Outside, _effects: &mut Effects) -> Status {
        Status::NotEnabled
    }

    fn take_input(&mut self, client: ClientId) -> Result<Told, Status> {
        self.machines().take_input(client)
    }

    fn output(&mut self, client: ClientId, output: Output, at: Time, effects: &mut Effects) {
        self.machines().output(client, output, at, effects);
    }

    fn fingerprint(&self) -> Fingerprint {
        self.sum(Tracked::fingerprint, Tracked::fingerprint, self.prep.fingerprint())
    }

    fn recomputed_fingerprint(&self) -> Fingerprint {
        let prep = self.prep.recomputed_fingerprint();
        self.sum(Tracked::recomputed_fingerprint, Tracked::recomputed_fingerprint, prep)
    }

    fn program(&self, client: ClientId) -> ProgramState {
        self.clients[client.index()].program
    }

    fn waits_for(&self, client: ClientId) -> String {
        self.clients[client.index()].waits_for()
    }

    fn machine(&self, client: ClientId) -> &ClientMachine {
        &self.clients[client.index()].machine
    }
}

fn done(done: bool) -> Status {
    if done { Status::Done } else { Status::NotEnabled }
}
