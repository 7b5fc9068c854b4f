//! A program that uses the lock according to its contract, for scenarios and as an example.

use super::{AcquireError, FencedError, Guard, Lock, Mutants};
use crate::helpers::{ensure_path, next_session, reconnected};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
use vivarium_model::op::{Data, Op, Version};
use vivarium_model::time::Duration;

/// Configures a [`lock_worker`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWork {
    /// The lock's directory.
    pub directory: Arc<str>,
    /// How many times to acquire the lock.
    pub rounds: u32,
    /// A resource outside of ZooKeeper, to which the holder writes under the fencing token.
    pub resource: Arc<str>,
    /// A znode to which the holder writes under a check of the lock's znode; `None` for no such write.
    pub counter: Option<Arc<str>>,
    /// Whether to create the counter first if it is missing.
    pub prepare: bool,
    /// Whether the holder stops its work when the lock is lost ([`Guard::while_held`]). If not, it learns of the loss
    /// only when a write is refused.
    pub guard_watch: bool,
    /// How long to hold the lock between the two writes.
    pub hold: Duration,
    /// How long to wait for the lock before giving up the round; `None` for no limit.
    pub patience: Option<Duration>,
    /// Whether the engine may cancel acquiring.
    pub cancel: bool,
    /// How long to stay connected after the last round, so that a leak can be detected.
    pub linger: Duration,
    /// Whether to close the session at the end. Required with `cancel`: background tasks of the lock end with the
    /// program, finished or not.
    pub close: bool,
    /// The lock's mutants.
    pub mutants: Mutants,
}

impl LockWork {
    /// One round, without a time limit, of the lock in `directory`.
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

    /// The least work that uses the lock: acquire it, write to the resource under the token, release it, and finish.
    /// Every failure of the lock itself can occur here.
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

/// The state of a worker between its rounds; nothing else survives a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Prepare,
    /// Before the round of this number.
    Acquire(u32),
    /// After the last round.
    Leave,
}

impl Stage {
    /// Returns the stage before this round, or the last stage if there is no such round.
    fn before(round: u32, work: &LockWork) -> Stage {
        if round < work.rounds { Stage::Acquire(round) } else { Stage::Leave }
    }
}

/// Returns a program that acquires the lock, works, and releases it, round by round. A round whose session ends is
/// repeated in the next session; a round that is cancelled or not granted the lock in time is skipped.
///
/// The program fails with the server's error for a path.
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

/// Creates the counter if the work has one.
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

/// Acquires the lock. Returns `None` if the engine cancelled.
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
    // A lost lock ends the round: the work is not done, and this client may no longer do it.
    result.unwrap_or(Ok(()))
}

/// Writes to the resource outside of ZooKeeper, and to the counter if there is one; both writes are fenced.
async fn write(
    zookeeper: &ZooKeeper,
    guard: &Guard,
    work: &LockWork,
    round: u32,
) -> Result<(), Error> {
    let token = guard.token().0;
    if zookeeper.write_resource(&work.resource, Some(token), u64::from(round)).await.is_err() {
        // The resource has accepted a later holder's token: this one is a zombie.
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
            // Setting the same data again does no harm; if the session ends, the next try fails with
            // `SessionExpired`.
            Err(FencedError::Failed(Error::ConnectionLoss)) => {
                let _ = reconnected(&mut events).await;
            }
            // A guard that had learned of the expiry would have returned `Lost`. This holder trusts its guard, which
            // says that the lock is held: it connects again and continues (mutant `BeliefSurvivesExpiry`).
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
