//! The double barrier of ZooKeeper's programming tutorial.
//!
//! *Wrong:* there is no `ready`; a waiter that is woken counts again. Faster members may have left by then
//! (ZOOKEEPER-1011): the waiter waits for them to come back, and they wait for it to leave. All leaving parties watch
//! all children, so every deletion wakes all of them. *Breaks* progress; no fault is needed.

use super::double_barrier::{Party, create, delete, party};
use crate::helpers::until_known;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, ZooKeeper};
use vivarium_model::op::CreateMode;

/// A party that follows the tutorial.
pub fn tutorial_party(who: Party) -> Program {
    party(who, enter, leave)
}

async fn enter(zookeeper: ZooKeeper, who: Party) -> Result<String, Error> {
    // 1. Create the member's znode.
    let own = who.child(&who.party);
    create(&zookeeper, &own, CreateMode::Ephemeral).await?;
    loop {
        // 2. List the children with a watch; enough: in. Otherwise wait, and list again.
        let list = || zookeeper.get_children_watch(&who.barrier);
        let (names, mut changed) = until_known(&zookeeper, list).await?;
        if names.len() >= who.parties {
            return Ok(own);
        }
        changed.changed().await?;
    }
}

async fn leave(zookeeper: ZooKeeper, who: Party, own: String) -> Result<(), Error> {
    // 1. Delete the member's znode.
    delete(&zookeeper, &own).await?;
    loop {
        // 2. List the children with a watch; none: out. Otherwise wait, and list again.
        let list = || zookeeper.get_children_watch(&who.barrier);
        let (names, mut changed) = until_known(&zookeeper, list).await?;
        if names.is_empty() {
            return Ok(());
        }
        changed.changed().await?;
    }
}
