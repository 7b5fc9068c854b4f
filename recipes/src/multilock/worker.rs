//! A program that uses a multi-lock according to its contract, for scenarios and as an example.

use super::{MultiLock, Mutants};
use crate::contention::{AcquireError, Routine};
use std::sync::Arc;
use vivarium_model::handle::{Program, ZooKeeper};

/// Configures a [`multi_lock_worker`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MultiLockWork {
    /// The locks' directories, in the caller's order.
    pub directories: Vec<Arc<str>>,
    /// How the worker proceeds.
    pub routine: Routine,
    /// The recipe's mutants.
    pub mutants: Mutants,
}

/// Returns a program that acquires its locks, holds them and releases them, round by round.
///
/// The program fails with the server's error for a path.
pub fn multi_lock_worker(work: MultiLockWork) -> Program {
    let routine = work.routine;
    routine.program(move |zookeeper, _round| {
        let work = work.clone();
        async move { hold(&zookeeper, &work).await }
    })
}

async fn hold(zookeeper: &ZooKeeper, work: &MultiLockWork) -> Result<(), AcquireError> {
    let locks =
        MultiLock::new(zookeeper.clone(), work.directories.clone()).with_mutants(work.mutants);
    let acquire = async {
        match work.routine.patience {
            Some(patience) => locks.acquire_timeout(patience).await,
            None => locks.acquire().await,
        }
    };
    let Some(held) = work.routine.cancellable(zookeeper, acquire).await? else { return Ok(()) };
    work.routine.stay(zookeeper).await;
    held.release().await;
    Ok(())
}
