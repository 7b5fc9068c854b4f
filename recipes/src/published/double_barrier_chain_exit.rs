//! The second way to leave of a Chinese chapter on barriers: by sequential znodes, each member behind the next
//! lower one. It is meant to avoid the herd.
//!
//! *Wrong:* it is an orderly exit and no barrier. The lowest member waits for nobody, each of the others for those
//! below it only, while those above are still at work. *Breaks* DB2 at step 2 of leaving; no fault is needed.
//! Entering is sound here, so that nothing else goes wrong.

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

/// Registers by a sequential znode, and waits for `ready`, which stands beside the members.
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
            // 2. Nobody is below this one: delete its znode, and out.
            None => return delete(&zookeeper, &own).await,
            // 3. Wait until the next lower one has gone.
            Some(next) => wait_on(&zookeeper, &who.child(next)).await?,
        }
    }
}
