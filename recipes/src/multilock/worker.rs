//! A program that uses a multi-lock as its contract asks for, for scenarios and as an example.

use super::{MultiLock, Mutants};
use crate::contention::AcquireError;
use std::sync::Arc;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
use vivarium_model::time::Duration;

/// What a [`multi_lock_worker`] does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MultiLockWork {
    /// The locks, as the caller names them.
    pub directories: Vec<Arc<str>>,
    /// How often to acquire them.
    pub rounds: u32,
    /// How long to hold them.
    pub hold: Duration,
    /// How long to wait before a round is given up; `None` for ever.
    pub patience: Option<Duration>,
    /// Whether waiting may be cancelled by the engine.
    pub cancel: bool,
    /// How long to stay connected at the end, so that a leak can be seen.
    pub linger: Duration,
    /// Whether to close the session at the end.
    pub close: bool,
    /// The recipe's mutants.
    pub mutants: Mutants,
}

impl MultiLockWork {
    /// The least that acquires these locks once.
    pub fn lean(directories: Vec<Arc<str>>) -> MultiLockWork {
        MultiLockWork {
            directories,
            rounds: 1,
            hold: Duration::ZERO,
            patience: None,
            cancel: false,
            linger: Duration::ZERO,
            close: false,
            mutants: Mutants::NONE,
        }
    }
}

/// A program that acquires its locks, holds them and releases them, round by round. A round whose session ends is
/// begun again; one that is cancelled or takes too long is left out.
///
/// It returns the server's refusal of a path.
pub fn multi_lock_worker(work: MultiLockWork) -> Program {
    rounds(0_u32, move |zookeeper, round| {
        let work = work.clone();
        async move { next(&zookeeper, &work, round).await }
    })
}

async fn next(
    zookeeper: &ZooKeeper,
    work: &MultiLockWork,
    round: u32,
) -> Result<Round<u32>, String> {
    if round >= work.rounds {
        if !work.linger.is_zero() {
            zookeeper.sleep(work.linger).await;
        }
        if work.close {
            zookeeper.close().await;
        }
        return Ok(Round::Done);
    }
    match hold(zookeeper, work).await {
        Ok(()) | Err(AcquireError::TimedOut) => Ok(Round::Again(round + 1)),
        Err(AcquireError::SessionExpired) => Ok(Round::Again(round)),
        Err(refused) => Err(refused.to_string()),
    }
}

async fn hold(zookeeper: &ZooKeeper, work: &MultiLockWork) -> Result<(), AcquireError> {
    let locks = MultiLock::new(zookeeper.clone(), work.directories.clone(), work.mutants);
    let acquire = async {
        match work.patience {
            Some(patience) => locks.acquire_timeout(patience).await,
            None => locks.acquire().await,
        }
    };
    let held = if work.cancel {
        match zookeeper.cancellable(acquire).await {
            Ok(acquired) => acquired?,
            Err(_cancelled) => return Ok(()),
        }
    } else {
        acquire.await?
    };
    if !work.hold.is_zero() {
        zookeeper.sleep(work.hold).await;
    }
    held.release().await;
    Ok(())
}
