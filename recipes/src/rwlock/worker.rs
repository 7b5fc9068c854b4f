//! A program that uses the read-write lock as its contract asks for, for scenarios and as an example.

use super::{Mutants, RwLock};
use crate::contention::{AcquireError, Guard};
use std::sync::Arc;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
use vivarium_model::time::Duration;

/// What a [`rw_lock_worker`] does in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It writes, and reads on.
    Downgrade,
}

/// What a [`rw_lock_worker`] does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RwLockWork {
    /// The lock.
    pub directory: Arc<str>,
    /// One after the other.
    pub turns: Vec<Turn>,
    /// A resource outside ZooKeeper, to which writers write under their fencing token; none to leave that
    /// out.
    pub resource: Option<Arc<str>>,
    /// Whether the holder stops when it is told that the lock is lost ([`Guard::while_held`]).
    pub guard_watch: bool,
    /// How long to hold the lock.
    pub hold: Duration,
    /// How long to wait before a turn is given up; `None` for ever.
    pub patience: Option<Duration>,
    /// Whether waiting may be cancelled by the engine.
    pub cancel: bool,
    /// How long to stay connected after the last turn, so that a leak can be seen.
    pub linger: Duration,
    /// Whether to close the session at the end.
    pub close: bool,
    /// The recipe's mutants.
    pub mutants: Mutants,
}

impl RwLockWork {
    /// The least that takes these turns.
    pub fn lean(directory: impl Into<Arc<str>>, turns: Vec<Turn>) -> RwLockWork {
        RwLockWork {
            directory: directory.into(),
            turns,
            resource: None,
            guard_watch: false,
            hold: Duration::ZERO,
            patience: None,
            cancel: false,
            linger: Duration::ZERO,
            close: false,
            mutants: Mutants::NONE,
        }
    }
}

/// A program that takes its turns, one after the other. One whose session ends is taken again in the next
/// session; one that is cancelled, or not granted in time, is left out.
///
/// It returns the server's refusal of a path.
pub fn rw_lock_worker(work: RwLockWork) -> Program {
    rounds(0_usize, move |zookeeper, turn| {
        let work = work.clone();
        async move { next(&zookeeper, &work, turn).await }
    })
}

async fn next(zookeeper: &ZooKeeper, work: &RwLockWork, at: usize) -> Result<Round<usize>, String> {
    let Some(turn) = work.turns.get(at) else {
        if !work.linger.is_zero() {
            zookeeper.sleep(work.linger).await;
        }
        if work.close {
            zookeeper.close().await;
        }
        return Ok(Round::Done);
    };
    match take(zookeeper, work, *turn).await {
        Ok(()) | Err(AcquireError::TimedOut) => Ok(Round::Again(at + 1)),
        Err(AcquireError::SessionExpired) => Ok(Round::Again(at)),
        Err(refused) => Err(refused.to_string()),
    }
}

async fn take(zookeeper: &ZooKeeper, work: &RwLockWork, turn: Turn) -> Result<(), AcquireError> {
    let lock = RwLock::new(zookeeper.clone(), Arc::clone(&work.directory), work.mutants);
    if turn == Turn::Read {
        let read = async {
            match work.patience {
                Some(patience) => lock.read_timeout(patience).await,
                None => lock.read().await,
            }
        };
        let Some(guard) = cancellable(zookeeper, work, read).await? else { return Ok(()) };
        hold(zookeeper, &guard, work).await;
        guard.release().await;
        return Ok(());
    }
    let write = async {
        match work.patience {
            Some(patience) => lock.write_timeout(patience).await,
            None => lock.write().await,
        }
    };
    let Some(guard) = cancellable(zookeeper, work, write).await? else { return Ok(()) };
    if !write_resource(zookeeper, work, &guard).await {
        // A zombie: somebody was granted the lock since.
        guard.release().await;
        return Ok(());
    }
    hold(zookeeper, &guard, work).await;
    if turn == Turn::Downgrade {
        if let Ok(guard) = guard.downgrade().await {
            hold(zookeeper, &guard, work).await;
            guard.release().await;
        }
    } else {
        guard.release().await;
    }
    Ok(())
}

/// `None` when the engine cancelled.
async fn cancellable<G>(
    zookeeper: &ZooKeeper,
    work: &RwLockWork,
    acquire: impl Future<Output = Result<G, AcquireError>>,
) -> Result<Option<G>, AcquireError> {
    if work.cancel {
        zookeeper.cancellable(acquire).await.map_or(Ok(None), |acquired| acquired.map(Some))
    } else {
        acquire.await.map(Some)
    }
}

/// Whether the resource took it.
async fn write_resource(zookeeper: &ZooKeeper, work: &RwLockWork, guard: &Guard) -> bool {
    let Some(resource) = &work.resource else { return true };
    zookeeper.write_resource(resource, Some(guard.token().0), 0).await.is_ok()
}

/// Holds the lock for a while, or until it is lost.
async fn hold(zookeeper: &ZooKeeper, guard: &Guard, work: &RwLockWork) {
    let time = async {
        if !work.hold.is_zero() {
            zookeeper.sleep(work.hold).await;
        }
    };
    if work.guard_watch {
        // A lost lock ends the turn, and the release finds nothing.
        let _ = guard.while_held(time).await;
    } else {
        time.await;
    }
}
