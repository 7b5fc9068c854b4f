//! A program that uses the counter according to its contract, for scenarios and as an example.

use super::{Counter, Mutants};
use std::sync::Arc;
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::time::Duration;

/// Configures a [`counter_worker`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterWork {
    /// The path of the counter's znode.
    pub counter: Arc<str>,
    /// How many times to add.
    pub rounds: u32,
    /// How much to add each time.
    pub delta: i64,
    /// Whether to give up when other clients add at the same time ([`Counter::try_add`]).
    pub tries: bool,
    /// Whether the engine may cancel an addition.
    pub cancel: bool,
    /// How many ids the znode keeps; `None` for the default.
    pub keeping: Option<u8>,
    /// How long to wait between the rounds.
    pub pause: Duration,
    /// The counter's mutants.
    pub mutants: Mutants,
}

impl CounterWork {
    /// One round of adding 1.
    pub fn new(counter: impl Into<Arc<str>>) -> CounterWork {
        CounterWork {
            counter: counter.into(),
            rounds: 1,
            delta: 1,
            tries: false,
            cancel: false,
            keeping: None,
            pause: Duration::ZERO,
            mutants: Mutants::NONE,
        }
    }
}

/// Returns a program that adds in each round. It fails with the server's error for the path.
pub fn counter_worker(work: CounterWork) -> Program {
    program(move |zookeeper| {
        let work = work.clone();
        async move { count(zookeeper, &work).await }
    })
}

async fn count(zookeeper: ZooKeeper, work: &CounterWork) -> Result<(), String> {
    let counter = Counter::open(zookeeper.clone(), Arc::clone(&work.counter)).await;
    let mut counter = counter.with_mutants(work.mutants);
    if let Some(ids) = work.keeping {
        counter = counter.keeping(ids);
    }
    for round in 0..work.rounds {
        if round > 0 && !work.pause.is_zero() {
            zookeeper.sleep(work.pause).await;
        }
        let adding = async {
            match work.tries {
                true => counter.try_add(work.delta).await.map(drop),
                false => counter.add(work.delta).await.map(drop),
            }
        };
        // A cancelled addition may have been applied or not; the round is over in both cases.
        let added = match work.cancel {
            true => zookeeper.cancellable(adding).await.unwrap_or(Ok(())),
            false => adding.await,
        };
        added.map_err(|error| error.to_string())?;
    }
    Ok(())
}
