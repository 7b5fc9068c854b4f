//! The "barrier" of a Korean article: a client that finds no znode creates it, and continues.
//!
//! *Wrong:* this is not a barrier but a lock, unfair and with a herd: the waiters pass one at a time, and each keeps
//! all others out. The text does not say how long the znode lives; taken literally it is persistent, and a client that
//! dies at step 3 keeps all others out for ever. *Breaks* progress, by the crash of one program.

use crate::barrier::BarrierSeen;
use crate::helpers::{in_sessions, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::op::{CreateMode, Version};
use vivarium_model::time::Duration;

/// A client that passes the barrier `node` once, works for `hold`, and deletes the znode.
pub fn locking_waiter(node: Arc<str>, hold: Duration) -> Program {
    program(move |zookeeper| {
        let node = Arc::clone(&node);
        async move {
            let passed = in_sessions(&zookeeper, |zookeeper, _| {
                let node = Arc::clone(&node);
                async move { pass(&zookeeper, &node).await }
            });
            passed.await.map_err(|error| error.to_string())?;
            zookeeper.observe(BarrierSeen::Passed { node: Arc::clone(&node) });
            if !hold.is_zero() {
                zookeeper.sleep(hold).await;
            }
            // 4. Delete the znode when the work is done.
            let cleared = in_sessions(&zookeeper, |zookeeper, _| {
                let node = Arc::clone(&node);
                async move { until_known(&zookeeper, || zookeeper.delete(&node, Version::Any)).await }
            });
            match cleared.await {
                Ok(()) | Err(Error::NoNode) => Ok(()),
                Err(error) => Err(error.to_string()),
            }
        }
    })
}

async fn pass(zookeeper: &ZooKeeper, node: &Arc<str>) -> Result<(), Error> {
    loop {
        // 1. Look whether the znode exists, and set a watch.
        let look = || zookeeper.exists_watch(node);
        let (stat, mut watch) = until_known(zookeeper, look).await?;
        let Some(stat) = stat else {
            // 3. It does not: create it, and continue. Another client may have been faster.
            match until_known(zookeeper, || zookeeper.create(node, b"", CreateMode::Persistent))
                .await
            {
                Ok(_) => return Ok(()),
                Err(Error::NodeExists) => continue,
                Err(error) => return Err(error),
            }
        };
        zookeeper.observe(BarrierSeen::Found { node: Arc::clone(node), raised: stat.czxid });
        // 2. It does: wait until the watch fires, and begin again.
        watch.changed().await?;
    }
}
