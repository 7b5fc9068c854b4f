//! A program that uses the read-write lock according to its contract, for scenarios and as an example.

use super::{Mutants, RwLock};
use crate::contention::{AcquireError, Guard, Routine, write_under};
use std::sync::Arc;
use vivarium_model::handle::{Program, ZooKeeper};

/// The action of a [`rw_lock_worker`] in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// Acquires the lock for reading.
    Read,
    /// Acquires the lock for writing.
    Write,
    /// Acquires the lock for writing, and then downgrades it to reading.
    Downgrade,
}

/// Configures a [`rw_lock_worker`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RwLockWork {
    /// The lock's directory.
    pub directory: Arc<str>,
    /// The actions of the rounds, one after the other.
    pub turns: Vec<Turn>,
    /// A resource outside of ZooKeeper, to which writers write under their fencing token; `None` for no such write.
    pub resource: Option<Arc<str>>,
    /// Whether the holder stops its work when the lock is lost ([`Guard::while_held`]).
    pub guard_watch: bool,
    /// How the worker proceeds. Its rounds are the turns, and there are no more rounds than turns.
    pub routine: Routine,
    /// The recipe's mutants.
    pub mutants: Mutants,
}

/// Returns a program that takes its turns, one after the other.
///
/// The program fails with the server's error for a path.
pub fn rw_lock_worker(work: RwLockWork) -> Program {
    work.routine.program_of_turns(work.turns.clone(), move |zookeeper, turn| {
        let work = work.clone();
        async move { take(&zookeeper, &work, turn).await }
    })
}

async fn take(zookeeper: &ZooKeeper, work: &RwLockWork, turn: Turn) -> Result<(), AcquireError> {
    let lock =
        RwLock::new(zookeeper.clone(), Arc::clone(&work.directory)).with_mutants(work.mutants);
    if turn == Turn::Read {
        let read = async {
            match work.routine.patience {
                Some(patience) => lock.read_timeout(patience).await,
                None => lock.read().await,
            }
        };
        let Some(guard) = work.routine.cancellable(zookeeper, read).await? else { return Ok(()) };
        hold(zookeeper, &guard, work).await;
        guard.release().await;
        return Ok(());
    }
    let write = async {
        match work.routine.patience {
            Some(patience) => lock.write_timeout(patience).await,
            None => lock.write().await,
        }
    };
    let Some(guard) = work.routine.cancellable(zookeeper, write).await? else { return Ok(()) };
    if !write_under(zookeeper, work.resource.as_ref(), guard.token()).await {
        // This client is a zombie: another one was granted the lock since.
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

/// Holds the lock for some time, or until it is lost.
async fn hold(zookeeper: &ZooKeeper, guard: &Guard, work: &RwLockWork) {
    let stay = work.routine.stay(zookeeper);
    if work.guard_watch {
        // A lost lock ends the turn, and the release finds no znode.
        let _ = guard.while_held(stay).await;
    } else {
        stay.await;
    }
}
