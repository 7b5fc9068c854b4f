//! Programs that use the whole handle, and report everything that they see.

use std::time::Duration;
use vivarium_model::error::Error;
use vivarium_model::handle::{
    Either, Program, Round, Watch, ZooKeeper, join, join_all, program, race, rounds,
};
use vivarium_model::id::ClientId;
use vivarium_model::op::{CreateMode, Op, Version};

/// Returns one program of each kind.
pub(crate) fn all() -> Vec<Program> {
    vec![program(worker), program(watcher), program(crowd), program(locker), rounds(0, rounder)]
}

const SECOND: Duration = Duration::from_secs(1);

/// Reports a value that the program has received, so that the comparison includes it.
fn tell(zookeeper: &ZooKeeper, what: &str, saw: impl std::fmt::Debug) {
    zookeeper.custom(what, &[("saw", format!("{saw:?}").as_str().into())]);
}

/// Every call, one after the other.
async fn worker(zk: ZooKeeper) -> Result<(), String> {
    let session = zk.connect().await;
    let zk = zk.scope(session);
    for round in 0..3_i64 {
        tell(&zk, "create", zk.create("/w", b"x", CreateMode::PersistentSequential).await);
        tell(&zk, "set", zk.set_data("/w", &[round as u8], Version::Is(0)).await);
        tell(&zk, "get", zk.get_data("/w").await);
        tell(&zk, "children", zk.get_children2("/w").await);
        tell(&zk, "exists", zk.exists("/w").await);
        tell(&zk, "sync", zk.sync("/").await);
        let check = Op::Check { path: "/w".into(), version: Version::Any };
        let delete = Op::Delete { path: "/w".into(), version: Version::Any };
        tell(&zk, "multi", zk.multi(vec![check, delete]).await);
        tell(&zk, "delete", zk.delete("/w", Version::Any).await);
        zk.send(ClientId(2), &[round as u8]);
        zk.sleep(SECOND).await;
        tell(&zk, "time", (zk.now().await, zk.random().await));
    }
    zk.close().await;
    Err("worked".to_owned())
}

/// Watches of all three kinds, awaited, interrupted, dropped; panics when its session ends twice.
async fn watcher(zk: ZooKeeper) -> Result<(), String> {
    let mut ended = 0;
    loop {
        match watch_once(&zk).await {
            Ok(()) => {}
            Err(Error::SessionExpired) => ended += 1,
            Err(error) => tell(&zk, "failed", error),
        }
        assert!(ended < 2, "expired {ended} times");
    }
}

async fn watch_once(zk: &ZooKeeper) -> Result<(), Error> {
    let (stat, created) = zk.exists_watch("/a").await?;
    let (data, _, changed) =
        zk.timeout(SECOND, zk.get_data_watch("/b")).await.unwrap_or(Err(Error::ConnectionLoss))?;
    let (children, list) = zk.get_children_watch("/c").await?;
    tell(zk, "read", (stat, data, children));
    drop(created);
    let (mut changed, mut list) = (changed, list);
    let first = race(changed.changed(), list.changed()).await;
    tell(zk, "first", &first);
    let left: Watch = match first {
        Either::Left(event) => event.map(|_| list)?,
        Either::Right(event) => event.map(|_| changed)?,
    };
    let mut left = left;
    while zk.timeout(SECOND, left.changed()).await.is_err() {
        tell(zk, "still", left.has_fired());
    }
    Ok(())
}

/// Many concurrent tasks; some end, spawn others, or panic.
async fn crowd(zk: ZooKeeper) -> Result<(), String> {
    for number in 0..4_u64 {
        let task = zk.clone();
        zk.spawn(async move {
            loop {
                let value = task.random().await;
                tell(&task, "task", (number, value));
                if value % 5 == number {
                    let child = task.clone();
                    task.spawn(async move { tell(&child, "child", child.receive().await) });
                }
                assert!(value % 97 != 0, "unlucky {value}");
                if value % 31 == 0 {
                    return;
                }
            }
        });
    }
    let (mut mine, mut theirs) = (zk.session_events(), zk.session_events());
    for _ in 0..20 {
        let (state, times) = join(mine.next(), join_all([zk.now(), zk.now()])).await;
        tell(&zk, "main", (state, times));
        tell(&zk, "late", theirs.try_next());
    }
    Ok(())
}

/// Reports when it is dropped: invisible after a kill, visible after a cancellation.
struct Guard(ZooKeeper);

impl Drop for Guard {
    fn drop(&mut self) {
        let zk = self.0.clone();
        tell(&zk, "dropped", ());
        self.0.spawn(async move { tell(&zk, "released", zk.delete("/lock", Version::Any).await) });
    }
}

/// A recipe that the engine may cancel, with a guard and a fenced write.
async fn locker(zk: ZooKeeper) -> Result<(), String> {
    for _ in 0..5 {
        let result = zk.cancellable(lock_once(&zk)).await;
        tell(&zk, "lock", result);
    }
    Ok(())
}

async fn lock_once(zk: &ZooKeeper) -> Result<(), Error> {
    let (node, stat) = zk.create("/lock", b"", CreateMode::EphemeralSequential).await?;
    let _guard = Guard(zk.clone());
    tell(zk, "node", node);
    tell(zk, "wrote", zk.write_resource("disk", Some(stat.czxid), 1).await);
    zk.sleep(SECOND).await;
    Ok(())
}

/// Rounds that leave calls, watches, a subscription and a guard's duty, and end in every way.
async fn rounder(zk: ZooKeeper, round: u8) -> Result<Round<u8>, String> {
    let _guard = Guard(zk.clone());
    let mut events = zk.session_events();
    let watch = zk.timeout(SECOND, zk.exists_watch("/a")).await;
    tell(&zk, "round", (round, watch.is_ok()));
    match race(zk.random(), race(zk.receive(), events.next())).await {
        Either::Left(value) if value % 13 == 0 => Err(format!("unlucky {value}")),
        Either::Left(value) if value % 7 == 0 => Ok(Round::Done),
        Either::Left(value) => Ok(Round::Again(value as u8 % 4)),
        Either::Right(_) => Ok(Round::Again(round)),
    }
}
