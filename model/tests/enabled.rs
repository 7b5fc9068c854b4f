//! Enabledness has one definition: the answer about a step agrees with the result of taking it.
//!
//! In random runs with faults, at many moments, the tests ask about every conceivable step and take it in a copy.
//! (The engine of these tests checks that a refused step changes nothing.) Since both sides use one predicate, the
//! tests also repeat, in other words, what is visible of a step from outside.

mod support;

use proptest::prelude::*;
use std::collections::BTreeSet;
use support::{Dice, Engine, busy_script};
use vivarium_model::config::{Config, Election, TxnLogSync};
use vivarium_model::effect::{Blocker, Effects, Status};
use vivarium_model::ensemble::Ensemble;
use vivarium_model::id::{
    CallId, ClientConnection, ClientId, LearnerConnection, Machine, ServerId, ServerSet, SessionId,
};
use vivarium_model::step::{Step, Tail, Unwritten};
use vivarium_model::time::{Duration, Time};
use vivarium_model::timer::{ClientTimer, ServerTimer, Timer, Watched};

/// The slots of connections that are asked about: more than are ever in use here.
const SLOTS: u8 = 10;

fn of_servers(ensemble: &Ensemble, steps: &mut Vec<Step>) {
    let servers = || ensemble.config().server_ids();
    for server in servers() {
        let tail = Tail::LOST;
        steps.extend([
            Step::Append(server),
            Step::Fsync(server),
            Step::Apply(server),
            Step::MissWakeUp(server),
            Step::ApplyRest(server),
            Step::Write(server),
            Step::Snapshot(server),
            Step::Propose(server),
            Step::Restart(server),
            Step::Rejoin(server),
            Step::Crash { server, tail },
            Step::FsyncError { server, survive: 0, rest: Unwritten::Lost },
        ]);
        let timers = [
            ServerTimer::Notification,
            ServerTimer::Finalize,
            ServerTimer::ConnectLeader,
            ServerTimer::InitLimit,
            ServerTimer::LeaderSilent,
            ServerTimer::Ping,
            ServerTimer::Containers,
            ServerTimer::ReadOnly,
            ServerTimer::ConnectMaster(ServerId(1)),
        ];
        steps.extend(timers.map(|timer| Step::Fire(Timer::Server(server, timer))));
        for other in servers() {
            steps.push(Step::Vote { from: other, to: server });
            let (from, to) = (Machine::Server(server), Machine::Server(other));
            steps.extend([Step::Cut { from, to }, Step::Heal { from, to }]);
        }
        for slot in 0..SLOTS {
            let connection = LearnerConnection { learner: server, slot };
            steps.extend([
                Step::ToLeader(connection),
                Step::ToLearner(connection),
                Step::Stream(connection),
                Step::BreakLearner { connection, to_leader: 0, to_learner: 0 },
            ]);
            let unacknowledged =
                Watched::BOTH.map(|watched| ServerTimer::Unacknowledged(connection, watched));
            let limits =
                [ServerTimer::LearnerSilent(connection), ServerTimer::AckDeadline(connection)];
            for timer in limits.iter().chain(&unacknowledged) {
                steps.extend(servers().map(|leader| Step::Fire(Timer::Server(leader, *timer))));
            }
        }
        for chosen in 0..1_u32 << servers().count() {
            let followers: ServerSet =
                servers().filter(|id| chosen >> id.index() & 1 == 1).collect();
            steps.push(Step::Elect { leader: server, followers });
        }
    }
}

fn of_clients(ensemble: &Ensemble, steps: &mut Vec<Step>) {
    let clients = || (0..ensemble.config().clients.len()).map(ClientId::at);
    for client in clients() {
        steps.extend([
            Step::Start(client),
            Step::Kill(client),
            Step::Pause(client),
            Step::Resume(client),
            Step::Cancel(client),
            Step::Notify(client),
        ]);
        let timers = [ClientTimer::Connect, ClientTimer::Ping, ClientTimer::Read];
        steps.extend(timers.map(|timer| Step::Fire(Timer::Client(client, timer))));
        for call in [0, 1].map(CallId) {
            let value = 7;
            steps.extend([
                Step::Random { client, call, value },
                Step::Resource { client, call },
                Step::Fire(Timer::Sleep(client, call)),
            ]);
        }
        steps.extend(clients().map(|from| Step::Message { from, to: client }));
        for slot in 0..SLOTS {
            let connection = ClientConnection { client, slot };
            steps.extend([
                Step::ToServer(connection),
                Step::ToClient(connection),
                Step::BreakClient { connection, to_server: 0, to_client: 0 },
            ]);
        }
        let sessions = ensemble.session(client).into_iter();
        for session in sessions.chain([SessionId(0), SessionId(77)]) {
            steps.push(Step::Expire(session));
            let expiry = ServerTimer::SessionExpiry(session);
            let servers = ensemble.config().server_ids();
            steps.extend(servers.map(|server| Step::Fire(Timer::Server(server, expiry))));
        }
    }
}

/// Returns true for steps that are not chosen freely: faults and their ends, timers, and steps that only searches
/// without programs take.
fn is_apart(ensemble: &Ensemble, step: &Step) -> bool {
    use vivarium_model::machines::ProgramState;
    match step {
        Step::Fire(_) | Step::Propose(_) | Step::Elect { .. } => true,
        Step::Restart(_) | Step::Resume(_) | Step::Heal { .. } => true,
        Step::Start(client) => ensemble.program(*client) == ProgramState::Killed,
        step => step.is_fault(),
    }
}

/// Judges a step without asking about it: `Some(true)` if it must be possible, `Some(false)` if it cannot be, and
/// `None` if this is not visible from outside.
fn from_outside(ensemble: &Ensemble, step: &Step) -> Option<bool> {
    use Machine::{Client, Server};
    let is_up = |server: ServerId| ensemble.is_up(server);
    let is_role =
        |server: ServerId| ensemble.server(server).is_some_and(|server| !server.is_looking());
    let impossible = |is: bool| is.then_some(false);
    let cut = |from: Machine, to: Machine| ensemble.is_cut(from, to);
    match *step {
        Step::Crash { server, .. } => Some(is_up(server)),
        Step::Restart(server) => Some(!is_up(server)),
        Step::Cut { from, to } => Some(!cut(from, to)),
        Step::Heal { from, to } => Some(cut(from, to)),
        Step::Rejoin(server) => {
            let is_writing = ensemble.server(server).is_some_and(|it| it.writing().is_some());
            Some(is_role(server) && !is_writing)
        }
        Step::Append(server)
        | Step::Apply(server)
        | Step::MissWakeUp(server)
        | Step::ApplyRest(server)
        | Step::Write(server)
        | Step::Snapshot(server) => impossible(!is_up(server)),
        Step::Fsync(server) => impossible(!is_up(server) || ensemble.unsynced(server) == 0),
        Step::Vote { from, to } => {
            let waits = ensemble.network().has_mail(from, to);
            Some(waits && is_up(to) && !cut(Server(from), Server(to)))
        }
        Step::ToLeader(connection) => match ensemble.leader_of(connection) {
            None => Some(false),
            Some(leader) => impossible(cut(Server(connection.learner), Server(leader))),
        },
        Step::ToLearner(connection) => match ensemble.leader_of(connection) {
            None => Some(false),
            Some(leader) => impossible(cut(Server(leader), Server(connection.learner))),
        },
        Step::ToServer(connection) => match ensemble.server_of(connection) {
            None => Some(false),
            Some(server) => impossible(cut(Client(connection.client), Server(server))),
        },
        Step::ToClient(connection) => match ensemble.server_of(connection) {
            None => Some(false),
            Some(server) => impossible(
                cut(Server(server), Client(connection.client))
                    || ensemble.is_paused(connection.client),
            ),
        },
        Step::BreakClient { connection, .. } => {
            impossible(ensemble.server_of(connection).is_none())
        }
        Step::BreakLearner { connection, .. } => {
            impossible(ensemble.leader_of(connection).is_none())
        }
        Step::Fire(Timer::Server(server, ServerTimer::InitLimit)) => {
            impossible(!is_role(server) || ensemble.is_serving(server))
        }
        Step::Elect { leader, followers } => {
            let looking = |server: ServerId| ensemble.looking().contains(server);
            let joins = followers.len() == 1 && !looking(leader);
            impossible(!followers.iter().all(looking) || !looking(leader) && !joins)
        }
        _ => None,
    }
}

/// Returns true if the blocking link is cut and leads from the packet's sender to its reader.
fn is_in_the_way(ensemble: &Ensemble, step: &Step, blocker: Blocker) -> bool {
    use Machine::{Client, Server};
    let link = match *step {
        Step::ToLeader(it) => ensemble.leader_of(it).map(|to| (Server(it.learner), Server(to))),
        Step::ToLearner(it) => ensemble.leader_of(it).map(|by| (Server(by), Server(it.learner))),
        Step::ToServer(it) => ensemble.server_of(it).map(|to| (Client(it.client), Server(to))),
        Step::ToClient(it) => ensemble.server_of(it).map(|by| (Server(by), Client(it.client))),
        Step::Vote { from, to } => Some((Server(from), Server(to))),
        _ => None,
    };
    match blocker {
        Blocker::Cut { from, to } => link == Some((from, to)) && ensemble.is_cut(from, to),
        Blocker::Paused(client) => ensemble.is_paused(client),
        Blocker::Busy(server) => ensemble.is_up(server),
    }
}

/// Asks about every conceivable step, and returns how many are possible, blocked and not enabled.
fn check(engine: &Engine) -> [usize; 3] {
    let ensemble = engine.world.ensemble();
    let (mut steps, mut listed) = (Vec::new(), Vec::new());
    of_servers(ensemble, &mut steps);
    of_clients(ensemble, &mut steps);
    ensemble.enabled(&[7], &mut listed);
    listed.retain(|step| !matches!(step, Step::Input(_)));
    let listed: BTreeSet<Step> = listed.into_iter().collect();
    let mut counts = [0; 3];
    for step in steps {
        let said = ensemble.allows(&step).err().unwrap_or(Status::Done);
        let (mut copy, mut effects) = (ensemble.clone(), Effects::default());
        let status = copy.apply(Time(engine.now), &step, &mut effects);
        assert_eq!(status, said, "{step}");
        let is_listed = listed.contains(&step);
        if let Some(possible) = from_outside(ensemble, &step) {
            assert_eq!(status == Status::Done, possible, "{step}, seen from outside");
        }
        if let Status::Blocked(blocker) = status {
            assert!(is_in_the_way(ensemble, &step, blocker), "{step}: {blocker:?}");
        }
        if status == Status::Done {
            counts[0] += 1;
            assert!(is_listed || is_apart(ensemble, &step), "{step} can happen and is not listed");
        } else {
            counts[if matches!(status, Status::Blocked(_)) { 1 } else { 2 }] += 1;
            assert!(!is_listed, "{step} is listed and is {status:?}");
            assert!(copy == *ensemble, "{step} is {status:?} and changed something");
            assert!(effects.effects.is_empty() && effects.events.is_empty(), "{step}");
        }
    }
    counts
}

/// Makes a random run with this kind of election, and returns the counts of all moments together.
fn run(seed: u64, election: Election) -> [usize; 3] {
    let mut config = Config::new(3, 2);
    config.commit_log_count = 4;
    config.txn_log_sync = TxnLogSync::Unlimited;
    config.snap_count = 4;
    config.snapshot_piece = 2;
    config.tick = Duration::from_millis(200);
    config.election = election;
    let mut engine = Engine::new(config, (1..=2).map(busy_script).collect());
    let mut dice = Dice(seed);
    let mut counts = [0; 3];
    for at in 0..500 {
        if dice.roll(40) == 0 {
            let fault = engine.fault(&mut dice);
            engine.step(fault).expect("no violation");
        }
        if dice.roll(30) == 0 {
            let client = ClientId::at(dice.roll(2));
            let pause = [Step::Pause(client), Step::Resume(client), Step::Kill(client)];
            engine.step(pause[dice.roll(3)]).expect("no violation");
        }
        elect(&mut engine, &mut dice);
        engine.go(&mut dice).expect("no violation");
        if at % 5 == 0 {
            let here = check(&engine);
            (0..3).for_each(|kind| counts[kind] += here[kind]);
        }
    }
    counts
}

/// The oracle elects only on request.
fn elect(engine: &mut Engine, dice: &mut Dice) {
    let ensemble = engine.world.ensemble();
    if ensemble.config().election.is_oracle() && dice.roll(4) == 0 {
        let servers: Vec<ServerId> = ensemble.config().server_ids().collect();
        let leader = servers[dice.roll(servers.len())];
        let others = servers.iter().copied().filter(|id| *id != leader);
        let followers = others.filter(|_| dice.roll(2) == 0).collect();
        engine.step(Step::Elect { leader, followers }).expect("no violation");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// With the elections of the code.
    #[test]
    fn what_is_said_of_a_step_is_what_becomes_of_it(seed: u64) {
        let [done, _, refused] = run(seed, Election::Fast);
        prop_assert!(done > 500 && refused > 5_000, "{done} and {refused}");
    }

    /// With elections by oracle.
    #[test]
    fn the_oracle_is_asked_the_same(seed: u64) {
        let [done, _, refused] = run(seed, Election::Oracle);
        prop_assert!(done > 500 && refused > 5_000, "{done} and {refused}");
    }
}

/// A learner that connected twice has the second slot. When the first slot became free, the second was renamed, but
/// not in the table of sessions; a write of a client that had never lost a connection was refused with SessionMoved.
#[test]
fn a_connection_of_which_sessions_know_keeps_its_number() {
    let [done, ..] = run(2_904_915_238_132_133_003, Election::Oracle);
    assert!(done > 500, "{done}");
}
