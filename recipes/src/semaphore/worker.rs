//! A program that uses the semaphore as its contract asks for, for scenarios and as an example.

use super::{Mutants, Semaphore};
use crate::contention::{AcquireError, Routine};
use std::sync::Arc;
use vivarium_model::handle::{Program, ZooKeeper};

/// What a [`semaphore_worker`] does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SemaphoreWork {
    /// The semaphore.
    pub directory: Arc<str>,
    /// How many permits it has.
    pub permits: u32,
    /// How it goes about it.
    pub routine: Routine,
    /// The recipe's mutants.
    pub mutants: Mutants,
}

/// A program that gets a permit, keeps it and gives it back, round by round.
///
/// It returns the server's refusal of a path.
pub fn semaphore_worker(work: SemaphoreWork) -> Program {
    let routine = work.routine;
    routine.program(move |zookeeper, _round| {
        let work = work.clone();
        async move { hold(&zookeeper, &work).await }
    })
}

async fn hold(zookeeper: &ZooKeeper, work: &SemaphoreWork) -> Result<(), AcquireError> {
    let semaphore =
        Semaphore::new(zookeeper.clone(), &work.directory, work.permits).with_mutants(work.mutants);
    let acquire = async {
        match work.routine.patience {
            Some(patience) => semaphore.acquire_timeout(patience).await,
            None => semaphore.acquire().await,
        }
    };
    let Some(permit) = work.routine.cancellable(zookeeper, acquire).await? else { return Ok(()) };
    if !work.routine.hold.is_zero() {
        // It stops where the permit is lost.
        let _ = permit.while_held(work.routine.stay(zookeeper)).await;
    }
    permit.release().await;
    Ok(())
}
