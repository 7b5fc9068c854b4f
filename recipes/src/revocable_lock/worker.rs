//! A program that uses a revocable lock as its contract asks for, for scenarios and as an example.

use super::{Interruption, Mutants, RevocableGuard, RevocableLock};
use crate::contention::{AcquireError, Routine, write_under};
use std::sync::Arc;
use vivarium_model::handle::{Program, ZooKeeper};
use vivarium_model::time::Duration;

/// What a [`revocable_lock_worker`] does in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// It holds the lock for a while, or until it is asked for it.
    Hold,
    /// It holds the lock for a while, asked or not.
    Insist,
    /// It asks for the lock, and takes its place in the line.
    Ask,
    /// It takes the lock away from whoever has not given it back in time, and takes its place in the line.
    Take,
}

/// What a [`revocable_lock_worker`] does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevocableWork {
    /// The lock.
    pub directory: Arc<str>,
    /// One after the other.
    pub turns: Vec<Turn>,
    /// Whether an owner writes a note into its znode.
    pub note: bool,
    /// How long an owner has to give the lock back.
    pub grace: Duration,
    /// A resource outside ZooKeeper, to which an owner writes under its fencing token, at the beginning and at the
    /// end; none to leave that out.
    pub resource: Option<Arc<str>>,
    /// How it goes about it. Its rounds are the turns, and there are no more rounds than turns.
    pub routine: Routine,
    /// The recipe's mutants.
    pub mutants: Mutants,
}

/// A program that takes its turns, one after the other.
///
/// It returns the server's refusal of a path.
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
            // It has something to finish. A lost lock ends that too.
            let _ = guard.while_held(work.routine.stay(zookeeper)).await;
        }
        write_under(zookeeper, resource, guard.token()).await;
    }
    guard.release().await;
    Ok(())
}

/// Holds the lock for a while.
async fn hold(zookeeper: &ZooKeeper, work: &RevocableWork, guard: &RevocableGuard) {
    if work.note {
        // One that is asked for the lock is told beside this.
        let _ = guard.note("at work").await;
    }
    work.routine.stay(zookeeper).await;
}
