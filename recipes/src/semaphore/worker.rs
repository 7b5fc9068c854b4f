//! A program that uses the semaphore as its contract asks for, for scenarios and as an example.

use super::{Mutants, Semaphore};
use crate::contention::AcquireError;
use std::sync::Arc;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
use vivarium_model::time::Duration;

/// What a [`semaphore_worker`] does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SemaphoreWork {
    /// The semaphore.
    pub directory: Arc<str>,
    /// How many permits it has.
    pub permits: u32,
    /// How often to get one.
    pub rounds: u32,
    /// How long to keep it.
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

impl SemaphoreWork {
    /// The least that gets one of so many permits.
    pub fn lean(directory: impl Into<Arc<str>>, permits: u32) -> SemaphoreWork {
        SemaphoreWork {
            directory: directory.into(),
            permits,
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

/// A program that gets a permit, keeps it and gives it back, round by round. A round whose session ends is begun
/// again; one that is cancelled or takes too long is left out.
///
/// It returns the server's refusal of a path.
pub fn semaphore_worker(work: SemaphoreWork) -> Program {
    rounds(0_u32, move |zookeeper, round| {
        let work = work.clone();
        async move { next(&zookeeper, &work, round).await }
    })
}

async fn next(
    zookeeper: &ZooKeeper,
    work: &SemaphoreWork,
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

async fn hold(zookeeper: &ZooKeeper, work: &SemaphoreWork) -> Result<(), AcquireError> {
    let semaphore = Semaphore::new(zookeeper.clone(), &work.directory, work.permits, work.mutants);
    let acquire = async {
        match work.patience {
            Some(patience) => semaphore.acquire_timeout(patience).await,
            None => semaphore.acquire().await,
        }
    };
    let permit = if work.cancel {
        match zookeeper.cancellable(acquire).await {
            Ok(acquired) => acquired?,
            Err(_cancelled) => return Ok(()),
        }
    } else {
        acquire.await?
    };
    if !work.hold.is_zero() {
        // It stops where the permit is lost.
        let _ = permit.while_held(zookeeper.sleep(work.hold)).await;
    }
    permit.release().await;
    Ok(())
}
