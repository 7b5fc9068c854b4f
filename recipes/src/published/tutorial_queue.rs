//! The producer-consumer queue of ZooKeeper's tutorial (`SyncPrimitive.Queue`).
//!
//! Its steps, in our words:
//!
//! 1. The constructor creates the root if `exists` does not find it.
//! 2. `produce` creates `element` in it, persistent and sequential, with the value as data.
//! 3. `consume` lists the children with a watch. If there are none, it waits until it is notified, and lists again.
//! 4. It parses each name from the eighth character on as a number, and takes the smallest.
//! 5. It reads `element` followed by that number, and deletes it, version 0.
//! 6. An exception leaves `consume`; the test that calls it tries again. An exception that leaves `produce` is ignored.
//!
//! *Expected:* progress fails at step 5, in every run: the name built from the number has lost its padding, and no such
//! znode exists. (In a search the consumer repeats these steps until the search abandons the path.) With the padding
//! ([`Padding::Kept`], what the tutorial must have meant) Q1 fails at step 6, since a delete whose reply was lost
//! leaves the item with no consumer.

use crate::helpers::{in_sessions, reconnected};
use crate::queue::QueueSeen;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, Round, ZooKeeper, program, rounds};
use vivarium_model::op::{CreateMode, Version};

/// Tells whether the zeros in a name are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Padding {
    /// As published.
    Lost,
    /// As the tutorial must have meant.
    Kept,
}

/// A program that puts `items` items.
pub fn producer(directory: &str, items: u32) -> Program {
    let root: Arc<str> = directory.into();
    program(move |zookeeper| {
        let root = Arc::clone(&root);
        async move {
            let own = zookeeper.random().await;
            for at in 0..items {
                let item = format!("{own:016x}.{at}");
                // Step 6: after any error, continue with the next item.
                let _ = produce(&zookeeper, &root, &item).await;
            }
            Ok(())
        }
    })
}

/// A program that takes `items` items.
pub fn consumer(directory: &str, items: u32, padding: Padding) -> Program {
    let root: Arc<str> = directory.into();
    rounds(0, move |zookeeper, taken: u32| {
        let root = Arc::clone(&root);
        async move {
            if taken == items {
                return Ok(Round::Done);
            }
            zookeeper.connect().await;
            let mut events = zookeeper.session_events();
            // Step 6: after an exception, try again.
            match consume(&zookeeper, &root, padding).await {
                Ok(()) => Ok(Round::Again(taken + 1)),
                Err(Error::ConnectionLoss) => {
                    let _ = reconnected(&mut events).await;
                    Ok(Round::Again(taken))
                }
                Err(_) => Ok(Round::Again(taken)),
            }
        }
    })
}

/// Step 1.
async fn root(zookeeper: &ZooKeeper, root: &str) -> Result<(), Error> {
    if zookeeper.exists(root).await?.is_none() {
        zookeeper.create(root, b"", CreateMode::Persistent).await?;
    }
    Ok(())
}

/// Step 2.
async fn produce(zookeeper: &ZooKeeper, root: &str, item: &str) -> Result<(), Error> {
    in_sessions(zookeeper, |zookeeper, _session| {
        let (directory, item) = (root.to_string(), item.to_string());
        async move {
            // If another client has created the root meanwhile, it exists as well.
            let _ = self::root(&zookeeper, &directory).await;
            let path = format!("{directory}/element");
            observe(&zookeeper, &directory, &item, |queue, item| QueueSeen::Putting {
                queue,
                item,
            });
            let mode = CreateMode::PersistentSequential;
            zookeeper.create(&path, item.as_bytes(), mode).await?;
            observe(&zookeeper, &directory, &item, |queue, item| QueueSeen::Put { queue, item });
            Ok(())
        }
    })
    .await
}

async fn consume(zookeeper: &ZooKeeper, directory: &str, padding: Padding) -> Result<(), Error> {
    loop {
        // Step 3.
        let (names, mut watch) = zookeeper.get_children_watch(directory).await?;
        if names.is_empty() {
            watch.changed().await?;
            continue;
        }
        // Step 4.
        let numbers = names.iter().filter_map(|name| name.get(7..)?.parse::<i32>().ok());
        let Some(min) = numbers.min() else { return Err(Error::NoNode) };
        // Step 5.
        let path = match padding {
            Padding::Lost => format!("{directory}/element{min}"),
            Padding::Kept => format!("{directory}/element{min:010}"),
        };
        let (data, _stat) = zookeeper.get_data(&path).await?;
        let item = String::from_utf8_lossy(&data);
        observe(zookeeper, directory, &item, |queue, item| QueueSeen::Taking { queue, item });
        zookeeper.delete(&path, Version::Is(0)).await?;
        observe(zookeeper, directory, &item, |queue, item| QueueSeen::Taken { queue, item });
        return Ok(());
    }
}

fn observe(
    zookeeper: &ZooKeeper,
    directory: &str,
    item: &str,
    make: impl FnOnce(Arc<str>, Arc<str>) -> QueueSeen,
) {
    zookeeper.observe(make(directory.into(), item.into()));
}
