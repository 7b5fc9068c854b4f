//! A queue whose items become due at some time (recipe rule 2.7).
//!
//! # Contract
//!
//! A [`Queue`] in which each item's name contains the time at which it is due, and items come in the order of these
//! times. All promises of a queue about losses, duplicates and cancelling hold ([`crate::queue`]).
//!
//! *What is promised besides.* No item is taken before it is due, by the clock of the consumer. The time is computed
//! with the clock of the producer, so a difference of the clocks makes an item come early or late by as much. Among the
//! due items, no item that existed before this consumer's last take and is due earlier is skipped.
//!
//! *What is not promised.* An item is taken when a consumer is there to take it, which may be long after it is due.
//!
//! *Wake-ups.* Each put wakes every waiting consumer, because the new item may be due earlier. A consumer is also woken
//! by a timer of its own when the first item that it knows of becomes due.
//!
//! Its observations are those of a queue ([`QueueSeen`](crate::queue::QueueSeen)); its properties are those of a queue
//! with priorities, and [`NotBeforeDue`].
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/delay-queue.md")]

mod mutant;
#[cfg(feature = "checking")]
mod not_before_due;
#[cfg(feature = "checking")]
pub mod worker;

#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
#[cfg(feature = "checking")]
pub use not_before_due::{NotBeforeDue, monitors};
#[cfg(feature = "checking")]
pub use worker::{DelayWork, delay_worker};

use crate::queue::{Item, Look, Mark, Queue};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, ZooKeeper, race};
use vivarium_model::time::{Duration, Time};

/// One client's end of a queue. See the module for its contract.
#[derive(Debug)]
pub struct DelayQueue {
    queue: Queue,
    mutants: Mutants,
}

impl DelayQueue {
    /// Opens the queue in `directory`, like [`Queue::open`].
    pub async fn open(zookeeper: ZooKeeper, directory: impl Into<Arc<str>>) -> DelayQueue {
        let queue = Queue::open(zookeeper, directory).await;
        DelayQueue { queue, mutants: Mutants::NONE }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> DelayQueue {
        DelayQueue { mutants, ..self }
    }

    /// Like [`Queue::with_producers`].
    #[must_use]
    pub fn with_producers(self, producers: usize) -> DelayQueue {
        DelayQueue { queue: self.queue.with_producers(producers), ..self }
    }

    /// Puts an item that is due after `delay`.
    ///
    /// If the future is dropped, the item is put or not.
    ///
    /// # Errors
    /// Fails like [`Queue::put`].
    pub async fn put_after(&mut self, item: &[u8], delay: Duration) -> Result<(), Error> {
        let now = self.zookeeper().now().await;
        // Rounded up to a whole millisecond, so that the item is not due too early (recipe rule 2.7.1).
        let due = (now + delay).0.div_ceil(1_000);
        self.queue.put_marked(item, Mark::Due(due)).await
    }

    /// Like [`Queue::end`].
    ///
    /// # Errors
    /// Fails like [`Queue::end`].
    pub async fn end(&mut self, producer: &str) -> Result<(), Error> {
        self.queue.end(producer).await
    }

    /// Takes the first item as soon as it is due. Returns `None` when no more items will come.
    ///
    /// Cancel-safe like [`Queue::take`].
    ///
    /// # Errors
    /// Fails like [`Queue::take`].
    pub async fn take(&mut self) -> Result<Option<Item>, Error> {
        // The time that has passed according to timers, whatever a clock shows.
        let mut past = 0;
        loop {
            let now = self.zookeeper().now().await.milliseconds().max(past);
            let (due, wake) = match self.queue.look(now).await? {
                Look::Taken(item) => return Ok(Some(item)),
                Look::Ended => return Ok(None),
                Look::Nothing { due, wake } => (due, wake),
            };
            // Recipe rule 2.7.2.
            let Some(due) = due.filter(|_| !self.mutants.has(Mutant::NoTimer)) else {
                self.queue.wait(wake).await;
                continue;
            };
            let zookeeper = self.zookeeper().clone();
            let until = Time(due * 1_000).since(Time(now * 1_000));
            match race(self.queue.wait(wake), zookeeper.sleep(until)).await {
                Either::Left(()) if self.mutants.has(Mutant::WakeMeansDue) => past = u64::MAX,
                Either::Left(()) => {}
                Either::Right(()) => past = due,
            }
        }
    }

    /// Like [`Queue::close`].
    ///
    /// # Errors
    /// Fails like [`Queue::close`].
    pub async fn close(self) -> Result<(), Error> {
        self.queue.close().await
    }

    /// The handle.
    pub fn zookeeper(&self) -> &ZooKeeper {
        self.queue.zookeeper()
    }
}
