//! A program that takes part in a partition, for scenarios and as an example.

use super::{Mutants, PartitionError, Partitioner, Share};
use crate::helpers::next_session;
use std::future::pending;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
use vivarium_model::id::SessionId;
use vivarium_model::time::Duration;

/// What a [`partition_worker`] does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionWork {
    /// The partition's directory.
    pub directory: Arc<str>,
    /// What it divides.
    pub items: Vec<Arc<str>>,
    /// The member's id.
    pub id: Arc<str>,
    /// How often to take part and leave.
    pub rounds: u32,
    /// How long its share must have been the same before it leaves.
    pub stay: Duration,
    /// Whether it may leave without having used anything: whoever may not has no end to its stay while its share is
    /// empty, and so no sleep that could end.
    pub leaves_idle: bool,
    /// Whether it writes to a resource outside ZooKeeper for each item, named after that, under the item's fencing
    /// token.
    pub resources: bool,
    /// Whether the engine may cancel taking part at any await point.
    pub cancel: bool,
    /// How long to stay connected after that, so that a leak can be seen.
    pub linger: Duration,
    /// Whether to close the session at the end. Who can be cancelled must: what goes on in the background ends with the
    /// program, done or not.
    pub close: bool,
    /// The recipe's mutants.
    pub mutants: Mutants,
}

/// Where a worker stands between its rounds; it remembers nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// Before the part of this number, or behind the last one.
    Before(u32),
    /// In this session it is known that the others divide the same set.
    Agreed(u32, SessionId),
}

/// A program that takes part, uses its share until that has stayed the same for a while, and leaves, round by round.
/// One that divides another set than the others is refused, and ends.
///
/// It takes part as [`Partitioner::take_part`] does, and forgets behind each session what was in it.
///
/// It returns the server's refusal of a path.
pub fn partition_worker(work: PartitionWork) -> Program {
    rounds(Stage::Before(0), move |zookeeper, stage| {
        let work = work.clone();
        async move {
            let (Stage::Before(round) | Stage::Agreed(round, _)) = stage;
            if round < work.rounds {
                let next = take_part(&zookeeper, &work, stage);
                // Who is cancelled leaves the part out.
                let next = match work.cancel {
                    true => {
                        zookeeper.cancellable(next).await.unwrap_or(Ok(Stage::Before(round + 1)))
                    }
                    false => next.await,
                };
                return next.map(Round::Again).map_err(|refused| refused.to_string());
            }
            if !work.linger.is_zero() {
                zookeeper.sleep(work.linger).await;
            }
            if work.close {
                zookeeper.close().await;
            }
            Ok(Round::Done)
        }
    })
}

async fn take_part(
    zookeeper: &ZooKeeper,
    work: &PartitionWork,
    stage: Stage,
) -> Result<Stage, PartitionError> {
    let (directory, items) = (Arc::clone(&work.directory), work.items.clone());
    let partitioner =
        Partitioner::new(zookeeper.clone(), directory, items).with_mutants(work.mutants);
    let (round, session, next) = match stage {
        Stage::Before(round) => {
            let session = zookeeper.connect().await;
            let agrees = partitioner.agrees_in(session).await;
            (round, session, agrees.map(|agrees| agrees.then_some(Stage::Agreed(round, session))))
        }
        Stage::Agreed(round, session) => {
            let use_share = |share| use_share(zookeeper, work, share);
            let done = partitioner.work_in(session, &work.id, &use_share).await;
            (round, session, done.map(|()| Some(Stage::Before(round + 1))))
        }
    };
    match next {
        Ok(Some(stage)) => Ok(stage),
        Ok(None) => {
            partitioner.refused();
            Ok(Stage::Before(work.rounds))
        }
        Err(Error::SessionExpired) => {
            next_session(zookeeper, session).await;
            Ok(Stage::Before(round))
        }
        Err(refused) => Err(PartitionError::Refused(refused)),
    }
}

async fn use_share(zookeeper: &ZooKeeper, work: &PartitionWork, share: Share) {
    if work.resources {
        for (item, token) in share.items() {
            if zookeeper.write_resource(item, Some(token.0), 0).await.is_err() {
                // Somebody has used it since: this one is a zombie, and will be told.
                pending::<()>().await;
            }
        }
    }
    if share.items().next().is_none() && !work.leaves_idle {
        pending::<()>().await;
    }
    zookeeper.sleep(work.stay).await;
}
