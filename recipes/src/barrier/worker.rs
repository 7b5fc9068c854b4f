//! Programs that use the barrier according to its contract, for scenarios and as an example: an owner, which raises
//! and lowers barriers and announces each to the waiters outside of ZooKeeper; and waiters.

use super::{Barrier, BarrierSeen, Mutants, WaitError};
use crate::helpers::{ensure_path, in_sessions, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, Program, Round, ZooKeeper, race, rounds};
use vivarium_model::host::Message;
use vivarium_model::id::ClientId;
use vivarium_model::op::Version;
use vivarium_model::path;
use vivarium_model::time::Duration;
use vivarium_model::zxid::Zxid;

/// Configures a [`barrier_owner`] and its [`barrier_waiter`]s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BarrierWork {
    /// The parent znode of the barriers.
    pub directory: Arc<str>,
    /// The znode that the owner creates after the last barrier.
    pub over: Arc<str>,
    /// How many barriers the owner raises, one after the other.
    pub rounds: u32,
    /// The clients to which each barrier is announced.
    pub waiters: Vec<ClientId>,
    /// Whether the owner writes to the znode while the barrier is raised.
    pub touch: bool,
    /// How long the barrier stays raised.
    pub hold: Duration,
    /// How long to wait for a barrier before giving it up; `None` for no limit.
    pub patience: Option<Duration>,
    /// Whether the engine may cancel waiting.
    pub cancel: bool,
    /// The barrier's mutants.
    pub mutants: Mutants,
}

impl BarrierWork {
    /// One barrier in `directory`, for these waiters.
    pub fn new(directory: impl Into<Arc<str>>, waiters: Vec<ClientId>) -> BarrierWork {
        let directory = directory.into();
        BarrierWork {
            over: format!("{directory}-over").into(),
            directory,
            rounds: 1,
            waiters,
            touch: true,
            hold: Duration::from_millis(10),
            patience: None,
            cancel: false,
            mutants: Mutants::NONE,
        }
    }

    /// The least work that uses the barrier.
    pub fn lean(directory: impl Into<Arc<str>>, waiters: Vec<ClientId>) -> BarrierWork {
        BarrierWork { hold: Duration::ZERO, ..BarrierWork::new(directory, waiters) }
    }

    fn barrier(&self, zookeeper: &ZooKeeper, node: &str) -> Barrier {
        Barrier::new(zookeeper.clone(), node).with_mutants(self.mutants)
    }
}

/// The state of an owner between its rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Prepare,
    /// Before it raises the barrier of this number.
    Raise(u32),
}

/// Returns a program that raises a barrier under a fresh name, announces it to the waiters, writes to its znode,
/// lowers it, and continues with the next one; finally it creates `over`. A process that is killed begins anew.
///
/// The program fails with the server's error for a path.
pub fn barrier_owner(work: BarrierWork) -> Program {
    rounds(Stage::Prepare, move |zookeeper, stage| {
        let work = work.clone();
        async move {
            let next = own(&zookeeper, &work, stage).await;
            next.map_err(|error: Error| error.to_string())
        }
    })
}

async fn own(
    zookeeper: &ZooKeeper,
    work: &BarrierWork,
    stage: Stage,
) -> Result<Round<Stage>, Error> {
    match stage {
        Stage::Prepare => {
            prepare(zookeeper, work).await?;
            Ok(Round::Again(Stage::Raise(0)))
        }
        Stage::Raise(round) if round < work.rounds => {
            let id = zookeeper.random().await;
            raise_and_lower(zookeeper, work, &format!("{}/{id:016x}", work.directory)).await?;
            Ok(Round::Again(Stage::Raise(round + 1)))
        }
        Stage::Raise(_) => {
            in_sessions(zookeeper, |zookeeper, _| async move {
                ensure_path(&zookeeper, &work.over).await
            })
            .await?;
            Ok(Round::Done)
        }
    }
}

/// Creates the directory, and lowers the barriers that an earlier process has left in it.
async fn prepare(zookeeper: &ZooKeeper, work: &BarrierWork) -> Result<(), Error> {
    let left = in_sessions(zookeeper, |zookeeper, _| async move {
        // `ensure_path` writes even if the directory exists, so this read observes every barrier that the earlier
        // process has announced (recipe rule 1.1.3).
        ensure_path(&zookeeper, &work.directory).await?;
        match until_known(&zookeeper, || zookeeper.get_children(&work.directory)).await {
            // The owner may delete the directory while it is empty.
            Err(Error::NoNode) => Ok(Vec::new()),
            other => other,
        }
    });
    for name in left.await? {
        work.barrier(zookeeper, &format!("{}/{name}", work.directory)).lower().await?;
    }
    Ok(())
}

async fn raise_and_lower(
    zookeeper: &ZooKeeper,
    work: &BarrierWork,
    node: &str,
) -> Result<(), Error> {
    let barrier = work.barrier(zookeeper, node);
    let raised = barrier.raise().await?;
    for waiter in &work.waiters {
        zookeeper.send(*waiter, format!("{} {}", raised.0, path::name(node)).as_bytes());
    }
    if work.touch {
        // The result does not matter: the write only makes waiters see a change.
        let _ = zookeeper.set_data(node, b"still up", Version::Any).await;
    }
    if !work.hold.is_zero() {
        zookeeper.sleep(work.hold).await;
    }
    barrier.lower().await
}

/// Returns a program that waits for each barrier that is announced to it, until the owner has created `over`.
///
/// The program fails with the server's error for a path.
pub fn barrier_waiter(work: BarrierWork) -> Program {
    rounds((), move |zookeeper, ()| {
        let work = work.clone();
        async move {
            let next = wait(&zookeeper, &work).await;
            next.map_err(|error: Error| error.to_string())
        }
    })
}

async fn wait(zookeeper: &ZooKeeper, work: &BarrierWork) -> Result<Round<()>, Error> {
    let Some(node) = next_barrier(zookeeper, work).await? else { return Ok(Round::Done) };
    let barrier = work.barrier(zookeeper, &node);
    let waiting = async {
        match work.patience {
            Some(patience) => match barrier.wait_timeout(patience).await {
                // After a timeout the waiter continues without the barrier.
                Ok(()) | Err(WaitError::TimedOut) => Ok(()),
                Err(WaitError::Refused(error)) => Err(error),
            },
            None => barrier.wait().await,
        }
    };
    let waited = if work.cancel {
        zookeeper.cancellable(waiting).await.unwrap_or(Ok(()))
    } else {
        waiting.await
    };
    waited.map(|()| Round::Again(()))
}

/// Returns the next barrier that is announced; `None` once the owner has created `over`.
///
/// # Errors
/// The server's error for a path.
pub async fn next_barrier(
    zookeeper: &ZooKeeper,
    work: &BarrierWork,
) -> Result<Option<Arc<str>>, Error> {
    loop {
        let over = in_sessions(zookeeper, |zookeeper, _| async move {
            let exists = || zookeeper.exists_watch(&work.over);
            let (over, mut created) = until_known(&zookeeper, exists).await?;
            match over {
                Some(_) => Ok(()),
                None => created.changed().await.map(drop),
            }
        });
        let message = match race(zookeeper.receive(), over).await {
            Either::Left(message) => message,
            Either::Right(over) => return over.map(|()| None),
        };
        if let Some((name, raised)) = told(&message) {
            let node: Arc<str> = format!("{}/{name}", work.directory).into();
            zookeeper.observe(BarrierSeen::Told { node: Arc::clone(&node), raised });
            return Ok(Some(node));
        }
    }
}

/// Parses a message: the barrier's name, and the transaction that raised it.
fn told(message: &Message) -> Option<(&str, Zxid)> {
    let (raised, name) = std::str::from_utf8(&message.body).ok()?.split_once(' ')?;
    Some((name, Zxid(raised.parse().ok()?)))
}
