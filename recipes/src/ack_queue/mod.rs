//! A queue whose items remain until they are acknowledged (recipe rule 2.6).
//!
//! # Contract
//!
//! Items are put as into a [`Queue`], and an item that was put is in the queue once. A consumer *claims* the first
//! unclaimed item, by an ephemeral znode with the item's name in a directory beside the queue. It processes the item,
//! and *acknowledges* it, which deletes item and claim in one transaction.
//!
//! *What is promised.* An item is removed only by an acknowledgement (or a [requeue](Claim::requeue)) of its claimant.
//! At most one open session has claimed it. [`Ack::Acked`] means that this acknowledgement removed the item,
//! [`Ack::Lost`] that it did not and never will.
//!
//! *At least once.* A consumer that loses its session loses its claims, and other consumers claim the items. So an item
//! may be processed twice, and even at the same time, because a program learns of the end of its session only
//! afterwards (recipe rule 1.2.4). [`Claim::lost`] reports the loss as soon as the client can know. A queue cannot do
//! more. To process an item only once, check the token of the claim ([`Claim::token`]) where the work is done: tokens
//! of one item grow from claim to claim.
//!
//! *Order.* Items are claimed first in, first out. A claim that is lost or released leaves the item at its place, so it
//! is the first again, although later items may have been acknowledged before it.
//!
//! *Cancelling is safe.* Futures of this module may be dropped at any await point. Dropping [`AckQueue::claim`] or a
//! [`Claim`] starts a background task that deletes the claim's znode, and repeats the delete until it is done or the
//! session is over. A program that can be cancelled should close its session at the end. An acknowledgement whose
//! future is dropped may have been applied or not; if not, the claim is released.
//!
//! *Wake-ups.* Each put, each claim and each end of a claim wakes every waiting consumer (two child watches); one of
//! them gets an item.
//!
//! The recipe's observations are [`AckSeen`]; its properties are in [`properties`], its published mistakes are
//! [`Mutant`]s.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/ack-queue.md")]

mod attempt;
mod claim;
mod deletion;
#[cfg(feature = "checking")]
mod kept;
mod mutant;
#[cfg(feature = "checking")]
pub mod properties;
mod seen;
#[cfg(feature = "checking")]
pub mod worker;

pub use claim::{Ack, Claim, Loss};
#[cfg(feature = "checking")]
pub(crate) use kept::Kept;
#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
#[cfg(feature = "checking")]
pub use properties::monitors;
pub use seen::AckSeen;
#[cfg(feature = "checking")]
pub use worker::{AckWork, ack_worker};

use crate::queue::{Queue, Wake, name};
use attempt::Attempt;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{TimedOut, ZooKeeper, race};
use vivarium_model::time::Duration;

/// One client's end of a queue. See the module for its contract.
#[derive(Debug)]
pub struct AckQueue {
    queue: Queue,
    claims: Arc<str>,
    mutants: Mutants,
}

/// What a look at the queue has found.
enum Look {
    /// The name of the first unclaimed item.
    Free(String),
    /// No items are left, and none will come.
    Ended,
    /// There are no items now. The wake-up tells when to look again.
    Empty(Wake),
    /// All items are claimed now. Either wake-up tells when to look again.
    Claimed(Wake, Wake),
}

impl AckQueue {
    /// Opens the queue in `directory`, like [`Queue::open`].
    pub async fn open(zookeeper: ZooKeeper, directory: impl Into<Arc<str>>) -> AckQueue {
        let directory = directory.into();
        let claims = claims(&directory).into();
        let queue = Queue::open(zookeeper, directory).await;
        AckQueue { queue, claims, mutants: Mutants::NONE }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> AckQueue {
        AckQueue { mutants, ..self }
    }

    /// Like [`Queue::with_producers`].
    #[must_use]
    pub fn with_producers(self, producers: usize) -> AckQueue {
        AckQueue { queue: self.queue.with_producers(producers), ..self }
    }

    /// Puts an item at the end of the queue, like [`Queue::put`].
    ///
    /// # Errors
    /// Fails like [`Queue::put`].
    pub async fn put(&mut self, item: &[u8]) -> Result<(), Error> {
        self.queue.put(item).await
    }

    /// Like [`Queue::end`].
    ///
    /// # Errors
    /// Fails like [`Queue::end`].
    pub async fn end(&mut self, producer: &str) -> Result<(), Error> {
        self.queue.end(producer).await
    }

    /// Claims the first unclaimed item, and waits for one if there is none. Returns `None` when no more items will
    /// come.
    ///
    /// Cancel-safe: dropping the future gives up the claim.
    ///
    /// # Errors
    /// Fails if the server refuses the directory.
    pub async fn claim(&mut self) -> Result<Option<Claim>, Error> {
        loop {
            if let ControlFlow::Break(claimed) = self.claim_or_wait().await? {
                return Ok(claimed);
            }
        }
    }

    /// Runs one turn of [`AckQueue::claim`]; continues when it is time to look again. Only the content of [`Kept`]
    /// survives from one turn to the next.
    ///
    /// Cancel-safe like [`AckQueue::claim`].
    ///
    /// # Errors
    /// Fails like [`AckQueue::claim`].
    pub(crate) async fn claim_or_wait(&mut self) -> Result<ControlFlow<Option<Claim>>, Error> {
        match self.look().await? {
            Look::Free(name) => {
                let session = self.queue.patient.session();
                match Attempt::begin(self, session, &name).run().await {
                    Ok(Some(claim)) => return Ok(ControlFlow::Break(Some(claim))),
                    // Another consumer was faster.
                    Ok(None) => {}
                    Err(Error::SessionExpired) => self.queue.patient.leave(session).await,
                    Err(error) => return Err(error),
                }
            }
            Look::Ended => return Ok(ControlFlow::Break(None)),
            // Watches end with their session; the next look detects this.
            Look::Empty(mut items) => drop(items.wakes().await),
            Look::Claimed(mut items, mut claims) => {
                race(items.wakes(), claims.wakes()).await;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Claims the first item, but does not wait longer than `patience` for one.
    ///
    /// Cancel-safe like [`AckQueue::claim`].
    ///
    /// # Errors
    /// Returns [`TimedOut`] in the outer result, and the errors of [`AckQueue::claim`] in the inner one.
    pub async fn claim_timeout(
        &mut self,
        patience: Duration,
    ) -> Result<Result<Option<Claim>, Error>, TimedOut> {
        let zookeeper = self.zookeeper().clone();
        zookeeper.timeout(patience, self.claim()).await
    }

    /// The handle.
    pub fn zookeeper(&self) -> &ZooKeeper {
        self.queue.zookeeper()
    }

    /// Deletes this client's ledger.
    ///
    /// # Errors
    /// Fails if the server refuses the path.
    pub async fn close(self) -> Result<(), Error> {
        self.queue.close().await
    }

    /// Lists the claims after the items: a listed item without a claim then is unclaimed, or is gone together with its
    /// claim.
    async fn look(&mut self) -> Result<Look, Error> {
        let (items, of_items) = self.queue.list().await?;
        let items_in_order = self.queue.in_order(&items).await?;
        if items_in_order.is_empty() {
            let producers = self.queue.producers;
            let is_ended = producers.is_some_and(|producers| name::ends(&items) >= producers);
            return Ok(if is_ended { Look::Ended } else { Look::Empty(of_items) });
        }
        let claims = Arc::clone(&self.claims);
        let (claims, of_claims) = self.queue.list_of(&claims).await?;
        let claims: BTreeSet<&str> = claims.iter().map(String::as_str).collect();
        let free = items_in_order.iter().find(|item| !claims.contains(item.name()));
        Ok(match free {
            Some(item) => Look::Free(item.name().to_string()),
            None => Look::Claimed(of_items, of_claims),
        })
    }
}

/// Returns the directory of a queue's claims.
pub fn claims(directory: &str) -> String {
    format!("{directory}.claims")
}
