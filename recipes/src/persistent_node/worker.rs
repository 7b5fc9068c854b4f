//! A program that keeps a znode there, and one that disturbs it, for scenarios and as an example.

use super::{Mutants, PersistentNode};
use crate::helpers::{ensure_deleted, in_sessions, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, Program, Round, ZooKeeper, race, rounds};
use vivarium_model::op::Version;
use vivarium_model::time::Duration;

/// Who a [`persistent_worker`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// It keeps the znode.
    Keeper,
    /// It deletes it.
    Deletes,
    /// It writes something else into it.
    Overwrites,
}

/// What a [`persistent_worker`] does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistentWork {
    /// The znode's path.
    pub path: Arc<str>,
    /// Who it is.
    pub role: Role,
    /// How often.
    pub rounds: u32,
    /// How long a keeper keeps it each time, or a disturber waits before each time.
    pub span: Duration,
    /// Whether the engine may cancel the keeping.
    pub cancel: bool,
    /// How long a keeper stays connected after each close.
    pub linger: Duration,
    /// Whether to close the session at the end.
    pub close: bool,
    /// The mutants.
    pub mutants: Mutants,
}

/// A program that keeps a znode there for a while and closes it, round by round; or disturbs it.
///
/// It returns the server's refusal of a path.
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
        // It has gone with the session.
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
