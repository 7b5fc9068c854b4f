//! A program that uses a revocable lock according to its contract, for scenarios and as an example.

use super::{Interruption, Mutants, RevocableGuard, RevocableLock};
use crate::contention::{AcquireError, Routine, write_under};
use std::sync::Arc;
use vivarium_model::handle::{Program, ZooKeeper};
use vivarium_model::time::Duration;

/// The action of a [`revocable_lock_worker`] in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// Holds the lock for some time, or until another client asks for it.
    Hold,
    /// Holds the lock for some time, even if another client asks for it.
    Insist,
    /// Asks for the lock, and joins the line.
    Ask,
    /// Takes the lock away if its owner has not released it in time, and joins the line.
    Take,
}

/// Configures a [`revocable_lock_worker`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevocableWork {
    /// The lock's directory.
    pub directory: Arc<str>,
    /// The actions of the rounds, one after the other.
    pub turns: Vec<Turn>,
    /// Whether an owner writes a note to its znode.
    pub note: bool,
    /// How long an owner has to release the lock after a request.
    pub grace: Duration,
    /// A resource outside of ZooKeeper, to which an owner writes under its fencing token, at the beginning and at the
    /// end; `None` for no such write.
    pub resource: Option<Arc<str>>,
    /// How the worker proceeds. Its rounds are the turns, and there are no more rounds than turns.
    pub routine: Routine,
    /// The recipe's mutants.
    pub mutants: Mutants,
}

/// Returns a program that takes its turns, one after the other.
///
/// The program fails with the server's error for a path.
pub fn revocable_lock_worker(work: RevocableWork) -> Program {
    work.routine.program_of_turns(work.turns.clone(), move |zookeeper, turn| {
        let work = work.clone();
        async move { take(&zookeeper, &work, turn).await }
    })
}

async fn take(zookeeper: &ZooKeeper, work: &RevocableWork, turn: Turn) -> Result<(), AcquireError> {
    let lock = RevocableLock::new(zookeeper.clone(), Arc::clone(&work.directory))
        .with_mutants(work.mutants);
    let acquire = async {
        match turn {
            Turn::Hold | Turn::Insist => {}
            Turn::Ask => drop(lock.ask().await?),
            Turn::Take => drop(lock.take(work.grace).await?),
        }
        match work.routine.patience {
            Some(patience) => lock.acquire_timeout(patience).await,
            None => lock.acquire().await,
        }
    };
    let Some(guard) = work.routine.cancellable(zookeeper, acquire).await? else { return Ok(()) };
    let resource = work.resource.as_ref();
    if write_under(zookeeper, resource, guard.token()).await
        && matches!(turn, Turn::Hold | Turn::Insist)
    {
        let ended = guard.unless_asked(hold(zookeeper, work, &guard)).await;
        if matches!(ended, Err(Interruption::Asked)) && turn == Turn::Insist {
            // The owner has work to finish. A lost lock ends this work too.
            let _ = guard.while_held(work.routine.stay(zookeeper)).await;
        }
        write_under(zookeeper, resource, guard.token()).await;
    }
    guard.release().await;
    Ok(())
}

/// Holds the lock for some time.
async fn hold(zookeeper: &ZooKeeper, work: &RevocableWork, guard: &RevocableGuard) {
    if work.note {
        // The result is ignored: the guard notifies the owner of requests in any case.
        let _ = guard.note("at work").await;
    }
    work.routine.stay(zookeeper).await;
}
