//! A program that uses the lock as its contract asks for, for scenarios and as an example.

use super::{AcquireError, FencedError, Guard, Lock, Mutants};
use crate::helpers::{ensure_path, next_session, reconnected};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
use vivarium_model::op::{Data, Op, Version};
use vivarium_model::time::Duration;

/// What a [`lock_worker`] does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWork {
    /// The lock.
    pub directory: Arc<str>,
    /// How often to acquire it.
    pub rounds: u32,
    /// A resource outside ZooKeeper, written to under the fencing token.
    pub resource: Arc<str>,
    /// A znode, written to under a check of the lock's znode; `None` for no such write.
    pub counter: Option<Arc<str>>,
    /// Whether to create the counter first, where it is missing.
    pub prepare: bool,
    /// Whether the holder stops when it is told that the lock is lost ([`Guard::while_held`]). One
    /// that does not learns it by what it is refused.
    pub guard_watch: bool,
    /// How long to hold the lock between the two writes.
    pub hold: Duration,
    /// How long to wait for the lock before the round is given up; `None` for ever.
    pub patience: Option<Duration>,
    /// Whether acquiring may be cancelled by the engine.
    pub cancel: bool,
    /// How long to stay connected after the last round, so that a leak can be seen.
    pub linger: Duration,
    /// Whether to close the session at the end. Who can be cancelled must: what the lock does in the
    /// background ends with the program, done or not.
    pub close: bool,
    /// The lock's mutants.
    pub mutants: Mutants,
}

impl LockWork {
    /// One patient round of the lock in `directory`.
    pub fn new(directory: impl Into<Arc<str>>) -> LockWork {
        LockWork {
            directory: directory.into(),
            rounds: 1,
            resource: "resource".into(),
            counter: Some("/counter".into()),
            prepare: true,
            guard_watch: true,
            hold: Duration::from_millis(10),
            patience: None,
            cancel: false,
            linger: Duration::ZERO,
            close: true,
            mutants: Mutants::NONE,
        }
    }

    /// The least work that uses the lock: acquire it, write to the resource under the token, release
    /// it, and finish. All that can go wrong with the lock itself can go wrong here.
    pub fn lean(directory: impl Into<Arc<str>>) -> LockWork {
        LockWork {
            counter: None,
            prepare: false,
            guard_watch: false,
            hold: Duration::ZERO,
            close: false,
            ..LockWork::new(directory)
        }
    }
}

/// Where a worker stands between its rounds; it remembers nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// At the beginning.
    Prepare,
    /// Before the round of this number.
    Acquire(u32),
    /// Behind the last one.
    Leave,
}

impl Stage {
    /// Before this round, if there is one.
    fn before(round: u32, work: &LockWork) -> Stage {
        if round < work.rounds { Stage::Acquire(round) } else { Stage::Leave }
    }
}

/// A program that acquires the lock, works, and releases it, round by round. A round whose session
/// ends is begun again in the next session; one that is cancelled or not granted in time is left out.
///
/// It returns the server's refusal of a path.
pub fn lock_worker(work: LockWork) -> Program {
    rounds(Stage::Prepare, move |zookeeper, stage| {
        let work = work.clone();
        async move { next(&zookeeper, &work, stage).await }
    })
}

async fn next(
    zookeeper: &ZooKeeper,
    work: &LockWork,
    stage: Stage,
) -> Result<Round<Stage>, String> {
    let next = match stage {
        Stage::Prepare => {
            prepare(zookeeper, work).await.map_err(|error| error.to_string())?;
            0
        }
        Stage::Acquire(round) => match acquire(zookeeper, work).await {
            Ok(Some(guard)) => {
                hold(zookeeper, guard, work, round).await.map_err(|error| error.to_string())?;
                round + 1
            }
            Ok(None) | Err(AcquireError::TimedOut) => round + 1,
            Err(AcquireError::SessionExpired) => round,
            Err(refused) => return Err(refused.to_string()),
        },
        Stage::Leave => {
            leave(zookeeper, work).await;
            return Ok(Round::Done);
        }
    };
    Ok(Round::Again(Stage::before(next, work)))
}

async fn leave(zookeeper: &ZooKeeper, work: &LockWork) {
    if !work.linger.is_zero() {
        zookeeper.sleep(work.linger).await;
    }
    if work.close {
        zookeeper.close().await;
    }
}

/// Creates the counter.
async fn prepare(zookeeper: &ZooKeeper, work: &LockWork) -> Result<(), Error> {
    let Some(counter) = work.counter.as_deref().filter(|_| work.prepare) else { return Ok(()) };
    loop {
        let session = zookeeper.connect().await;
        match ensure_path(zookeeper, counter).await {
            Err(Error::SessionExpired) => drop(next_session(zookeeper, session).await),
            result => return result,
        }
    }
}

/// `None` when the engine cancelled.
async fn acquire(zookeeper: &ZooKeeper, work: &LockWork) -> Result<Option<Guard>, AcquireError> {
    let lock = Lock::new(zookeeper.clone(), Arc::clone(&work.directory)).with_mutants(work.mutants);
    let acquire = async {
        match work.patience {
            Some(patience) => lock.acquire_timeout(patience).await,
            None => lock.acquire().await,
        }
    };
    if work.cancel {
        zookeeper.cancellable(acquire).await.map_or(Ok(None), |acquired| acquired.map(Some))
    } else {
        acquire.await.map(Some)
    }
}

/// Works under the lock until the work is done or the lock is lost, then releases it.
async fn hold(
    zookeeper: &ZooKeeper,
    guard: Guard,
    work: &LockWork,
    round: u32,
) -> Result<(), Error> {
    let writing = write(zookeeper, &guard, work, round);
    let result = if work.guard_watch { guard.while_held(writing).await } else { Ok(writing.await) };
    guard.release().await;
    // A lost lock ends the round: its work is not done, but no longer ours to do.
    result.unwrap_or(Ok(()))
}

/// Both kinds of write that are exact: outside ZooKeeper, and inside where there is a counter.
async fn write(
    zookeeper: &ZooKeeper,
    guard: &Guard,
    work: &LockWork,
    round: u32,
) -> Result<(), Error> {
    let token = guard.token().0;
    if zookeeper.write_resource(&work.resource, Some(token), u64::from(round)).await.is_err() {
        // The resource has seen a later holder: this one is a zombie.
        return Ok(());
    }
    if !work.hold.is_zero() {
        zookeeper.sleep(work.hold).await;
    }
    let Some(counter) = &work.counter else { return Ok(()) };
    let data = Data::from(token.to_string().as_bytes());
    let set = Op::SetData { path: Arc::clone(counter), data, version: Version::Any };
    loop {
        let mut events = zookeeper.session_events();
        match guard.fenced(vec![set.clone()]).await {
            Ok(_) | Err(FencedError::Lost(_)) => return Ok(()),
            // Setting the same again does no harm; if the session ends, the next try says so.
            Err(FencedError::Failed(Error::ConnectionLoss)) => {
                let _ = reconnected(&mut events).await;
            }
            // A guard that was told would have said Lost. This holder goes by its guard, which says
            // that the lock is held: it connects and carries on (mutant `BeliefSurvivesExpiry`).
            Err(FencedError::Failed(Error::SessionExpired)) => {
                next_session(zookeeper, guard.session()).await;
                return Ok(());
            }
            Err(FencedError::Operation { error, .. } | FencedError::Failed(error)) => {
                return Err(error);
            }
        }
    }
}
