//! `watches`: many clients keep watches of every kind, idle for long, and change what the others watch.
//!
//! There is no recipe here either (as in `churn`): the properties are ZooKeeper's own, mainly H7 and the bridge. The
//! clients themselves do little; the scenario tests what happens to their watches while they are disconnected. So they
//! hold several watches at a time, seldom wait for one, and sometimes rest for longer than a session lasts without a
//! packet.

use super::{Entry, Switches, some_observers};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{PersistentWatch, Watch, ZooKeeper, program};
use vivarium_model::mark::Mark;
use vivarium_model::op::{AddWatchMode, CreateMode, Version, WatcherType};
use vivarium_model::property;
use vivarium_model::property::AskedOfServers;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_sim::scenario::script::Script;
use vivarium_sim::{Choice, Explored, FaultSet, Limits, Scenario, Settings};

/// The marks that a sweep must reach.
const MARKS: [Mark; 9] = [
    Mark::SessionMoved,
    Mark::SessionExpired,
    Mark::ExistWatchMadeUp,
    Mark::DataWatchMadeUp,
    Mark::ChildWatchMadeUp,
    Mark::StayingWatchSetAgain,
    Mark::WatchRemoved,
    Mark::IdleSession,
    Mark::ManySessions,
];

/// Longer than a session lasts without a packet.
const IDLE: Duration = Duration::from_secs(3);

const REMOVED: [WatcherType; 5] = [
    WatcherType::Children,
    WatcherType::Data,
    WatcherType::Any,
    WatcherType::Persistent,
    WatcherType::PersistentRecursive,
];

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry::of_zookeeper(
        "watches",
        "many clients keep watches of every kind, idle, and move",
        1_000,
        build,
    )
}

fn build(switches: &Switches) -> Scenario {
    Scenario {
        name: entry().name.to_string(),
        summary: entry().summary.to_string(),
        servers: Choice::OneOf(vec![3, 3, 5]),
        observers: some_observers(),
        joiners: Choice::from(0),
        clients: Choice::from(5..=8),
        rounds: Choice::from(15..=40),
        limits: Limits::Tight,
        setup: Setup::NONE,
        settings: Settings::default(),
        programs: Arc::new(|run| {
            let rounds = run.rounds;
            let one = || program(move |zookeeper| keep(zookeeper, rounds));
            (0..run.clients()).map(|_client| one()).collect()
        }),
        monitors: Arc::new(|_drawn| property::zookeeper()),
        of_servers: AskedOfServers::ALL,
        awaits_expiry: true,
        marks: MARKS.to_vec(),
        script: Script::default(),
        faults: FaultSet::all(),
        bugs: switches.bugs,
        chaos: Duration::from_secs(20),
        progress_bound: Duration::from_secs(120),
        explored: Explored::No(
            "its programs try the servers, and a search over the service grain has none (`broadcast` \
             and `election` explore servers)"
                .to_string(),
        ),
    }
}

/// The watches that a client holds.
#[derive(Default)]
struct Held {
    once: Vec<Watch>,
    staying: Vec<PersistentWatch>,
}

/// Does `rounds` random things, one after the other.
async fn keep(zookeeper: ZooKeeper, rounds: u32) -> Result<(), String> {
    let mut held = Held::default();
    for _round in 0..rounds {
        zookeeper.connect().await;
        if let Err(error) = act(&zookeeper, &mut held).await
            && !is_expected(error)
        {
            return Err(format!("an error that none of these requests can meet: {error}"));
        }
        match below(&zookeeper, 40).await {
            0 => zookeeper.sleep(IDLE).await,
            pause if pause < 30 => zookeeper.sleep(Duration::from_millis(20 * pause)).await,
            _ => {}
        }
    }
    Ok(())
}

/// Returns true for errors that interfering clients under faults must handle.
fn is_expected(error: Error) -> bool {
    matches!(
        error,
        Error::ConnectionLoss
            | Error::SessionExpired
            | Error::NoNode
            | Error::NodeExists
            | Error::NotEmpty
            | Error::NoWatcher
            | Error::NoChildrenForEphemerals
            // Of a release that does not know the operation.
            | Error::Unimplemented
    )
}

async fn act(zookeeper: &ZooKeeper, held: &mut Held) -> Result<(), Error> {
    let name = name(zookeeper).await;
    match below(zookeeper, 16).await {
        0 | 1 => zookeeper.create(&name, b"", CreateMode::Persistent).await.map(drop),
        2 => zookeeper.create(&name, b"", CreateMode::Ephemeral).await.map(drop),
        3 => {
            let path = format!("{name}/c-");
            zookeeper.create(&path, b"", CreateMode::PersistentSequential).await.map(drop)
        }
        4 => zookeeper.set_data(&name, b"changed", Version::Any).await.map(drop),
        5 | 6 => clear(zookeeper, &name).await,
        7 | 8 => {
            held.once.push(zookeeper.exists_watch(&name).await?.1);
            Ok(())
        }
        9 => {
            held.once.push(zookeeper.get_data_watch(&name).await?.2);
            Ok(())
        }
        10 => {
            let path = if below(zookeeper, 2).await == 0 { "/" } else { &name };
            held.once.push(zookeeper.get_children_watch(path).await?.1);
            Ok(())
        }
        11 => {
            let path = if below(zookeeper, 2).await == 0 { "/" } else { &name };
            held.staying.push(zookeeper.add_watch(path, AddWatchMode::Persistent).await?);
            Ok(())
        }
        12 => {
            let path = if below(zookeeper, 2).await == 0 { "/" } else { &name };
            held.staying.push(zookeeper.add_watch(path, AddWatchMode::PersistentRecursive).await?);
            Ok(())
        }
        13 => {
            let kind = REMOVED[below(zookeeper, 5).await as usize];
            let local = below(zookeeper, 4).await == 0;
            zookeeper.remove_watches(&name, kind, local).await
        }
        14 => wait(zookeeper, held).await,
        _ => {
            let end = below(zookeeper, 6).await;
            if end == 0 {
                zookeeper.close().await;
            }
            if end < 3 {
                *held = Held::default();
            }
            Ok(())
        }
    }
}

/// Waits a little for one watch of each kind.
async fn wait(zookeeper: &ZooKeeper, held: &mut Held) -> Result<(), Error> {
    let patience = Duration::from_millis(500);
    if let Some(watch) = held.staying.first_mut()
        && let Ok(None) = zookeeper.timeout(patience, watch.next()).await
    {
        // The watch has ended with its session, or was removed.
        drop(held.staying.remove(0));
    }
    let Some(mut watch) = held.once.pop() else { return Ok(()) };
    match zookeeper.cancellable(zookeeper.timeout(patience, watch.changed())).await {
        Ok(Ok(changed)) => changed.map(drop),
        Ok(Err(_)) | Err(_) => Ok(()),
    }
}

/// Deletes a znode's children, then the znode.
async fn clear(zookeeper: &ZooKeeper, name: &str) -> Result<(), Error> {
    for child in zookeeper.get_children(name).await? {
        zookeeper.delete(&format!("{name}/{child}"), Version::Any).await?;
    }
    zookeeper.delete(name, Version::Any).await
}

/// Returns one of a few names, so that clients watch what others change.
async fn name(zookeeper: &ZooKeeper) -> String {
    format!("/w{}", below(zookeeper, 4).await)
}

async fn below(zookeeper: &ZooKeeper, bound: u64) -> u64 {
    zookeeper.random().await % bound
}
