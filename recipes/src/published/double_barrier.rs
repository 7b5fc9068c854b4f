//! The common part of published double barriers: a party that enters, works and leaves, generation after generation,
//! and reports it by [`DoubleBarrierSeen`].

use crate::double_barrier::DoubleBarrierSeen;
use crate::helpers::{ensure_path, until_known};
use std::future::Future;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::op::{CreateMode, Version};
use vivarium_model::time::Duration;

/// A party of a published double barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// The double barrier's znode. Its children are the members, and in most texts `ready`.
    pub barrier: Arc<str>,
    /// The party's name.
    pub party: Arc<str>,
    /// The number of parties.
    pub parties: usize,
    /// How many times to use the double barrier.
    pub generations: u64,
    /// How long to be inside.
    pub hold: Duration,
    /// Whether to create the double barrier's znode first.
    pub prepare: bool,
}

impl Party {
    /// The full path of a child.
    pub fn child(&self, name: &str) -> String {
        format!("{}/{name}", self.barrier)
    }

    /// The full path of the znode that opens the double barrier, in texts that keep it among the members.
    pub fn ready(&self) -> String {
        self.child("ready")
    }
}

/// A program that runs `enter`, which returns the party's own znode, and then `leave`.
pub fn party<EnterFuture, LeaveFuture>(
    party: Party,
    enter: impl Fn(ZooKeeper, Party) -> EnterFuture + Clone + Send + Sync + 'static,
    leave: impl Fn(ZooKeeper, Party, String) -> LeaveFuture + Clone + Send + Sync + 'static,
) -> Program
where
    EnterFuture: Future<Output = Result<String, Error>> + Send + 'static,
    LeaveFuture: Future<Output = Result<(), Error>> + Send + 'static,
{
    program(move |zookeeper| {
        let (party, enter, leave) = (party.clone(), enter.clone(), leave.clone());
        async move {
            for generation in 0..party.generations {
                let told = use_once(&zookeeper, &party, generation, &enter, &leave).await;
                told.map_err(|error| error.to_string())?;
            }
            Ok(())
        }
    })
}

async fn use_once<EnterFuture, LeaveFuture>(
    zookeeper: &ZooKeeper,
    party: &Party,
    generation: u64,
    enter: &impl Fn(ZooKeeper, Party) -> EnterFuture,
    leave: &impl Fn(ZooKeeper, Party, String) -> LeaveFuture,
) -> Result<(), Error>
where
    EnterFuture: Future<Output = Result<String, Error>>,
    LeaveFuture: Future<Output = Result<(), Error>>,
{
    let barrier = || Arc::clone(&party.barrier);
    let session = zookeeper.connect().await;
    if party.prepare {
        ensure_path(zookeeper, &party.barrier).await?;
    }
    let zookeeper = zookeeper.scope(session);
    zookeeper.observe(DoubleBarrierSeen::Entering {
        barrier: barrier(),
        generation,
        members: barrier(),
        party: Arc::clone(&party.party),
    });
    let own = enter(zookeeper.clone(), party.clone()).await?;
    zookeeper.observe(DoubleBarrierSeen::Entered { barrier: barrier(), generation });
    if !party.hold.is_zero() {
        zookeeper.sleep(party.hold).await;
    }
    zookeeper.observe(DoubleBarrierSeen::Leaving { barrier: barrier(), generation });
    leave(zookeeper.clone(), party.clone(), own).await?;
    zookeeper.observe(DoubleBarrierSeen::Left { barrier: barrier(), generation });
    Ok(())
}

/// Creates a znode unless it exists.
pub(super) async fn create(
    zookeeper: &ZooKeeper,
    path: &str,
    mode: CreateMode,
) -> Result<(), Error> {
    match until_known(zookeeper, || zookeeper.create(path, b"", mode)).await {
        Ok(_) | Err(Error::NodeExists) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Deletes a znode if it still exists.
pub(super) async fn delete(zookeeper: &ZooKeeper, path: &str) -> Result<(), Error> {
    match until_known(zookeeper, || zookeeper.delete(path, Version::Any)).await {
        Ok(()) | Err(Error::NoNode) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Lists the children's names, sorted.
pub(super) async fn children(zookeeper: &ZooKeeper, path: &str) -> Result<Vec<String>, Error> {
    let mut names = until_known(zookeeper, || zookeeper.get_children(path)).await?;
    names.sort_unstable();
    Ok(names)
}

/// Waits until something happens to a znode that is there.
pub(super) async fn wait_on(zookeeper: &ZooKeeper, path: &str) -> Result<(), Error> {
    match until_known(zookeeper, || zookeeper.watch_data(path)).await {
        Ok(mut watch) => watch.changed().await.map(drop),
        Err(Error::NoNode) => Ok(()),
        Err(error) => Err(error),
    }
}
