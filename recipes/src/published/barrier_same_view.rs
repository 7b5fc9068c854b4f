//! The claim of a Chinese overview about consistency: a client sees the same data at every server.
//!
//! *Wrong:* a server may lag (recipe rule 2.2.3). A waiter that learned outside ZooKeeper that the barrier is up may
//! read from a server that lags behind the barrier's creation, and continues. *Breaks* B1 at step 2; no fault is
//! needed. (`NoSyncBeforeRead`)

use crate::barrier::worker::next_barrier;
use crate::barrier::{BarrierSeen, BarrierWork};
use crate::helpers::{in_sessions, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};

/// A waiter that trusts the first reply. The owner is [`barrier_owner`](crate::barrier::barrier_owner).
pub fn same_view_waiter(work: BarrierWork) -> Program {
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

async fn wait(zookeeper: &ZooKeeper, node: &Arc<str>) -> Result<(), Error> {
    loop {
        // 1. Look whether the znode exists, and set a watch.
        let look = || zookeeper.exists_watch(node);
        let (stat, mut watch) = until_known(zookeeper, look).await?;
        // 2. It does not: continue, because every server would give the same reply.
        let Some(stat) = stat else { return Ok(()) };
        zookeeper.observe(BarrierSeen::Found { node: Arc::clone(node), raised: stat.czxid });
        // 3. It does: wait until the watch fires, and begin again.
        watch.changed().await?;
    }
}
