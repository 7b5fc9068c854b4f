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
use vivarium_model::release::Bugs;
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
mod tests {
    use super::*;
    use vivarium_model::error::Error;
    use vivarium_model::id::Xid;
    use vivarium_model::op::{CreateMode, Op, Request};
    use vivarium_model::release::{Bug, Release};

    fn connect(session: Option<SessionId>) -> ClientPacket {
        let timeout = Duration::from_secs(6);
        ClientPacket::Connect {
            last_zxid_seen: Default::default(),
            timeout,
            session,
            read_only: false,
        }
    }

    fn create(xid: u32, path: &str) -> ClientPacket {
        let request = Request::Write(Op::create(path, *b"", CreateMode::Ephemeral));
        ClientPacket::Request { xid: Xid(xid), request: Arc::new(request) }
    }

    /// Opens a session at this server; `None` if it does not answer.
    fn session(replica: &mut Replica, server: u8) -> Option<(ClientConnection, SessionId)> {
        let connection = replica.open(ServerId(server));
        replica.send(connection, connect(None));
        match replica.receive(connection) {
            Some(Delivered::Packet(ServerPacket::Connected { session, .. })) => {
                Some((connection, session))
            }
            _ => None,
        }
    }

    /// A run in which clients connect, write, reattach to another server and expire, while servers crash and restart.
    fn story() -> Replica {
        let mut replica = Replica::new(3, Release::Repaired.bugs(), ServerOptions::default());
        tell(&mut replica).expect("every client gets its answers");
        replica
    }

    fn tell(replica: &mut Replica) -> Option<()> {
        let (one, owner) = session(replica, 1)?;
        replica.send(one, create(1, "/a"));
        replica.receive(one)?;
        replica.crash(ServerId(3));
        let (two, _) = session(replica, 2)?;
        replica.send(two, create(1, "/b"));
        replica.close(one);
        let again = replica.open(ServerId(2));
        replica.send(again, connect(Some(owner)));
        replica.restart(ServerId(3));
        replica.expire(owner);
        Some(())
    }

    #[test]
    fn what_clients_outside_do_is_recorded_and_replays_to_the_same_hash() {
        let replica = story();
        assert_eq!(replica.violation(), None);
        assert!(replica.tree().node("/b").is_some() && replica.tree().node("/a").is_none());
        let case = replica.case();
        let written = serde_json::to_string(&case).expect("a case can be written");
        let read: Case = serde_json::from_str(&written).expect("and read");
        assert_eq!(read, case);
        for _ in 0..2 {
            let replayed = replay(&read).expect("it is a case of a replica");
            assert_eq!((replayed.hash, replayed.skipped.len()), (case.hash, 0));
            assert_eq!(replayed.objection, None);
        }
    }

    /// A leader's own sync waits for what is committed and not applied, but not for a write that its client has sent after
    /// it: that one is answered after the sync.
    #[test]
    fn a_sync_between_two_writes_of_its_client_is_answered_in_its_turn() {
        let mut replica = Replica::new(1, Release::Repaired.bugs(), ServerOptions::default());
        let (connection, _) = session(&mut replica, 1).expect("the server answers");
        let sync = Arc::new(Request::Sync { path: "/".into() });
        let sync = ClientPacket::Request { xid: Xid(2), request: sync };
        replica.send_together(connection, [create(1, "/a"), sync, create(3, "/b")]);
        let mut answered = Vec::new();
        while let Some(Delivered::Packet(ServerPacket::Reply { xid, result, .. })) =
            replica.receive(connection)
        {
            assert!(result.is_ok());
            answered.push(xid.0);
        }
        assert_eq!((answered, replica.violation()), (vec![1, 2, 3], None));
    }

    /// An older server answers an operation that it does not know before a write that waits, closes the connection, and
    /// keeps the session.
    #[test]
    fn an_unknown_operation_costs_the_connection_and_no_more() {
        let who = || ClientPacket::Request { xid: Xid(2), request: Arc::new(Request::WhoAmI) };
        let answers = |operations_of| {
            let options = ServerOptions { operations_of, ..ServerOptions::default() };
            let mut replica = Replica::new(1, Release::Repaired.bugs(), options);
            let (connection, owner) = session(&mut replica, 1).expect("the server answers");
            replica.send_together(connection, [create(1, "/a"), who()]);
            let mut told = Vec::new();
            while let Some(delivered) = replica.receive(connection) {
                told.push(match delivered {
                    Delivered::Packet(ServerPacket::Reply { xid, zxid, result }) => {
                        (xid.0, zxid.counter(), result.err())
                    }
                    _ => break,
                });
            }
            let again = replica.open(ServerId(1));
            replica.send(again, connect(Some(owner)));
            let lives = matches!(
                replica.receive(again),
                Some(Delivered::Packet(ServerPacket::Connected { session, .. })) if session == owner
            );
            assert_eq!(replica.violation(), None);
            (told, lives, replica.tree().node("/a").is_some())
        };
        let refused = vec![(2, 0, Some(Error::Unimplemented))];
        assert_eq!(answers(Release::V3_6_4), (refused, true, true));
        assert_eq!(answers(Release::V3_7_2), (vec![(1, 2, None), (2, 2, None)], true, true));
    }

    /// Another packet results in another hash.
    #[test]
    fn the_hash_knows_what_was_sent() {
        let mut case = story().case();
        let sent = case.outside.iter_mut().find_map(|input| match input {
            Outside::Sends { packet: packet @ ClientPacket::Request { .. }, .. } => Some(packet),
            _ => None,
        });
        *sent.expect("a request was sent") = create(1, "/c");
        assert_ne!(replay(&case).expect("it can be replayed").hash, case.hash);
    }

    /// The first commit of a server that writes its first snapshot in place violates S3.
    #[test]
    fn a_defect_of_the_servers_is_objected_to_and_the_case_ends_there() {
        let bugs = Bugs::NONE.with(Bug::SnapshotWrittenInPlace);
        let mut replica = Replica::new(1, bugs, ServerOptions::default());
        let (connection, _) = session(&mut replica, 1).expect("the server answers");
        replica.send(connection, create(1, "/a"));
        let case = replica.case();
        let objection = case.violation.as_ref().expect("it is committed and not durable");
        assert_eq!(
            (objection.property.as_str(), replica.violation()),
            ("S3 committed means durable", Some(objection))
        );
        let replayed = replay(&case).expect("it is a case of a replica");
        assert!(replayed.is_run_of(&case) && replayed.taken.len() == case.steps.len());
        assert_eq!(replayed.objection, case.violation);
    }

    /// A case file can contain any input.
    #[test]
    fn inputs_that_make_no_sense_are_refused_or_not_possible() {
        let case = story().case();
        let mut no_input = case.clone();
        no_input.outside.pop();
        let refused = replay(&no_input).expect_err("the last input is missing");
        assert!(refused.contains("from outside"), "{refused}");
        for number in [0, 999] {
            let mut far = case.clone();
            far.outside[0] = Outside::Opens { client: ClientId(number), server: ServerId(1) };
            assert!(!replay(&far).expect("it is skipped").skipped.is_empty());
        }
        let mut closed = case.clone();
        closed.config.outside = false;
        assert!(replay(&closed).is_err());
    }
}
