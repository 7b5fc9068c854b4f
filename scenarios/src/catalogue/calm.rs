//! `calm`: clients that continue for long after all faults have ended, some idle, some not.
//!
//! Reconnecting hides mistakes of servers: clients connect again, learners rejoin. So this scenario checks what happens
//! without faults: no role, connection or session ends, and every request is answered soon ([`AfterFaults`]). Faults come
//! first, as in `churn`, so that leaders have different histories; they end after a few seconds.

use super::{Entry, Switches, some_observers};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{ZooKeeper, program};
use vivarium_model::mark::Mark;
use vivarium_model::op::{CreateMode, Version};
use vivarium_model::property::AskedOfServers;
use vivarium_model::property::{self, AfterFaults, Monitor};
use vivarium_model::setup::Setup;
use vivarium_model::time::{Duration, Time};
use vivarium_sim::scenario::script::Script;
use vivarium_sim::{Choice, Explored, Fault, FaultSet, Limits, Run, Scenario, Settings};

/// The marks that a sweep must reach.
const MARKS: [Mark; 6] = [
    Mark::SessionMoved,
    Mark::SessionExpired,
    Mark::IdleSession,
    Mark::ElectionWithDeadLeader,
    Mark::SyncWaited,
    Mark::AcksStalled,
];

/// The znode that all clients write to.
const PATH: &str = "/calm";

/// The length of the quiet period, in longest session timeouts.
const LASTS: u32 = 4;

/// The time after the end of the faults by which all servers serve in most runs.
const ELECTIONS: Duration = Duration::from_secs(5);

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry::of_zookeeper(
        "calm",
        "clients go on after all faults, idle or not: nothing ends, all is answered",
        1_000,
        build,
    )
}

fn build(switches: &Switches) -> Scenario {
    Scenario {
        name: entry().name.to_string(),
        summary: entry().summary.to_string(),
        servers: Choice::OneOf(vec![3, 3, 3, 5]),
        observers: some_observers(),
        joiners: Choice::from(0),
        clients: Choice::from(2..=5),
        rounds: Choice::from(1),
        limits: Limits::Steady,
        setup: Setup::of([PATH]).expect("a znode"),
        settings: Settings::default(),
        programs: Arc::new(|run| {
            let from = Time::ZERO + run.chaos + AfterFaults::settling(&run.config);
            let timeouts = run.config.clients.iter();
            let timeouts =
                timeouts.map(|client| run.config.negotiate(client.session_timeout));
            let ends = from + ELECTIONS + LASTS * timeouts.max().unwrap_or_default();
            let one = |client| {
                let is_idle = client % 2 == 0;
                program(move |zookeeper| live(zookeeper, from, ends, is_idle))
            };
            (0..run.clients()).map(one).collect()
        }),
        monitors: Arc::new(|run| {
            let own: Box<dyn Monitor> = Box::new(quiet(run));
            property::zookeeper().into_iter().chain([own]).collect()
        }),
        of_servers: AskedOfServers::ALL,
        awaits_expiry: true,
        marks: MARKS.to_vec(),
        // An election by lot can elect a server that ZAB refuses again and again, long after the faults.
        script: Script::default(),
        faults: FaultSet::ALL.without(Fault::ElectionByLot),
        bugs: switches.bugs,
        chaos: Duration::from_secs(8),
        progress_bound: Duration::from_secs(120),
        explored: Explored::No(
            "its properties need the time, and a search over the service grain has neither time nor \
             servers (`broadcast` and `election` explore servers)"
                .to_string(),
        ),
    }
}

/// Returns the monitor of the quiet period. The programs outlive the faults, so the faults end when their time is over.
/// The last fault step may overshoot that time by less than a tick, for which the settling time has room.
fn quiet(run: &Run) -> AfterFaults {
    let gone = run.aftermath.left_down.iter().chain(&run.aftermath.left_cut_off);
    AfterFaults::after(Time::ZERO + run.chaos, &run.config, gone.copied())
}

/// Makes requests now and then until the end. An idle client makes none during the quiet period.
async fn live(zookeeper: ZooKeeper, from: Time, ends: Time, is_idle: bool) -> Result<(), String> {
    loop {
        let now = zookeeper.now().await;
        if now >= ends {
            return Ok(());
        }
        zookeeper.connect().await;
        let is_quiet = now >= from;
        if is_quiet && is_idle {
            zookeeper.sleep(ends.since(now)).await;
            continue;
        }
        if let Err(error) = act(&zookeeper).await
            && !is_expected(error)
        {
            return Err(format!("an error that none of these requests can meet: {error}"));
        }
        // The pause can be long enough to leave the connection without requests.
        let pause = below(&zookeeper, 1_500).await;
        zookeeper.sleep(Duration::from_millis(pause)).await;
    }
}

/// Returns true for errors that clients under faults must handle.
fn is_expected(error: Error) -> bool {
    matches!(error, Error::ConnectionLoss | Error::SessionExpired)
}

/// Makes several requests at the same time; those that another one waits for are sent first.
async fn act(zookeeper: &ZooKeeper) -> Result<(), Error> {
    match below(zookeeper, 6).await {
        0 => {
            // A new session, at a leader that already leads.
            zookeeper.close().await;
            zookeeper.connect().await;
            zookeeper.get_data(PATH).await.map(drop)
        }
        1 => zookeeper.get_data(PATH).await.map(drop),
        2 => {
            write_meanwhile(zookeeper).await;
            zookeeper.sync(PATH).await
        }
        3 => {
            let path = format!("{PATH}/e-");
            zookeeper.create(&path, b"", CreateMode::EphemeralSequential).await.map(drop)
        }
        _ => {
            write_meanwhile(zookeeper).await;
            zookeeper.get_data(PATH).await.map(drop)
        }
    }
}

/// Starts a write that is under way while the program continues; one write in three fails, as an error transaction.
async fn write_meanwhile(zookeeper: &ZooKeeper) {
    let fails = below(zookeeper, 3).await == 0;
    let own = zookeeper.clone();
    zookeeper.spawn(async move {
        // Any result is fine, as long as there is one.
        if fails {
            let _ = own.create(PATH, b"", CreateMode::Persistent).await;
        } else {
            let _ = own.set_data(PATH, &own.client().0.to_be_bytes()[1..], Version::Any).await;
        }
    });
    // The write is sent when the program next awaits something.
    zookeeper.now().await;
}

async fn below(zookeeper: &ZooKeeper, limit: u64) -> u64 {
    zookeeper.random().await % limit
}
