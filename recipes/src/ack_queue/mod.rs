//! A queue whose items stay until they are acknowledged (recipe rule 2.6).
//!
//! # Contract
//!
//! Items are put as into a [`Queue`], and an item that was put is in the queue once. A consumer
//! *claims* the first item that nobody has claimed, by an ephemeral znode of the item's name in a directory
//! beside the queue; does what the item asks for; and *acknowledges* it, by which item and claim go at once.
//!
//! *What is promised.* An item goes only by an acknowledgement (or a [requeue](Claim::requeue)) of the one
//! who has claimed it. At most one session that is open has claimed it. [`Ack::Acked`] means that the item
//! has gone by this acknowledgement, [`Ack::Lost`] that it has not, and never will by this one.
//!
//! *At least once.* Whoever loses its session loses its claims, and somebody else claims the items: what an
//! item asks for may then be done twice, and even at the same time, since a program learns of the end of its
//! session only afterwards (recipe rule 1.2.4). [`Claim::lost`] tells it as soon as it can be known. That is
//! as much as a queue can do. Who must not do the work twice checks the token of the claim
//! ([`Claim::token`]) where the work is done: tokens of one item grow from claim to claim.
//!
//! *Order.* Items are claimed first in, first out. A claim that is lost or released leaves the item where it
//! is, which is then the first again, while others may have been acknowledged before it.
//!
//! *Cancelling is safe.* Futures of this module may be dropped at any await point. Dropping
//! [`AckQueue::claim`] or a [`Claim`] hands the duty to delete the claim's znode to a task beside the
//! program, which repeats until it is done or the session is over. Who can be cancelled should close its
//! session at the end. An acknowledgement whose future is dropped has been done or not; if not, the claim is
//! released.
//!
//! *Who wakes.* Every consumer that waits is woken by each put, each claim and each end of a claim (two
//! child watches); one of them gets an item.
//!
//! What the recipe tells the monitors is an [`AckSeen`]; its properties are in [`properties`], its
//! published mistakes are [`Mutant`]s.
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

/// What there is to claim.
enum Look {
    /// The name of the first item that nobody has claimed.
    Free(String),
    /// Nothing is left, and nothing will come.
    Ended,
    /// No items now. This tells when to look again.
    Empty(Wake),
    /// All items are claimed now. One of these tells when to look again.
    Claimed(Wake, Wake),
}

impl AckQueue {
    /// The queue in `directory`. As [`Queue::open`].
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

    /// As [`Queue::with_producers`].
    #[must_use]
    pub fn with_producers(self, producers: usize) -> AckQueue {
        AckQueue { queue: self.queue.with_producers(producers), ..self }
    }

    /// Puts an item behind all others. As [`Queue::put`].
    ///
    /// # Errors
    /// As [`Queue::put`].
    pub async fn put(&mut self, item: &[u8]) -> Result<(), Error> {
        self.queue.put(item).await
    }

    /// As [`Queue::end`].
    ///
    /// # Errors
    /// As [`Queue::end`].
    pub async fn end(&mut self, producer: &str) -> Result<(), Error> {
        self.queue.end(producer).await
    }

    /// Claims the first item that nobody has claimed, and waits for one where there is none. `None` when
    /// there will be none.
    ///
    /// Cancel-safe: dropping the future gives the claim up.
    ///
    /// # Errors
    /// The server refuses the directory.
    pub async fn claim(&mut self) -> Result<Option<Claim>, Error> {
        loop {
            if let ControlFlow::Break(claimed) = self.claim_or_wait().await? {
                return Ok(claimed);
            }
        }
    }

    /// One turn of [`AckQueue::claim`]: it goes on when it is time to look again. Nothing is kept from one turn to
    /// the next but what [`Kept`] has.
    ///
    /// Cancel-safe as [`AckQueue::claim`].
    ///
    /// # Errors
    /// As [`AckQueue::claim`].
    pub(crate) async fn claim_or_wait(&mut self) -> Result<ControlFlow<Option<Claim>>, Error> {
        match self.look().await? {
            Look::Free(name) => {
                let session = self.queue.patient.session();
                match Attempt::begin(self, session, &name).run().await {
                    Ok(Some(claim)) => return Ok(ControlFlow::Break(Some(claim))),
                    // Somebody else was faster.
                    Ok(None) => {}
                    Err(Error::SessionExpired) => self.queue.patient.leave(session).await,
                    Err(error) => return Err(error),
                }
            }
            Look::Ended => return Ok(ControlFlow::Break(None)),
            // Watches end with their session, which the next look finds out.
            Look::Empty(mut items) => drop(items.wakes().await),
            Look::Claimed(mut items, mut claims) => {
                race(items.wakes(), claims.wakes()).await;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Claims the first item, but does not wait longer than `patience` for one.
    ///
    /// Cancel-safe as [`AckQueue::claim`].
    ///
    /// # Errors
    /// [`TimedOut`] outside, those of [`AckQueue::claim`] inside.
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

    /// Takes this client's ledger away.
    ///
    /// # Errors
    /// The server refuses the path.
    pub async fn close(self) -> Result<(), Error> {
        self.queue.close().await
    }

    /// The claims are listed after the items: who is missing among these by then has no claim, or has gone
    /// with it.
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

/// Where the claims of a queue are.
pub fn claims(directory: &str) -> String {
    format!("{directory}.claims")
}
