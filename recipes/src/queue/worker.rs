//! A program that uses a queue as its contract asks for, for scenarios and as an example.

use super::{Mutants, Queue};
use crate::once::Patient;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::op::Version;
use vivarium_model::time::Duration;

/// What a [`queue_worker`] does: it puts its items, and then takes until there is nothing left to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueWork {
    /// The queue's directory.
    pub directory: Arc<str>,
    /// How many items to put, if this is one of the producers.
    pub puts: Option<u32>,
    /// The priorities of the items, in turn; none for a queue without.
    pub priorities: Vec<u32>,
    /// Whether to take.
    pub takes: bool,
    /// How many producers there are.
    pub producers: usize,
    /// Whether a producer deletes the directory first, if it is empty, as a container manager might.
    pub reap: bool,
    /// Whether takes may be cancelled by the engine, to go on with the next.
    pub cancel: bool,
    /// How long to rest before each put and each take.
    pub pause: Duration,
    /// Whether to take the ledger away at the end.
    pub close: bool,
    /// The queue's mutants.
    pub mutants: Mutants,
}

impl QueueWork {
    /// One item, which the same program takes.
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

/// A program that puts and takes. It returns the server's refusal of the path.
pub fn queue_worker(work: QueueWork) -> Program {
    program(move |zookeeper| {
        let work = work.clone();
        async move { run(zookeeper, &work).await.map_err(|error| error.to_string()) }
    })
}

async fn run(zookeeper: ZooKeeper, work: &QueueWork) -> Result<(), Error> {
    let queue = Queue::open(zookeeper.clone(), Arc::clone(&work.directory), work.mutants).await;
    let mut queue = queue.with_producers(work.producers);
    if let Some(puts) = work.puts {
        if work.reap {
            reap(&zookeeper, &work.directory).await;
        }
        produce(&mut queue, work, puts).await?;
    }
    if work.takes {
        while consume(&mut queue, work).await? {}
    }
    if work.close { queue.close().await } else { Ok(()) }
}

async fn produce(queue: &mut Queue, work: &QueueWork, puts: u32) -> Result<(), Error> {
    let client = queue.zookeeper().client().0;
    for at in 0..puts {
        rest(queue, work).await;
        let item = queue.item(at);
        match work.priorities.get(at as usize % work.priorities.len().max(1)) {
            Some(priority) => queue.put_with_priority(item.as_bytes(), *priority).await?,
            None => queue.put(item.as_bytes()).await?,
        }
    }
    queue.end(&client.to_string()).await
}

/// Whether there may be more.
async fn consume(queue: &mut Queue, work: &QueueWork) -> Result<bool, Error> {
    rest(queue, work).await;
    if !work.cancel {
        return Ok(queue.take().await?.is_some());
    }
    let zookeeper = queue.zookeeper().clone();
    match zookeeper.cancellable(queue.take()).await {
        Ok(taken) => Ok(taken?.is_some()),
        // What it has taken, the next one gives out.
        Err(_cancelled) => Ok(true),
    }
}

async fn rest(queue: &Queue, work: &QueueWork) {
    if !work.pause.is_zero() {
        queue.zookeeper().sleep(work.pause).await;
    }
}

/// Deletes the directory, if it is empty. What becomes of it does not matter.
async fn reap(zookeeper: &ZooKeeper, directory: &str) {
    let mut patient = Patient::connect(zookeeper.clone()).await;
    let delete =
        |zookeeper: ZooKeeper| async move { zookeeper.delete(directory, Version::Any).await };
    let _: Result<(), Error> = patient.repeat(delete).await;
}
