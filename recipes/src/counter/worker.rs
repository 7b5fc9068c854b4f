//! A program that counts as the counter's contract asks for, for scenarios and as an example.

use super::{Counter, Mutants};
use std::sync::Arc;
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::time::Duration;

/// What a [`counter_worker`] does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterWork {
    /// The counter.
    pub counter: Arc<str>,
    /// How often to count.
    pub rounds: u32,
    /// How much to add each time.
    pub delta: i64,
    /// Whether to give way to others ([`Counter::try_add`]).
    pub tries: bool,
    /// Whether counting may be cancelled by the engine.
    pub cancel: bool,
    /// How many ids the znode keeps; `None` for as many as usual.
    pub keeping: Option<u8>,
    /// How long to rest between the rounds.
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

/// A program that counts, round by round. It returns the server's refusal of the path.
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
        // Cancelled, it has counted or not: the round is over.
        let added = match work.cancel {
            true => zookeeper.cancellable(adding).await.unwrap_or(Ok(())),
            false => adding.await,
        };
        added.map_err(|error| error.to_string())?;
    }
    Ok(())
}
