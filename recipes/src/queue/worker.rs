//! A program that uses a queue according to its contract, for scenarios and as an example.

use super::{Kept, Mutants, Queue};
use crate::once::Patient;
use std::ops::ControlFlow;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
use vivarium_model::op::Version;
use vivarium_model::time::Duration;

/// Configures a [`queue_worker`]: it puts its items, and then takes items until no more can come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueWork {
    /// The queue's directory.
    pub directory: Arc<str>,
    /// How many items to put; `None` if this worker is no producer.
    pub puts: Option<u32>,
    /// The priorities of the items, in turn; empty for a queue without priorities.
    pub priorities: Vec<u32>,
    /// Whether this worker takes items.
    pub takes: bool,
    /// How many producers there are.
    pub producers: usize,
    /// Whether a producer first deletes the directory if it is empty, as a container manager might.
    pub reap: bool,
    /// Whether the engine may cancel a take; the worker then takes again.
    pub cancel: bool,
    /// How long to wait before each put and each take.
    pub pause: Duration,
    /// Whether to delete the ledger at the end.
    pub close: bool,
    /// The queue's mutants.
    pub mutants: Mutants,
}

impl QueueWork {
    /// One item, which the same program puts and takes.
    pub fn new(directory: impl Into<Arc<str>>) -> QueueWork {
        QueueWork {
            directory: directory.into(),
            puts: Some(1),
            priorities: Vec::new(),
            takes: true,
            producers: 1,
            reap: false,
            cancel: false,
            pause: Duration::ZERO,
            close: false,
            mutants: Mutants::NONE,
        }
    }
}

/// The state of a worker between its rounds; nothing else survives a round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Open,
    /// Before the put of this number, or after all puts.
    Put(u32, Kept),
    /// Before the pause that precedes a take.
    Rest(Kept),
    /// Before it looks for an item to take.
    Look(Kept),
    /// After the last take.
    Leave(Kept),
}

/// Returns a program that puts and takes. It fails with the server's error for the path.
pub fn queue_worker(work: QueueWork) -> Program {
    rounds(Stage::Open, move |zookeeper, stage| {
        let work = work.clone();
        async move { next(zookeeper, &work, stage).await.map_err(|error| error.to_string()) }
    })
}

async fn next(zookeeper: ZooKeeper, work: &QueueWork, stage: Stage) -> Result<Round<Stage>, Error> {
    Ok(Round::Again(match stage {
        Stage::Open => {
            let directory = Arc::clone(&work.directory);
            let queue = Queue::open(zookeeper.clone(), directory).await.with_mutants(work.mutants);
            let kept = queue.with_producers(work.producers).keep();
            if work.puts.is_none() {
                behind_puts(work, kept)
            } else {
                if work.reap {
                    reap(&zookeeper, &work.directory).await;
                }
                Stage::Put(0, kept)
            }
        }
        Stage::Put(at, kept) => {
            let mut queue = kept.with(zookeeper.clone());
            if work.puts.is_some_and(|puts| at < puts) {
                if !work.pause.is_zero() {
                    zookeeper.sleep(work.pause).await;
                }
                put(&mut queue, work, at).await?;
                Stage::Put(at + 1, queue.keep())
            } else {
                let client = queue.zookeeper().client().0;
                queue.end(&client.to_string()).await?;
                behind_puts(work, queue.keep())
            }
        }
        Stage::Rest(kept) => {
            zookeeper.sleep(work.pause).await;
            Stage::Look(kept)
        }
        Stage::Look(kept) => look(kept.with(zookeeper), work).await?,
        Stage::Leave(kept) => {
            if work.close {
                kept.with(zookeeper).close().await?;
            }
            return Ok(Round::Done);
        }
    }))
}

fn behind_puts(work: &QueueWork, kept: Kept) -> Stage {
    if work.takes { before_take(work, kept) } else { Stage::Leave(kept) }
}

fn before_take(work: &QueueWork, kept: Kept) -> Stage {
    if work.pause.is_zero() { Stage::Look(kept) } else { Stage::Rest(kept) }
}

async fn put(queue: &mut Queue, work: &QueueWork, at: u32) -> Result<(), Error> {
    let item = queue.item(at);
    match work.priorities.get(at as usize % work.priorities.len().max(1)) {
        Some(priority) => queue.put_with_priority(item.as_bytes(), *priority).await,
        None => queue.put(item.as_bytes()).await,
    }
}

/// Takes an item, or waits until it is time to look again.
async fn look(mut queue: Queue, work: &QueueWork) -> Result<Stage, Error> {
    let zookeeper = queue.zookeeper().clone();
    let looked = match work.cancel {
        true => zookeeper.cancellable(queue.take_or_wait()).await,
        false => Ok(queue.take_or_wait().await),
    };
    // The next take returns the item that a cancelled take has removed.
    let Ok(taken) = looked else { return Ok(before_take(work, queue.keep())) };
    Ok(match taken? {
        ControlFlow::Continue(()) => Stage::Look(queue.keep()),
        ControlFlow::Break(Some(_item)) => before_take(work, queue.keep()),
        ControlFlow::Break(None) => Stage::Leave(queue.keep()),
    })
}

/// Deletes the directory if it is empty. The result does not matter.
async fn reap(zookeeper: &ZooKeeper, directory: &str) {
    let mut patient = Patient::connect(zookeeper.clone()).await;
    let delete =
        |zookeeper: ZooKeeper| async move { zookeeper.delete(directory, Version::Any).await };
    let _: Result<(), Error> = patient.repeat(delete).await;
}
