//! A program that takes part in a partition, for scenarios and as an example.

use super::{Mutants, PartitionError, Partitioner, Share};
use crate::helpers::next_session;
use std::future::pending;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
use vivarium_model::id::SessionId;
use vivarium_model::time::Duration;

/// Configures a [`partition_worker`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionWork {
    /// The partition's directory.
    pub directory: Arc<str>,
    /// The items that are divided.
    pub items: Vec<Arc<str>>,
    /// The member's id.
    pub id: Arc<str>,
    /// How many times to take part and leave.
    pub rounds: u32,
    /// How long the share must have been unchanged before the member leaves.
    pub stay: Duration,
    /// Whether a member with an empty share may leave. If not, such a member does not sleep: its stay ends only when
    /// its share changes.
    pub leaves_idle: bool,
    /// Whether the member writes, for each item, to a resource outside of ZooKeeper with the item's name, under the
    /// item's fencing token.
    pub resources: bool,
    /// Whether the engine may cancel taking part at any await point.
    pub cancel: bool,
    /// How long to stay connected after the last round, so that a leak can be detected.
    pub linger: Duration,
    /// Whether to close the session at the end. Required with `cancel`: background tasks end with the program,
    /// finished or not.
    pub close: bool,
    /// The recipe's mutants.
    pub mutants: Mutants,
}

/// The state of a worker between its rounds; nothing else survives a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// Before the round of this number, or after the last one.
    Before(u32),
    /// Before the round of this number; in this session, the other members are known to divide the same set.
    Agreed(u32, SessionId),
}

/// Returns a program that takes part, uses its share until that has been unchanged for some time, and leaves, round
/// by round. A program that divides another set than the other members is refused, and ends.
///
/// The program takes part as [`Partitioner::take_part`] does, and keeps no state from one session to the next.
///
/// The program fails with the server's error for a path.
pub fn partition_worker(work: PartitionWork) -> Program {
    rounds(Stage::Before(0), move |zookeeper, stage| {
        let work = work.clone();
        async move {
            let (Stage::Before(round) | Stage::Agreed(round, _)) = stage;
            if round < work.rounds {
                let next = take_part(&zookeeper, &work, stage);
                // A cancelled round is skipped.
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
                // Another client has used the item since: this one is a zombie, and will learn of the loss.
                pending::<()>().await;
            }
        }
    }
    if share.items().next().is_none() && !work.leaves_idle {
        pending::<()>().await;
    }
    zookeeper.sleep(work.stay).await;
}
