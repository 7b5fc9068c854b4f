//! The double barrier of a Chinese translation of the recipes page, in which step 3 of leaving lacks a word.
//!
//! *Wrong:* in the page, a member leaves if it is the *only* one left; here, it leaves if it is a member. So every
//! member deletes its znode and leaves, even if others are inside. *Breaks* DB2 at step 3 of leaving; no fault is
//! needed.

use super::double_barrier::{Party, children, delete, party};
use super::double_barrier_page::enter;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, ZooKeeper};

/// A party that follows the translation.
pub fn any_leaves_party(who: Party) -> Program {
    party(who, enter, leave)
}

async fn leave(zookeeper: ZooKeeper, who: Party, own: String) -> Result<(), Error> {
    // 1. List the children.
    let names = children(&zookeeper, &who.barrier).await?;
    // 2. There are none: out. 3. This party is one of them: delete its znode, and out.
    if names.iter().any(|name| *name == *who.party) {
        return delete(&zookeeper, &own).await;
    }
    Ok(())
}
