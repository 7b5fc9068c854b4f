//! A program that uses a delay queue according to its contract, for scenarios and as an example.

use super::{DelayQueue, Mutants};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::time::Duration;

/// Configures a [`delay_worker`]: it puts its items, and then takes items until no more can come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayWork {
    /// The queue's directory.
    pub directory: Arc<str>,
    /// The delays of the items to put; `None` if this worker is no producer.
    pub puts: Option<Vec<Duration>>,
    /// Whether this worker takes items.
    pub takes: bool,
    /// How many producers there are.
    pub producers: usize,
    /// Whether the engine may cancel a take; the worker then takes again.
    pub cancel: bool,
    /// How long to wait before each put.
    pub pause: Duration,
    /// The queue's mutants.
    pub mutants: Mutants,
}

/// Returns a program that puts and takes. It fails with the server's error for the path.
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

/// Takes an item. Returns false if no more items can come.
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
        // The next take returns the item that a cancelled take has removed.
        Err(_cancelled) => Ok(true),
    }
}
