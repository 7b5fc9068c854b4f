//! The double barrier of a Chinese chapter on barriers.
//!
//! *Wrong:* at step 2 of entering, `ready` may exist already, which the text ignores; at step 6, one party more than
//! expected makes the count wrong for all; and step 2 of leaving waits until there are no children, although `ready` is
//! one. *Breaks* progress when any party leaves; no fault is needed. (The text refers to its own steps by wrong
//! numbers; this is corrected here.)

use super::double_barrier::{Party, children, create, delete, party};
use crate::helpers::until_known;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, ZooKeeper};
use vivarium_model::op::CreateMode;

/// A party that follows the chapter.
pub fn chapter_party(who: Party) -> Program {
    party(who, enter, leave)
}

async fn enter(zookeeper: ZooKeeper, who: Party) -> Result<String, Error> {
    // 1. Create the member's znode.
    let own = who.child(&who.party);
    create(&zookeeper, &own, CreateMode::Ephemeral).await?;
    // 2. Set a watch on `ready`.
    let ready = who.ready();
    let (_, mut created) = until_known(&zookeeper, || zookeeper.exists_watch(&ready)).await?;
    // 3. and 4. List the children, and count them.
    let names = children(&zookeeper, &who.barrier).await?;
    if names.len() == who.parties {
        // 6. As many as the parties: create `ready`.
        create(&zookeeper, &ready, CreateMode::Persistent).await?;
    } else {
        // 5. and 7. Otherwise wait for the watch of step 2.
        created.changed().await?;
    }
    Ok(own)
}

async fn leave(zookeeper: ZooKeeper, who: Party, own: String) -> Result<(), Error> {
    // 1. Delete the member's znode.
    delete(&zookeeper, &own).await?;
    loop {
        // 2. List the children with a watch; none: out. Otherwise wait.
        let list = || zookeeper.get_children_watch(&who.barrier);
        let (names, mut changed) = until_known(&zookeeper, list).await?;
        if names.is_empty() {
            return Ok(());
        }
        // 3. The text does not say what follows the event; to list again is the most favourable reading.
        changed.changed().await?;
    }
}
