//! The queue of ZooKeeper's recipes page ("Queues"), and of the texts that translate it.
//!
//! Its steps, in our words:
//!
//! 1. A znode holds the queue.
//! 2. To put something in, create `queue-` in it with the flags *sequence* and *ephemeral*.
//! 3. A client that wants something from the queue lists the children, with a watch, and begins to process
//!    those with the lowest numbers.
//! 4. It does not list again before it has been through the list.
//! 5. If there are no children, it waits for the watch, and looks again.
//!
//! The text has no step that claims an item, and none that deletes one. Here, a consumer processes an item by reading
//! and deleting it; if it is gone, the consumer continues with the next one. The text does not mention errors either: a
//! request whose connection is lost is repeated, and a program whose session ends starts again in the next one.
//!
//! *Expected:* Q1 fails by step 2, since items are deleted with their producer's session; Q2 by step 3, since two
//! consumers read the same item; Q4 by step 2, since a put whose reply was lost is repeated.

use crate::helpers::{ensure_deleted, in_sessions, until_known};
use crate::queue::QueueSeen;
use std::collections::VecDeque;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::op::CreateMode;

/// The name prefix by which a producer declares its end: the text has no end, but a scenario needs one.
const END: &str = "end-";

/// A program that puts `items` items and then declares its end. Its items are deleted with its session.
pub fn producer(directory: &str, items: u32) -> Program {
    let directory: Arc<str> = directory.into();
    program(move |zookeeper| {
        let directory = Arc::clone(&directory);
        async move { produce(&zookeeper, &directory, items).await.map_err(|error| error.to_string()) }
    })
}

/// A program that takes items until all producers have ended and the queue is empty.
pub fn consumer(directory: &str, producers: usize) -> Program {
    let directory: Arc<str> = directory.into();
    program(move |zookeeper| {
        let directory = Arc::clone(&directory);
        async move {
            let consuming = in_sessions(&zookeeper, |zookeeper, _session| {
                let directory = Arc::clone(&directory);
                async move { consume(&zookeeper, &directory, producers).await }
            });
            consuming.await.map_err(|error| error.to_string())
        }
    })
}

async fn produce(zookeeper: &ZooKeeper, directory: &str, items: u32) -> Result<(), Error> {
    let own = zookeeper.random().await;
    for at in 0..items {
        let item = format!("{own:016x}.{at}");
        observe(zookeeper, directory, &item, |queue, item| QueueSeen::Putting { queue, item });
        in_sessions(zookeeper, |zookeeper, _session| {
            let (path, item) = (format!("{directory}/queue-"), item.clone());
            async move {
                // Step 2.
                let mode = CreateMode::EphemeralSequential;
                until_known(&zookeeper, || zookeeper.create(&path, item.as_bytes(), mode)).await
            }
        })
        .await?;
        observe(zookeeper, directory, &item, |queue, item| QueueSeen::Put { queue, item });
    }
    let end = format!("{directory}/{END}{}", zookeeper.client().0);
    in_sessions(zookeeper, |zookeeper, _session| {
        let end = end.clone();
        async move { crate::helpers::ensure_path(&zookeeper, &end).await }
    })
    .await
}

async fn consume(zookeeper: &ZooKeeper, directory: &str, producers: usize) -> Result<(), Error> {
    loop {
        // Step 3.
        let list = until_known(zookeeper, || zookeeper.get_children_watch(directory)).await;
        let (names, mut watch) = list?;
        let mut queue: Vec<&String> =
            names.iter().filter(|name| name.starts_with("queue-")).collect();
        queue.sort();
        if queue.is_empty() {
            if names.iter().filter(|name| name.starts_with(END)).count() >= producers {
                return Ok(());
            }
            // Step 5.
            watch.changed().await?;
        }
        // Step 4.
        let mut queue: VecDeque<&String> = queue.into();
        while let Some(name) = queue.pop_front() {
            process(zookeeper, directory, &format!("{directory}/{name}")).await?;
        }
    }
}

async fn process(zookeeper: &ZooKeeper, directory: &str, path: &str) -> Result<(), Error> {
    let data = match until_known(zookeeper, || zookeeper.get_data(path)).await {
        Ok((data, _stat)) => data,
        Err(Error::NoNode) => return Ok(()),
        Err(error) => return Err(error),
    };
    let item = String::from_utf8_lossy(&data);
    observe(zookeeper, directory, &item, |queue, item| QueueSeen::Taking { queue, item });
    observe(zookeeper, directory, &item, |queue, item| QueueSeen::Taken { queue, item });
    ensure_deleted(zookeeper, path).await
}

fn observe(
    zookeeper: &ZooKeeper,
    directory: &str,
    item: &str,
    make: impl FnOnce(Arc<str>, Arc<str>) -> QueueSeen,
) {
    zookeeper.observe(make(directory.into(), item.into()));
}
