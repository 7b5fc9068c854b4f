//! A program that uses a delay queue as its contract asks for, for scenarios and as an example.

use super::{DelayQueue, Mutants};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::time::Duration;

/// What a [`delay_worker`] does: it puts its items, and then takes until there is nothing left to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayWork {
    /// The queue's directory.
    pub directory: Arc<str>,
    /// The delays of its items, if this is one of the producers.
    pub puts: Option<Vec<Duration>>,
    /// Whether to take.
    pub takes: bool,
    /// How many producers there are.
    pub producers: usize,
    /// Whether takes may be cancelled by the engine, to go on with the next.
    pub cancel: bool,
    /// How long to rest before each put.
    pub pause: Duration,
    /// The queue's mutants.
    pub mutants: Mutants,
}

/// A program that puts and takes. It returns the server's refusal of the path.
pub fn delay_worker(work: DelayWork) -> Program {
    program(move |zookeeper| {
        let work = work.clone();
        async move { run(zookeeper, &work).await.map_err(|error| error.to_string()) }
    })
}

async fn run(zookeeper: ZooKeeper, work: &DelayWork) -> Result<(), Error> {
    let directory = Arc::clone(&work.directory);
    let queue = DelayQueue::open(zookeeper.clone(), directory).await.with_mutants(work.mutants);
    let mut queue = queue.with_producers(work.producers);
    if let Some(delays) = &work.puts {
        for (at, delay) in (0..).zip(delays) {
            if !work.pause.is_zero() {
                zookeeper.sleep(work.pause).await;
            }
            let item = queue.queue.item(at);
            queue.put_after(item.as_bytes(), *delay).await?;
        }
        queue.end(&zookeeper.client().0.to_string()).await?;
    }
    if work.takes {
        while consume(&zookeeper, &mut queue, work).await? {}
    }
    Ok(())
}

/// Whether there may be more.
async fn consume(
    zookeeper: &ZooKeeper,
    queue: &mut DelayQueue,
    work: &DelayWork,
) -> Result<bool, Error> {
    if !work.cancel {
        return Ok(queue.take().await?.is_some());
    }
    match zookeeper.cancellable(queue.take()).await {
        Ok(taken) => Ok(taken?.is_some()),
        // What it has taken, the next one gives out.
        Err(_cancelled) => Ok(true),
    }
}
