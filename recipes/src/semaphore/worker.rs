//! A program that uses the semaphore according to its contract, for scenarios and as an example.

use super::{Mutants, Semaphore};
use crate::contention::{AcquireError, Routine};
use std::sync::Arc;
use vivarium_model::handle::{Program, ZooKeeper};

/// Configures a [`semaphore_worker`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SemaphoreWork {
    /// The semaphore's directory.
    pub directory: Arc<str>,
    /// How many permits the semaphore has.
    pub permits: u32,
    /// How the worker proceeds.
    pub routine: Routine,
    /// The recipe's mutants.
    pub mutants: Mutants,
}

/// Returns a program that acquires a permit, holds it and releases it, round by round.
///
/// The program fails with the server's error for a path.
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
        // The work stops when the permit is lost.
        let _ = permit.while_held(work.routine.stay(zookeeper)).await;
    }
    permit.release().await;
    Ok(())
}
