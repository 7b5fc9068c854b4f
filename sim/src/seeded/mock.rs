//! A toy world for tests of the driver: clients that create znodes one after the other at servers that only count. It
//! is not ZooKeeper, but has the same steps, effects and blockers.

use crate::run::look::Look;
use crate::run::subject::Subject;
use crate::scenario::aftermath::Aftermath;
use crate::scenario::faults::FaultSet;
use crate::scenario::script::Script;
use crate::scenario::settings::Settings;
use crate::scenario::{Choice, Explored, Limits, Scenario};
use crate::seeded::drawn::Drawn;
use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::effect::{Blocker, Effect, Effects, Status};
use vivarium_model::event::Event;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::history::History;
use vivarium_model::id::{
    ClientConnection, ClientId, LearnerConnection, Machine, ServerId, SessionId, Xid,
};
use vivarium_model::op::{CreateMode, Op, Request};
use vivarium_model::path::ZnodePath;
use vivarium_model::property::AskedOfServers;
use vivarium_model::property::{Measure, Objection, Telling};
use vivarium_model::quorum::QuorumVerifier;
use vivarium_model::release::Bugs;
use vivarium_model::setup::Setup;
use vivarium_model::step::Step;
use vivarium_model::time::{Duration, Time};
use vivarium_model::timer::{ClientTimer, Timer};
use vivarium_model::tree::EphemeralType;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::{Epoch, Zxid};

/// The defects of a toy world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Defects {
    /// The client that gets no replies.
    pub(crate) deaf: Option<ClientId>,
    /// The number of a step (from 1) that has an additional effect.
    pub(crate) different: Option<u64>,
    /// The number of the step (from 1) to which a monitor objects.
    pub(crate) objection: Option<u64>,
    /// The number of the step (from 1) at which an assertion fails.
    pub(crate) panic: Option<u64>,
    /// The client whose program finally returns an error.
    pub(crate) failing: Option<ClientId>,
}

#[derive(Clone, Debug)]
struct Client {
    running: bool,
    finished: bool,
    paused: bool,
    rounds: u32,
    xid: Xid,
    to_server: usize,
    to_client: usize,
    committing: usize,
}

/// The toy world.
#[derive(Clone, Debug)]
pub(crate) struct Mock {
    defects: Defects,
    up: Vec<bool>,
    aftermath: Aftermath,
    clients: Vec<Client>,
    cuts: BTreeSet<(Machine, Machine)>,
    history: History,
    zxid: Zxid,
    steps: u64,
}

/// A scenario of the toy world. Its programs and monitors are not used.
pub(crate) fn scenario(faults: FaultSet) -> Scenario {
    Scenario {
        name: "toy".into(),
        summary: "clients create znodes".into(),
        servers: Choice::from(3),
        observers: Choice::from(0),
        joiners: Choice::from(0),
        clients: Choice::from(2..=4),
        rounds: Choice::from(50..=400),
        limits: Limits::Varied,
        setup: Setup::NONE,
        settings: Settings::default(),
        programs: Arc::new(|_| Vec::new()),
        monitors: Arc::new(|_| Vec::new()),
        of_servers: AskedOfServers::ALL,
        awaits_expiry: true,
        marks: Vec::new(),
        script: Script::default(),
        faults,
        bugs: Bugs::NONE,
        chaos: Duration::from_secs(5),
        progress_bound: Duration::from_secs(20),
        explored: Explored::No("is not meant for it".to_string()),
    }
}

impl Mock {
    pub(crate) fn new(drawn: &Drawn, defects: Defects) -> Mock {
        let client = Client {
            running: false,
            finished: false,
            paused: false,
            rounds: drawn.run.rounds,
            xid: Xid::default(),
            to_server: 0,
            to_client: 0,
            committing: 0,
        };
        Mock {
            defects,
            up: vec![true; usize::from(drawn.run.config.servers)],
            aftermath: drawn.run.aftermath.clone(),
            clients: vec![client; usize::from(drawn.run.clients())],
            cuts: BTreeSet::new(),
            history: History::new(),
            zxid: Zxid::new(Epoch(1), 0),
            steps: 0,
        }
    }

    /// Returns the only server that clients use: the first that they can reach at the end.
    fn only_server(&self) -> ServerId {
        let mut servers = (1..).map(ServerId);
        let server = servers.find(|server| !self.aftermath.left_cut_off.contains(server));
        server.expect("a minority is cut off")
    }

    fn client(&mut self, client: ClientId) -> &mut Client {
        &mut self.clients[client.index()]
    }

    fn blocker(&self, step: &Step) -> Option<Blocker> {
        let cut = |from, to| self.cuts.contains(&(from, to)).then_some(Blocker::Cut { from, to });
        let paused = |client: ClientId| {
            self.clients[client.index()].paused.then_some(Blocker::Paused(client))
        };
        let server = Machine::Server(self.only_server());
        match *step {
            Step::ToServer(connection) => cut(Machine::Client(connection.client), server),
            Step::ToClient(connection) => cut(server, Machine::Client(connection.client))
                .or_else(|| paused(connection.client)),
            Step::Start(client) | Step::Input(client) | Step::Fire(Timer::Client(client, _)) => {
                paused(client)
            }
            _ => None,
        }
    }

    fn possible(&mut self, step: &Step, effects: &mut Effects) -> bool {
        match *step {
            Step::Start(client) => self.start(client, effects),
            Step::Input(client) => self.input(client, effects),
            Step::ToServer(connection) => self.server_reads(connection, effects),
            Step::Fsync(_) => self.fsync(effects),
            Step::ToClient(connection) => self.client_reads(connection, effects),
            Step::Fire(Timer::Client(client, _)) => {
                let running = self.client(client).running;
                if running {
                    effects.due(Step::Input(client));
                }
                running
            }
            Step::BreakClient { connection, to_server, to_client } => {
                self.break_client(connection, to_server.into(), to_client.into(), effects)
            }
            Step::Crash { server, .. } => std::mem::replace(&mut self.up[server.index()], false),
            Step::Restart(server) => !std::mem::replace(&mut self.up[server.index()], true),
            Step::Rejoin(server) => self.up[server.index()],
            Step::Cut { from, to } => self.cuts.insert((from, to)),
            Step::Heal { from, to } => {
                let healed = self.cuts.remove(&(from, to));
                self.unblocked(healed, Blocker::Cut { from, to }, effects)
            }
            Step::Kill(client) => std::mem::replace(&mut self.client(client).running, false),
            Step::Pause(client) => !std::mem::replace(&mut self.client(client).paused, true),
            Step::Resume(client) => {
                let resumed = std::mem::replace(&mut self.client(client).paused, false);
                self.unblocked(resumed, Blocker::Paused(client), effects)
            }
            _ => false,
        }
    }

    fn unblocked(&self, done: bool, blocker: Blocker, effects: &mut Effects) -> bool {
        if done {
            effects.push(Effect::Unblocked(blocker));
        }
        done
    }

    fn start(&mut self, client: ClientId, effects: &mut Effects) -> bool {
        let node = self.client(client);
        if node.running || node.finished {
            return false;
        }
        node.running = true;
        effects.event(Event::Started { client });
        effects.due(Step::Input(client));
        true
    }

    fn input(&mut self, client: ClientId, effects: &mut Effects) -> bool {
        let fails = self.defects.failing == Some(client);
        let node = self.client(client);
        if !node.running {
            return false;
        }
        if node.rounds == 0 {
            node.running = false;
            node.finished = true;
            let result = if fails { Err("out of luck".to_string()) } else { Ok(()) };
            effects.event(Event::Finished { client, result });
            return true;
        }
        node.xid = node.xid.next();
        node.to_server += 1;
        let connection = connection(client);
        let session = SessionId(client.0.into());
        effects.event(Event::Sent {
            client,
            session,
            connection,
            xid: node.xid,
            request: create(),
        });
        effects.due(Step::ToServer(connection));
        // The client sends a request without an answer again.
        let timer = Timer::Client(client, ClientTimer::Read);
        effects.arm(timer, Duration::from_millis(500));
        true
    }

    fn server_reads(&mut self, connection: ClientConnection, effects: &mut Effects) -> bool {
        if self.client(connection.client).to_server == 0 {
            return false;
        }
        let node = self.client(connection.client);
        node.to_server -= 1;
        node.committing += 1;
        let xid = node.xid;
        effects.event(Event::Proposed {
            leader: self.only_server(),
            txn: self.txn(connection.client, xid),
        });
        effects.due(Step::Fsync(ServerId(2)));
        true
    }

    fn fsync(&mut self, effects: &mut Effects) -> bool {
        let Some(at) = self.clients.iter().position(|client| client.committing > 0) else {
            return false;
        };
        let client = ClientId::at(at);
        let txn = self.txn(client, self.clients[at].xid);
        self.zxid = txn.zxid;
        effects.event(Event::Committed { leader: self.only_server(), txn: Arc::clone(&txn) });
        self.clients[at].committing -= 1;
        if self.defects.deaf != Some(client) {
            self.clients[at].to_client += 1;
            effects.due(Step::ToClient(connection(client)));
        }
        let digest = self.history.tree().digest();
        effects.event(Event::Applied { server: self.only_server(), txn, digest });
        true
    }

    fn client_reads(&mut self, connection: ClientConnection, effects: &mut Effects) -> bool {
        let node = self.client(connection.client);
        if node.to_client == 0 {
            return false;
        }
        node.to_client -= 1;
        node.rounds = node.rounds.saturating_sub(1);
        effects.disarm(Timer::Client(connection.client, ClientTimer::Read));
        effects.due(Step::Input(connection.client));
        true
    }

    fn break_client(
        &mut self,
        connection: ClientConnection,
        to_server: usize,
        to_client: usize,
        effects: &mut Effects,
    ) -> bool {
        let node = self.client(connection.client);
        node.to_server = node.to_server.min(to_server);
        node.to_client = node.to_client.min(to_client);
        let (session, xid) = (SessionId(connection.client.0.into()), node.xid);
        effects.event(Event::Lost { client: connection.client, session, xid, request: create() });
        true
    }

    fn txn(&self, client: ClientId, cxid: Xid) -> Arc<Txn> {
        let zxid = Zxid::new(Epoch(1), self.zxid.counter() + 1);
        let path = ZnodePath::new("/a").unwrap();
        let body = TxnBody::create(path, [], EphemeralType::Void, 1);
        Arc::new(Txn { zxid, session: SessionId(client.0.into()), cxid, time: 0, body })
    }
}

fn connection(client: ClientId) -> ClientConnection {
    ClientConnection { client, slot: 0 }
}

fn create() -> Arc<Request> {
    let mode = CreateMode::Persistent;
    Arc::new(Request::Write(Op::create("/a", [], mode)))
}

impl Subject for Mock {
    fn begin(&mut self, effects: &mut Effects) {
        for at in 0..self.clients.len() {
            effects.due(Step::Start(ClientId::at(at)));
        }
    }

    fn apply(&mut self, at: Time, step: &Step, effects: &mut Effects) -> Result<Status, Objection> {
        if let Some(blocker) = self.blocker(step) {
            return Ok(Status::Blocked(blocker));
        }
        if !self.possible(step, effects) {
            return Ok(Status::NotEnabled);
        }
        self.steps += 1;
        effects.absorb(&(at, step));
        if self.defects.different == Some(self.steps) {
            effects.due(Step::Append(ServerId(3)));
        }
        assert_ne!(self.defects.panic, Some(self.steps), "a planted panic");
        if self.defects.objection == Some(self.steps) {
            return Err(Objection::new("toy", format!("step {}", self.steps)));
        }
        Ok(Status::Done)
    }

    fn end(&mut self, _at: Time) -> Result<(), Objection> {
        assert!(self.clients.iter().all(|client| client.finished), "the end came too early");
        let is_cut = |from, to| self.cuts.contains(&(from, to));
        for (from, to) in &self.cuts {
            assert!(self.aftermath.stays_cut(*from, *to), "the end was not healed: {from}, {to}");
        }
        for server in &self.aftermath.left_cut_off {
            let (it, other) = (Machine::Server(*server), Machine::Client(ClientId(1)));
            assert!(is_cut(it, other) && is_cut(other, it), "{server} can be heard at the end");
        }
        for (number, up) in (1..).zip(&self.up) {
            let stays_down = self.aftermath.left_down.contains(&ServerId(number));
            assert_ne!(*up, stays_down, "server {number} at the end");
        }
        Ok(())
    }

    fn measured(&self) -> Vec<Measure> {
        Vec::new()
    }

    fn tell(&mut self, _telling: Telling) {}

    fn monitors(&self) -> Vec<(String, Fingerprint)> {
        Vec::new()
    }

    fn history(&self) -> &History {
        &self.history
    }

    fn allows(&self, step: &Step) -> Result<(), Status> {
        unreachable!("the driver takes {step} and does not ask")
    }

    fn is_serving(&self, server: ServerId) -> bool {
        self.is_up(server)
    }

    fn waits_for(&self, client: ClientId) -> String {
        format!("{} rounds to go", self.clients[client.index()].rounds)
    }

    fn state_of(&self, server: ServerId) -> String {
        if self.is_up(server) { "serving".into() } else { "down".into() }
    }
}

impl Look for Mock {
    fn servers(&self) -> u8 {
        self.up.len() as u8
    }

    fn quorum_verifier(&self) -> QuorumVerifier {
        QuorumVerifier::majority(self.servers())
    }

    fn clients(&self) -> u8 {
        self.clients.len() as u8
    }

    fn is_up(&self, server: ServerId) -> bool {
        self.up[server.index()]
    }

    fn leader(&self) -> Option<ServerId> {
        Some(self.only_server()).filter(|server| self.is_up(*server))
    }

    fn client_connection(&self, client: ClientId) -> Option<ClientConnection> {
        self.clients[client.index()].running.then(|| connection(client))
    }

    fn attached_to(&self, client: ClientId) -> Option<ServerId> {
        self.client_connection(client).map(|_| self.only_server())
    }

    fn learner_connection(&self, _server: ServerId) -> Option<LearnerConnection> {
        None
    }

    fn under_way(&self, connection: ClientConnection) -> (usize, usize) {
        let client = &self.clients[connection.client.index()];
        (client.to_server, client.to_client)
    }

    fn under_way_learner(&self, _connection: LearnerConnection) -> (usize, usize) {
        (0, 0)
    }

    fn unsynced(&self, _server: ServerId) -> usize {
        3
    }

    fn session(&self, client: ClientId) -> Option<SessionId> {
        Some(SessionId(client.0.into()))
    }

    fn is_cut(&self, from: Machine, to: Machine) -> bool {
        self.cuts.contains(&(from, to))
    }

    fn is_running(&self, client: ClientId) -> bool {
        self.clients[client.index()].running
    }

    fn is_paused(&self, client: ClientId) -> bool {
        self.clients[client.index()].paused
    }

    fn can_cancel(&self, client: ClientId) -> bool {
        self.is_running(client)
    }
}
