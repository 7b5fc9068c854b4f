//! A program that writes a shared value and follows it, for scenarios and as an example.

use super::{Mutants, SharedValue};
use crate::cache::CacheSeen;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, Program, ZooKeeper, program, race};
use vivarium_model::time::Duration;

/// Configures a [`shared_value_worker`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedValueWork {
    /// The value's path.
    pub path: Arc<str>,
    /// How many times to write.
    pub rounds: u32,
    /// Whether to write only over the expected value ([`SharedValue::try_set`]).
    pub tries: bool,
    /// How long to follow the value before each write.
    pub pause: Duration,
    /// How long to follow the value after the last write; `None` for not at all.
    pub follow: Option<Duration>,
    /// Whether the engine may cancel a write or the waiting for a change.
    pub cancel: bool,
    /// How many ids the znode keeps; `None` for the default.
    pub keeping: Option<u8>,
    /// Whether to close the session at the end.
    pub close: bool,
    /// The mutants.
    pub mutants: Mutants,
}

/// Returns a program that writes a shared value, round by round, and follows it between the writes and for some time
/// after them.
///
/// The program fails with the server's error for the path.
pub fn shared_value_worker(work: SharedValueWork) -> Program {
    program(move |zookeeper| {
        let work = work.clone();
        async move {
            share(&zookeeper, &work).await.map_err(|error| error.to_string())?;
            if work.close {
                zookeeper.close().await;
            }
            Ok(())
        }
    })
}

async fn share(zookeeper: &ZooKeeper, work: &SharedValueWork) -> Result<(), Error> {
    let shared = SharedValue::open(zookeeper.clone(), Arc::clone(&work.path)).await;
    let mut shared = shared.with_mutants(work.mutants);
    if let Some(ids) = work.keeping {
        shared = shared.keeping(ids);
    }
    for round in 0..work.rounds {
        if !work.pause.is_zero() {
            follow(zookeeper, work, &mut shared, work.pause).await?;
        }
        let value = format!("{}.{round}", zookeeper.client().0);
        let writing = write(work, &mut shared, value.as_bytes());
        // A cancelled write may have been made or not; the round is over in both cases.
        match work.cancel {
            true => zookeeper.cancellable(writing).await.unwrap_or(Ok(()))?,
            false => writing.await?,
        }
    }
    match work.follow {
        Some(span) => follow(zookeeper, work, &mut shared, span).await,
        None => Ok(()),
    }
}

async fn write(
    work: &SharedValueWork,
    shared: &mut SharedValue,
    value: &[u8],
) -> Result<(), Error> {
    if !work.tries {
        return shared.set(value).await.map(drop);
    }
    // The value that the client received last, which may be old.
    let expected = match shared.current() {
        Some(current) => current,
        None => shared.get().await?,
    };
    shared.try_set(&expected, value).await.map(drop)
}

async fn follow(
    zookeeper: &ZooKeeper,
    work: &SharedValueWork,
    shared: &mut SharedValue,
    span: Duration,
) -> Result<(), Error> {
    let following = async {
        loop {
            if work.cancel {
                let Ok(told) = zookeeper.cancellable(shared.changed()).await else { continue };
                told?;
            } else {
                shared.changed().await?;
            }
            let root = Arc::clone(&work.path);
            let znode = shared.znode().map(|znode| (Arc::clone(&root), znode.clone()));
            zookeeper.observe(CacheSeen::Content { root, znodes: znode.into_iter().collect() });
        }
    };
    match race(following, zookeeper.sleep(span)).await {
        Either::Left(ended) => ended,
        Either::Right(()) => Ok(()),
    }
}
