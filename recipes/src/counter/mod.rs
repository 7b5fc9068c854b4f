//! A counter, built on a shared value that is changed atomically (recipe rule 2.15).
//!
//! # Contract
//!
//! [`AtomicValue`] is a znode with data, in which the ids of the latest changes follow the value. A change reads, and
//! writes with the version that it read. A write whose reply was lost is repeated with the same version: at most one of
//! both can be applied. If the version has changed, the ids tell whether the change is among those made since.
//!
//! *What is promised.* A change that is acknowledged ([`Changed::Applied`], [`Verdict::Set`]) was applied exactly once.
//! One that is refused ([`Verdict::Refused`]) was not applied and never will be. One that is
//! [`Unknown`](Verdict::Unknown), or whose future was dropped or whose program died, was applied once or not at all.
//! This holds under every fault, also if sessions end, because nothing of a change depends on a session.
//!
//! *When the result is unknown.* Only if other clients have changed the value at least as often as the znode keeps ids,
//! between a write whose reply was lost and the next answer ([`AtomicValue::keeping`]).
//!
//! *What is not promised.* A read is as old as the view of the server that answers. A contending client reads again
//! after each refusal: n clients that count concurrently make up to n² requests. No client waits, so no change wakes a
//! client. The znode must not be deleted and recreated: its version would restart, and an old write could match it.
//!
//! The recipe's observations are [`CounterSeen`]; its property is in [`properties`], its published mistakes are
//! [`Mutant`]s.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/counter.md")]

mod mutant;
#[cfg(feature = "checking")]
pub mod properties;
mod seen;
mod value;
#[cfg(feature = "checking")]
pub mod worker;

#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
#[cfg(feature = "checking")]
pub use properties::monitors;
pub use seen::CounterSeen;
pub use value::{AtomicValue, Changed, Current, Verdict};
#[cfg(feature = "checking")]
pub use worker::{CounterWork, counter_worker};

use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;

/// A counter. See the module for its contract.
#[derive(Debug)]
pub struct Counter {
    value: AtomicValue,
    path: Arc<str>,
}

impl Counter {
    /// Opens the counter in this znode, like [`AtomicValue::open`]; without data its value is 0.
    pub async fn open(zookeeper: ZooKeeper, path: impl Into<Arc<str>>) -> Counter {
        let path = path.into();
        let value = AtomicValue::open(zookeeper, Arc::clone(&path)).await;
        Counter { value, path }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> Counter {
        Counter { value: self.value.with_mutants(mutants), ..self }
    }

    /// Sets the number of changes whose ids are kept.
    #[must_use]
    pub fn keeping(self, ids: u8) -> Counter {
        Counter { value: self.value.keeping(ids), ..self }
    }

    /// Returns the value at the server that answers.
    ///
    /// # Errors
    /// Fails like [`AtomicValue::get`].
    pub async fn get(&mut self) -> Result<i64, Error> {
        Ok(number(&self.value.get().await?.value))
    }

    /// Adds `delta`, whatever others add meanwhile.
    ///
    /// If the future is dropped, `delta` was added once or not at all.
    ///
    /// # Errors
    /// Fails like [`AtomicValue::update`].
    pub async fn add(&mut self, delta: i64) -> Result<Changed, Error> {
        let op = self.begin(delta).await;
        let more = |value: &[u8]| plus(value, delta);
        let changed = self.value.update_as(&op, more).await?;
        let counter = Arc::clone(&self.path);
        self.value.zookeeper().observe(match changed {
            Changed::Applied => CounterSeen::Added { counter, op, delta },
            Changed::Unknown => CounterSeen::Unknown { counter, op },
        });
        Ok(changed)
    }

    /// Adds `delta` unless another client changes the counter meanwhile.
    ///
    /// If the future is dropped, `delta` was added once or not at all.
    ///
    /// # Errors
    /// Fails like [`AtomicValue::compare_and_set`].
    pub async fn try_add(&mut self, delta: i64) -> Result<Verdict, Error> {
        let op = self.begin(delta).await;
        let current = self.value.get().await?;
        let more = plus(&current.value, delta);
        let verdict = self.value.compare_and_set_as(&op, &current, &more).await?;
        let counter = Arc::clone(&self.path);
        self.value.zookeeper().observe(match verdict {
            Verdict::Set => CounterSeen::Added { counter, op, delta },
            Verdict::Refused => CounterSeen::NotAdded { counter, op, delta },
            Verdict::Unknown => CounterSeen::Unknown { counter, op },
        });
        Ok(verdict)
    }

    async fn begin(&self, delta: i64) -> Arc<str> {
        let op = self.value.fresh_id().await;
        let counter = Arc::clone(&self.path);
        self.value.zookeeper().observe(CounterSeen::Adding { counter, op: Arc::clone(&op), delta });
        op
    }
}

/// Returns the value in a counter's data: the number in the first line, or 0.
pub fn number(data: &[u8]) -> i64 {
    let line = data.split(|byte| *byte == b'\n').next().unwrap_or_default();
    std::str::from_utf8(line).ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default()
}

fn plus(value: &[u8], delta: i64) -> Vec<u8> {
    number(value).wrapping_add(delta).to_string().into_bytes()
}
