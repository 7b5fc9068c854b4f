//! A program that keeps a znode, and one that disturbs it, for scenarios and as an example.

use super::{Mutants, PersistentNode};
use crate::helpers::{ensure_deleted, in_sessions, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, Program, Round, ZooKeeper, race, rounds};
use vivarium_model::op::Version;
use vivarium_model::time::Duration;

/// The role of a [`persistent_worker`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Keeps the znode.
    Keeper,
    /// Deletes the znode.
    Deletes,
    /// Writes other data to the znode.
    Overwrites,
}

/// Configures a [`persistent_worker`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistentWork {
    /// The znode's path.
    pub path: Arc<str>,
    /// The worker's role.
    pub role: Role,
    /// How many times to keep or disturb the znode.
    pub rounds: u32,
    /// How long a keeper keeps the znode each time, or a disturber waits before each time.
    pub span: Duration,
    /// Whether the engine may cancel keeping.
    pub cancel: bool,
    /// How long a keeper stays connected after each close.
    pub linger: Duration,
    /// Whether to close the session at the end.
    pub close: bool,
    /// The mutants.
    pub mutants: Mutants,
}

/// Returns a program that keeps a znode for some time and closes it, round by round; or a program that disturbs the
/// znode.
///
/// The program fails with the server's error for a path.
pub fn persistent_worker(work: PersistentWork) -> Program {
    rounds(0u32, move |zookeeper, round| {
        let work = work.clone();
        async move {
            if round < work.rounds {
                let done = match work.role {
                    Role::Keeper => keep(&zookeeper, &work).await,
                    Role::Deletes | Role::Overwrites => disturb(&zookeeper, &work).await,
                };
                done.map_err(|error| error.to_string())?;
                return Ok(Round::Again(round + 1));
            }
            if work.close {
                zookeeper.close().await;
            }
            Ok(Round::Done)
        }
    })
}

async fn keep(zookeeper: &ZooKeeper, work: &PersistentWork) -> Result<(), Error> {
    let data = &b"kept"[..];
    let node = PersistentNode::new(zookeeper.clone(), Arc::clone(&work.path), data)
        .with_mutants(work.mutants);
    let keeping = race(node.keep(), zookeeper.sleep(work.span));
    let kept = match work.cancel {
        true => zookeeper.cancellable(keeping).await.unwrap_or(Either::Right(())),
        false => keeping.await,
    };
    if let Either::Left(refused) = kept {
        return Err(refused);
    }
    match node.close().await {
        // The znode was deleted with the session.
        Ok(()) | Err(Error::SessionExpired) => {}
        Err(error) => return Err(error),
    }
    zookeeper.sleep(work.linger).await;
    Ok(())
}

async fn disturb(zookeeper: &ZooKeeper, work: &PersistentWork) -> Result<(), Error> {
    if !work.span.is_zero() {
        zookeeper.sleep(work.span).await;
    }
    in_sessions(zookeeper, |zookeeper, _| async move {
        if work.role == Role::Deletes {
            return ensure_deleted(&zookeeper, &work.path).await;
        }
        let set = || zookeeper.set_data(&work.path, b"other", Version::Any);
        match until_known(&zookeeper, set).await {
            Ok(_) | Err(Error::NoNode) => Ok(()),
            Err(error) => Err(error),
        }
    })
    .await
}
