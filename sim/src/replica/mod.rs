//! A modelled ensemble for clients outside of the run ([`Outside`]), which is driven until nothing is due.
//!
//! Steps are taken in the order in which they become due, so the answer has arrived when [`Replica::send`] returns.
//! Time passes only when the caller says so, and only the timers that the caller asks for fire.
//!
//! A replica chooses steps, like the simulator and the explorer. A packet from its clients is a step too, so its run
//! can be recorded as a [`Case`] and replayed ([`replay`]), and the monitors of servers check it while it runs.

mod judged;

pub(crate) use judged::{JUDGED, Judged, Judges};

use crate::recorded::due_timers::DueTimers;
use crate::recorded::replay::Timers;
use crate::recorded::steps::{Replayed, replayed_at};
use crate::run::demands::asserted;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::config::{Config, Election, ServerOptions};
use vivarium_model::effect::{Effect, Effects, Status};
use vivarium_model::ensemble::Ensemble;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::{ClientConnection, ClientId, ServerId, ServerSet, SessionId};
use vivarium_model::network::Delivered;
use vivarium_model::outside::Outside;
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::property::{Monitor, Objection};
use vivarium_model::quorum::QuorumVerifier;
use vivarium_model::release::Bugs;
use vivarium_model::server::{Role, Server};
use vivarium_model::step::{Step, Tail};
use vivarium_model::time::{Duration, Time};
use vivarium_model::timer::{ServerTimer, Timer};
use vivarium_model::tree::DataTree;

/// The scenario name in a replica's cases.
pub const SCENARIO: &str = "outside";

/// The virtual time between two packets; it gives every transaction a time of its own.
const PACE: Duration = Duration::from_millis(10);

/// The time of the start: not 0, because only the initial znodes have time 0.
const PACE_START: Time = Time(1_000_000);

/// A modelled ensemble whose clients speak the protocol themselves.
pub struct Replica {
    judged: Judged,
    due: VecDeque<Step>,
    now: Time,
    effects: Effects,
    steps: Vec<(Time, Step)>,
    violated: Option<Violated>,
}

/// The first objection, and the hash of the run at this point, where the recording ends.
struct Violated {
    objection: Objection,
    hash: Fingerprint,
}

impl fmt::Debug for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replica").field("steps", &self.steps.len()).finish_non_exhaustive()
    }
}

impl Replica {
    /// Creates servers, which elect a leader.
    pub fn new(servers: u8, bugs: Bugs, options: ServerOptions) -> Replica {
        Replica::with_observers(servers, 0, bugs, options)
    }

    /// Creates servers, which elect a leader, and observers, which have the highest ids.
    pub fn with_observers(
        voters: u8,
        observers: u8,
        bugs: Bugs,
        options: ServerOptions,
    ) -> Replica {
        let servers = voters + observers;
        let mut config = Config::new(servers, 0);
        config.observers = observers;
        config.bugs = bugs;
        config.options = options;
        config.election = Election::Oracle;
        config.outside = true;
        let mut replica = Replica {
            judged: Judged::new(&Arc::new(config), Judges::Servers, Vec::new()),
            due: VecDeque::new(),
            now: PACE_START,
            effects: Effects::hashed(),
            steps: Vec::new(),
            violated: None,
        };
        for server in 1..=servers {
            replica.take(Step::Restart(ServerId(server)));
        }
        replica.settle();
        replica.elect();
        replica
    }

    fn ensemble(&self) -> &Ensemble {
        self.judged.world.ensemble()
    }

    /// Returns the server that leads.
    pub fn leader(&self) -> Option<ServerId> {
        self.ensemble().leader()
    }

    /// Returns the configuration that the leader has activated.
    ///
    /// # Panics
    /// Panics if there is no leader.
    pub fn configuration(&self) -> QuorumVerifier {
        let leader = self.leader().expect("the replica has a leader");
        self.ensemble().disk(leader).configurations(leader, self.ensemble().config()).quorum
    }

    /// Returns what a server says of its role: `leader`, `follower`, `observer`, or that it has none.
    pub fn mode(&self, server: ServerId) -> &'static str {
        match self.ensemble().server(server).map(Server::role) {
            Some(Role::Leading(_)) => "leader",
            Some(Role::Following(_)) => "follower",
            Some(Role::Observing(_)) => "observer",
            Some(Role::Looking) | None => "none",
        }
    }

    /// Returns the leader's tree.
    ///
    /// # Panics
    /// Panics if there is no leader.
    pub fn tree(&self) -> &DataTree {
        let leader = self.leader().expect("the replica has a leader");
        self.ensemble().server(leader).expect("a leader is up").tree()
    }

    /// Opens a connection of a new client.
    pub fn open(&mut self, server: ServerId) -> ClientConnection {
        let client: ClientId = self.ensemble().next_outside();
        self.outside(Outside::Opens { client, server });
        ClientConnection { client, slot: 0 }
    }

    /// Sends a packet and runs all steps that it causes.
    pub fn send(&mut self, connection: ClientConnection, packet: ClientPacket) {
        self.send_together(connection, [packet]);
    }

    /// Sends packets without waiting between them, and runs all steps that they cause.
    pub fn send_together(
        &mut self,
        connection: ClientConnection,
        packets: impl IntoIterator<Item = ClientPacket>,
    ) {
        self.now = self.now + PACE;
        for packet in packets {
            self.outside(Outside::Sends { connection, packet });
        }
        self.settle();
        // A reconfiguration can let a server leave its role.
        self.elect();
    }

    /// Returns the next packet of a connection or its end; `None` if there is nothing to receive.
    pub fn receive(&mut self, connection: ClientConnection) -> Option<Delivered<ServerPacket>> {
        let reads = Step::ToClient(connection);
        if !self.take(reads) {
            return None;
        }
        let mut read = self.effects.to_outside.drain(..);
        read.next().map(|(_, delivered)| delivered)
    }

    /// Returns true if there is something to receive: a packet or the end of the connection.
    pub fn has_packet(&self, connection: ClientConnection) -> bool {
        self.ensemble().can(&Step::ToClient(connection))
    }

    /// Closes the connection without closing the session.
    pub fn close(&mut self, connection: ClientConnection) {
        self.outside(Outside::HangsUp { connection });
        self.settle();
    }

    /// Expires a session.
    pub fn expire(&mut self, session: SessionId) {
        self.now = self.now + PACE;
        self.take(Step::Expire(session));
        self.settle();
    }

    /// Advances the time by `after`; then the leader checks for containers and TTL znodes to delete.
    pub fn check_containers(&mut self, after: Duration) {
        self.now = self.now + after;
        if let Some(leader) = self.leader() {
            let fire = |timer| Step::Fire(Timer::Server(leader, timer));
            self.take(fire(ServerTimer::Containers));
            self.settle();
            while self.ensemble().can(&fire(ServerTimer::DeleteContainer)) {
                self.take(fire(ServerTimer::DeleteContainer));
                self.settle();
            }
        }
    }

    /// Crashes a server, which keeps everything that it has logged.
    pub fn crash(&mut self, server: ServerId) {
        let everything = Tail { survive: u8::MAX, snapshots: true, packets: u8::MAX, ..Tail::LOST };
        self.take(Step::Crash { server, tail: everything });
        self.settle();
        self.elect();
    }

    /// Restarts a crashed server.
    pub fn restart(&mut self, server: ServerId) {
        self.take(Step::Restart(server));
        self.settle();
        self.elect();
    }

    /// Returns the objection to the first property violated so far.
    pub fn violation(&self) -> Option<&Objection> {
        self.violated.as_ref().map(|violated| &violated.objection)
    }

    /// Returns the run so far, up to the first violation.
    pub fn case(&self) -> Case {
        let hasher = self.effects.hasher.as_ref().expect("it was made with one");
        let inputs = self.judged.world.outside().iter();
        Case {
            outside: inputs.map(|input| Outside::clone(input)).collect(),
            steps: self.steps.clone(),
            hash: self.violated.as_ref().map_or_else(|| hasher.fingerprint(), |it| it.hash),
            violation: self.violation().cloned(),
            ..empty_case(self.ensemble().config())
        }
    }

    /// Lets LOOKING servers join the leader; without a leader, they elect the best of them.
    fn elect(&mut self) {
        loop {
            let looking = self.ensemble().looking();
            if looking.is_empty() {
                return;
            }
            let steps: Vec<Step> = match self.leader() {
                Some(leader) => looking.iter().map(|one| joins(leader, one)).collect(),
                None => looking
                    .iter()
                    .map(|leader| {
                        let followers = looking.iter().filter(|other| *other != leader);
                        Step::Elect { leader, followers: followers.collect::<ServerSet>() }
                    })
                    .collect(),
            };
            let done = steps.into_iter().any(|step| self.take(step));
            self.settle();
            if !done {
                return;
            }
        }
    }

    /// Takes all due steps, except the clients' reads.
    fn settle(&mut self) {
        let mut blocked = 0;
        while let Some(step) = self.due.pop_front() {
            match self.apply(step) {
                Status::Blocked(_) => {
                    self.due.push_back(step);
                    blocked += 1;
                    assert!(blocked < 10_000, "{step} stays blocked");
                }
                Status::Done | Status::NotEnabled => blocked = 0,
            }
        }
    }

    fn outside(&mut self, input: Outside) {
        let step = self.judged.world.from_outside(input);
        self.take(step);
    }

    fn take(&mut self, step: Step) -> bool {
        self.apply(step) == Status::Done
    }

    fn apply(&mut self, step: Step) -> Status {
        self.effects.clear();
        let taken = asserted(|| self.judged.take(self.now, &step, &mut self.effects));
        let (status, objection) = match taken.and_then(|taken| taken) {
            Ok(status) => (status, None),
            Err(objection) => (Status::Done, Some(objection)),
        };
        if status == Status::Done && self.violated.is_none() {
            self.steps.push((self.now, step));
            let hasher = self.effects.hasher.as_ref().expect("it was made with one");
            self.violated =
                objection.map(|objection| Violated { objection, hash: hasher.fingerprint() });
        }
        let due = self.effects.effects.drain(..).filter_map(|effect| match effect {
            Effect::Due(Step::ToClient(_)) => None,
            Effect::Due(step) => Some(step),
            _ => None,
        });
        self.due.extend(due);
        status
    }
}

/// Returns the case of a run of clients outside that has not begun.
pub(crate) fn empty_case(config: &Config) -> Case {
    Case {
        version: Case::VERSION,
        scenario: SCENARIO.into(),
        grain: GrainKind::Ensemble,
        parameters: BTreeMap::new(),
        seed: None,
        bugs: config.bugs.iter().map(|bug| bug.name().to_string()).collect(),
        outside: Vec::new(),
        steps: Vec::new(),
        hash: Effects::hashed().hasher.map(|hasher| hasher.fingerprint()).unwrap_or_default(),
        violation: None,
        config: config.clone(),
    }
}

fn joins(leader: ServerId, follower: ServerId) -> Step {
    Step::Elect { leader, followers: [follower].into_iter().collect() }
}

/// Replays a replica's case, judged by the monitors of servers.
///
/// # Errors
/// Returns one sentence about what is wrong with the case.
pub fn replay(case: &Case) -> Result<Replayed, String> {
    replay_judged(case, Vec::new())
}

/// Replays a replica's case, judged by further monitors as well: those of what its programs observed.
///
/// # Errors
/// Returns one sentence about what is wrong with the case.
pub fn replay_judged(case: &Case, further: Vec<Box<dyn Monitor>>) -> Result<Replayed, String> {
    replay_with(case, further, Timers::AsRecorded)
}

/// Replays the case, with timers that fire as recorded or only when they are due.
///
/// # Errors
/// One sentence that says what is wrong with the case.
pub(crate) fn replay_with(
    case: &Case,
    further: Vec<Box<dyn Monitor>>,
    timers: Timers,
) -> Result<Replayed, String> {
    case.check()?;
    if case.grain != GrainKind::Ensemble || !case.config.clients.is_empty() || !case.config.outside
    {
        return Err(format!("its configuration is not one of `{SCENARIO}`"));
    }
    let mut judged = Judged::new(&Arc::new(case.config.clone()), Judges::of(case), further);
    for input in &case.outside {
        judged.world.from_outside(input.clone());
    }
    let mut effects = Effects::hashed();
    effects.notes = Some(Vec::new());
    let mut due = DueTimers::default();
    Ok(replayed_at(&case.steps, &mut effects, &mut |at, step, effects| {
        if timers == Timers::WhenDue && due.is_early(at, step) {
            return Ok(Status::NotEnabled);
        }
        let taken = asserted(|| judged.take(at, step, effects)).and_then(|taken| taken);
        due.note(at, effects);
        taken
    }))
}

#[cfg(test)]
mod tests;
