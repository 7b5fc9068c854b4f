//! `churn`: plain clients keep the ensemble busy under all faults.
//!
//! There is no recipe here: the clients create, change, read and delete znodes of every kind, and the properties are
//! ZooKeeper's own. The servers keep almost nothing for DIFF, take snapshots constantly and in many pieces, and elect
//! and synchronise under faults. Servers are most likely to violate the rules for these.

use super::{Entry, Switches, some_observers};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Watch, ZooKeeper, program};
use vivarium_model::mark::Mark;
use vivarium_model::op::{CreateMode, Data, Op, Version};
use vivarium_model::property;
use vivarium_model::property::AskedOfServers;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_sim::scenario::script::Script;
use vivarium_sim::{Choice, Explored, FaultSet, Limits, Scenario, Settings};

/// The marks that a sweep must reach.
const MARKS: [Mark; 18] = [
    Mark::SyncByDiff,
    Mark::SyncByTrunc,
    Mark::SyncBySnap,
    Mark::LostReplyApplied,
    Mark::LostReplyNeverApplied,
    Mark::LostReplyPending,
    Mark::SessionMoved,
    Mark::SessionExpired,
    Mark::ElectionWithDeadLeader,
    Mark::UnsyncedTailLost,
    Mark::MultiRolledBack,
    Mark::ExistWatchMadeUp,
    Mark::DataWatchMadeUp,
    Mark::ChildWatchMadeUp,
    Mark::SyncWaited,
    Mark::AcksStalled,
    Mark::WriteFailed,
    Mark::SessionReattached,
];

/// How long a client waits for a watch before it does something else: not long, or, one time in four, so long that it
/// can move to another server meanwhile.
const WATCH_FOR: [Duration; 4] = [
    Duration::from_millis(300),
    Duration::from_millis(300),
    Duration::from_millis(300),
    Duration::from_secs(3),
];

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry::of_zookeeper(
        "churn",
        "plain clients keep an ensemble busy that never comes to rest",
        3_000,
        build,
    )
}

fn build(switches: &Switches) -> Scenario {
    scenario(&entry(), switches)
}

/// Returns the scenario of an entry, without observers.
pub(super) fn scenario(entry: &Entry, switches: &Switches) -> Scenario {
    Scenario {
        name: entry.name.to_string(),
        summary: entry.summary.to_string(),
        servers: Choice::OneOf(vec![3, 3, 3, 5]),
        observers: some_observers(),
        joiners: Choice::from(0),
        clients: Choice::from(2..=4),
        rounds: Choice::from(20..=60),
        limits: Limits::Tight,
        setup: Setup::NONE,
        settings: Settings::default(),
        programs: Arc::new(|run| {
            let rounds = run.rounds;
            let one = || program(move |zookeeper| churn(zookeeper, rounds));
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

/// Does `rounds` random things, one after the other, some of them concurrently.
pub(super) async fn churn(zookeeper: ZooKeeper, rounds: u32) -> Result<(), String> {
    for _round in 0..rounds {
        zookeeper.connect().await;
        if let Err(error) = act(&zookeeper).await
            && !is_expected(error)
        {
            return Err(format!("an error that none of these requests can meet: {error}"));
        }
        let pause = below(&zookeeper, 120).await;
        if pause < 80 {
            zookeeper.sleep(Duration::from_millis(pause)).await;
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
            | Error::BadVersion
            | Error::NotEmpty
            | Error::NoChildrenForEphemerals
    )
}

async fn act(zookeeper: &ZooKeeper) -> Result<(), Error> {
    let name = name(zookeeper).await;
    match below(zookeeper, 16).await {
        0 | 1 => zookeeper.create(&name, b"", CreateMode::Persistent).await.map(drop),
        2 => zookeeper.create(&name, b"e", CreateMode::Ephemeral).await.map(drop),
        3 => zookeeper.create("/s-", b"", CreateMode::EphemeralSequential).await.map(drop),
        4 => {
            let path = format!("{name}/s-");
            zookeeper.create(&path, b"", CreateMode::PersistentSequential).await.map(drop)
        }
        5 | 6 => set_if_unchanged(zookeeper, &name).await,
        7 => zookeeper.set_data(&name, b"any", Version::Any).await.map(drop),
        8 => clear(zookeeper, &name).await,
        9 => match below(zookeeper, 3).await {
            0 => fail_late(zookeeper, &name).await,
            _ => swap(zookeeper, &name).await,
        },
        10 => {
            zookeeper.sync(&name).await?;
            zookeeper.get_data(&name).await.map(drop)
        }
        11 => watch_children(zookeeper).await,
        12 => {
            let (_, watch) = zookeeper.exists_watch(&name).await?;
            changed(zookeeper, watch).await
        }
        13 => {
            let (_, _, watch) = zookeeper.get_data_watch(&name).await?;
            changed(zookeeper, watch).await
        }
        14 => burst(zookeeper, &name).await,
        _ => {
            if below(zookeeper, 3).await == 0 {
                zookeeper.close().await;
            }
            Ok(())
        }
    }
}

/// Changes a znode unless it was changed since it was read.
async fn set_if_unchanged(zookeeper: &ZooKeeper, name: &str) -> Result<(), Error> {
    let (data, stat) = zookeeper.get_data(name).await?;
    let mut longer = data.to_vec();
    longer.truncate(8);
    longer.push(zookeeper.client().0 as u8);
    zookeeper.set_data(name, &longer, Version::Is(stat.version)).await.map(drop)
}

/// Deletes a znode's children, then the znode.
async fn clear(zookeeper: &ZooKeeper, name: &str) -> Result<(), Error> {
    let children = zookeeper.get_children(name).await?;
    for child in children {
        zookeeper.delete(&format!("{name}/{child}"), Version::Any).await?;
    }
    zookeeper.delete(name, Version::Any).await
}

/// Replaces a znode in one transaction: deletes it if it is unchanged, and creates it again.
async fn swap(zookeeper: &ZooKeeper, name: &str) -> Result<(), Error> {
    let stat = zookeeper.exists(name).await?.ok_or(Error::NoNode)?;
    let (path, data) = (Arc::from(name), Data::from(&b"swapped"[..]));
    let ops = vec![
        Op::Delete { path: Arc::clone(&path), version: Version::Is(stat.version) },
        Op::create(path, data, CreateMode::Persistent),
    ];
    Ok(zookeeper.multi(ops).await.map(drop)?)
}

/// Creates two znodes and changes the second in one transaction that fails at its last operation, so nothing of it
/// remains.
async fn fail_late(zookeeper: &ZooKeeper, name: &str) -> Result<(), Error> {
    let path = |end: &str| -> Arc<str> { Arc::from(format!("{name}{end}")) };
    let ops = vec![
        Op::create(path("-a"), [], CreateMode::PersistentSequential),
        Op::create(path("-b"), [], CreateMode::Ephemeral),
        Op::set_data(path("-b"), *b"changed", Version::Any),
        Op::delete(path("-nobody"), Version::Any),
    ];
    match zookeeper.multi(ops).await {
        Ok(_) => unreachable!("nobody ever creates {name}-nobody"),
        Err(failed) => Err(failed.error),
    }
}

/// Lists the root and waits for a change.
async fn watch_children(zookeeper: &ZooKeeper) -> Result<(), Error> {
    let (_, watch) = zookeeper.get_children_watch("/").await?;
    changed(zookeeper, watch).await
}

/// Waits for a watch with a deadline, and can be cancelled.
async fn changed(zookeeper: &ZooKeeper, mut watch: Watch) -> Result<(), Error> {
    let patience = WATCH_FOR[below(zookeeper, 4).await as usize];
    let waiting = zookeeper.cancellable(zookeeper.timeout(patience, watch.changed()));
    match waiting.await {
        Ok(Ok(changed)) => changed.map(drop),
        Ok(Err(_)) | Err(_) => Ok(()),
    }
}

/// Has several writes under way, so that proposals queue up.
async fn burst(zookeeper: &ZooKeeper, name: &str) -> Result<(), Error> {
    for number in 0..4u8 {
        let (own, name) = (zookeeper.clone(), name.to_string());
        zookeeper.spawn(async move {
            // Any result is fine.
            let _ = own.set_data(&name, &[number], Version::Any).await;
        });
    }
    zookeeper.get_data(name).await.map(drop)
}

/// Returns one of a few names, so that clients interfere with each other.
async fn name(zookeeper: &ZooKeeper) -> String {
    format!("/n{}", below(zookeeper, 5).await)
}

async fn below(zookeeper: &ZooKeeper, bound: u64) -> u64 {
    zookeeper.random().await % bound
}
