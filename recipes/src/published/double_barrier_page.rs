//! The double barrier of ZooKeeper's recipes page.
//!
//! *Wrong:* `ready` is a sibling of the members and is never removed. So step 2 of leaving never finds an empty list: a
//! party that has deleted its znode and waits for the lowest finds only `ready` in the end, and no step applies. Nor
//! does one apply at step 2 of entering if `ready` is left from the last use. *Breaks* progress when two parties leave;
//! no fault is needed.

use super::double_barrier::{Party, children, create, delete, party, wait_on};
use crate::helpers::until_known;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, ZooKeeper};
use vivarium_model::op::CreateMode;

/// A party that follows the page.
pub fn page_party(who: Party) -> Program {
    party(who, enter, leave)
}

/// Enters as the page says; a translation of the page says the same.
pub(super) async fn enter(zookeeper: ZooKeeper, who: Party) -> Result<String, Error> {
    // 1. The member's znode has the party's name, below the double barrier's.
    let own = who.child(&who.party);
    // 2. Set a watch on `ready`. The reply is ignored.
    let ready = who.ready();
    let (_, mut created) = until_known(&zookeeper, || zookeeper.exists_watch(&ready)).await?;
    // 3. Create the member's znode, an ephemeral one.
    create(&zookeeper, &own, CreateMode::Ephemeral).await?;
    // 4. List the children.
    let names = children(&zookeeper, &who.barrier).await?;
    if names.len() < who.parties {
        // 5. Fewer than the parties: wait for the watch.
        created.changed().await?;
    } else {
        // 6. Otherwise create `ready`.
        create(&zookeeper, &ready, CreateMode::Persistent).await?;
    }
    Ok(own)
}

async fn leave(zookeeper: ZooKeeper, who: Party, own: String) -> Result<(), Error> {
    loop {
        // 1. List the children.
        let names = children(&zookeeper, &who.barrier).await?;
        // 2. There are none: out.
        if names.is_empty() {
            return Ok(());
        }
        let members: Vec<&String> = names.iter().filter(|name| *name != "ready").collect();
        match members[..] {
            // 3. Only this party is left: delete its znode, and out.
            [only] if *only == *who.party => return delete(&zookeeper, &own).await,
            // 4. It is the lowest: wait for the highest to go.
            [lowest, .., highest] if *lowest == *who.party => {
                wait_on(&zookeeper, &who.child(highest)).await?;
            }
            // 5. Otherwise delete its znode, if that is still there, and wait for the lowest to go.
            [lowest, ..] => {
                delete(&zookeeper, &own).await?;
                wait_on(&zookeeper, &who.child(lowest)).await?;
            }
            // No lowest member is left to wait for; only `ready` can be watched, which is never removed.
            [] => wait_on(&zookeeper, &who.ready()).await?,
        }
        // 6. Begin again.
    }
}
