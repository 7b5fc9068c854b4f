//! A barrier as a Chinese chapter on barriers prints it.
//!
//! *Wrong:* step 8 has the condition inverted. A waiter that is woken continues if the znode *exists*, and the text
//! does not say what it does otherwise. *Breaks* B1 at step 8 if an event other than the deletion woke it, and progress
//! if the deletion did; no fault is needed.

use crate::barrier::worker::next_barrier;
use crate::barrier::{BarrierSeen, BarrierWork};
use crate::helpers::{in_sessions, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};

/// A waiter that follows the text. The owner is [`barrier_owner`](crate::barrier::barrier_owner).
pub fn chapter_waiter(work: BarrierWork) -> Program {
    rounds((), move |zookeeper, ()| {
        let work = work.clone();
        async move {
            let Some(node) = next_barrier(&zookeeper, &work).await.map_err(|it| it.to_string())?
            else {
                return Ok(Round::Done);
            };
            let waited = in_sessions(&zookeeper, |zookeeper, _| {
                let node = Arc::clone(&node);
                async move { wait(&zookeeper, &node).await }
            });
            waited.await.map_err(|error| error.to_string())?;
            zookeeper.observe(BarrierSeen::Passed { node });
            Ok(Round::Again(()))
        }
    })
}

/// Steps 1 to 4 are those of the owner, which creates the znode and deletes it.
async fn wait(zookeeper: &ZooKeeper, node: &Arc<str>) -> Result<(), Error> {
    // 5. Look whether the znode exists, and set a watch.
    let look = || zookeeper.exists_watch(node);
    let (stat, mut watch) = until_known(zookeeper, look).await?;
    // 6. It does not: continue.
    let Some(stat) = stat else { return Ok(()) };
    zookeeper.observe(BarrierSeen::Found { node: Arc::clone(node), raised: stat.czxid });
    // 7. It does: wait until the watch fires.
    watch.changed().await?;
    // 8. Look again; continue if the znode exists. The text does not cover the other case: wait on.
    let (stat, mut watch) = until_known(zookeeper, look).await?;
    match stat {
        Some(stat) => {
            zookeeper.observe(BarrierSeen::Found { node: Arc::clone(node), raised: stat.czxid });
            Ok(())
        }
        None => watch.changed().await.map(drop),
    }
}
