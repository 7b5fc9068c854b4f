//! The second way to leave in a Chinese chapter on barriers: by sequential znodes, each member after the next lower
//! one, which is meant to avoid the herd.
//!
//! *Wrong:* this is an orderly exit, not a barrier. The lowest member does not wait, and each of the others only waits
//! for the members below it, while those above are still at work. *Breaks* DB2 at step 2 of leaving; no fault is
//! needed. Entering is correct here, so that nothing else goes wrong.

use super::double_barrier::{Party, children, create, delete, party, wait_on};
use crate::helpers::until_known;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, ZooKeeper};
use vivarium_model::op::CreateMode;
use vivarium_model::path;

/// A party that leaves by the chain.
pub fn chain_party(who: Party) -> Program {
    party(who, enter, leave)
}

/// Registers by a sequential znode, and waits for `ready`, which is not among the members.
async fn enter(zookeeper: ZooKeeper, who: Party) -> Result<String, Error> {
    let prefix = who.child("member-");
    let register = || zookeeper.create(&prefix, b"", CreateMode::EphemeralSequential);
    let (own, _) = until_known(&zookeeper, register).await?;
    let ready = format!("{}-ready", who.barrier);
    let (stat, mut created) = until_known(&zookeeper, || zookeeper.exists_watch(&ready)).await?;
    if stat.is_none() {
        if children(&zookeeper, &who.barrier).await?.len() >= who.parties {
            create(&zookeeper, &ready, CreateMode::Persistent).await?;
        } else {
            created.changed().await?;
        }
    }
    Ok(own)
}

async fn leave(zookeeper: ZooKeeper, who: Party, own: String) -> Result<(), Error> {
    loop {
        // 1. List the members.
        let names = children(&zookeeper, &who.barrier).await?;
        let below = names.iter().rfind(|name| name.as_str() < path::name(&own));
        match below {
            // 2. No member is below this one: delete its znode, and out.
            None => return delete(&zookeeper, &own).await,
            // 3. Wait until the next lower one has gone.
            Some(next) => wait_on(&zookeeper, &who.child(next)).await?,
        }
    }
}
