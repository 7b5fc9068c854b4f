//! A program that takes part in a partition, for scenarios and as an example.

use super::{Mutants, PartitionError, Partitioner, Share};
use std::future::pending;
use std::sync::Arc;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
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

/// A program that takes part, uses its share until that has stayed the same for a while, and leaves, round by round.
/// One that divides another set than the others is refused, and ends.
///
/// It returns the server's refusal of a path.
pub fn partition_worker(work: PartitionWork) -> Program {
    rounds(0_u32, move |zookeeper, round| {
        let work = work.clone();
        async move {
            if round < work.rounds {
                return match take_part(&zookeeper, &work).await {
                    Ok(()) => Ok(Round::Again(round + 1)),
                    Err(PartitionError::UnequalSets) => Ok(Round::Again(work.rounds)),
                    Err(refused) => Err(refused.to_string()),
                };
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

async fn take_part(zookeeper: &ZooKeeper, work: &PartitionWork) -> Result<(), PartitionError> {
    let (directory, items) = (Arc::clone(&work.directory), work.items.clone());
    let partitioner = Partitioner::new(zookeeper.clone(), directory, items, work.mutants);
    let part = partitioner.take_part(&work.id, |share| use_share(zookeeper, work, share));
    match work.cancel {
        true => zookeeper.cancellable(part).await.unwrap_or(Ok(())),
        false => part.await,
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
    zookeeper.sleep(work.stay).await;
}
