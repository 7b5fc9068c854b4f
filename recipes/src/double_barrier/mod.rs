//! The double barrier (recipe rule 2.3): parties enter together, and leave together.
//!
//! # Contract
//!
//! A double barrier is a directory, and has generations, numbered by whoever uses it. Of each generation there is
//! a directory of members, in which every party that enters makes an ephemeral znode, and *one* verdict: a znode
//! that is created once. The member that counts enough parties creates it as *go*; one that gives up waiting as
//! *abort*. Whoever is first has decided, and everybody obeys.
//!
//! *What entering means.* When [`DoubleBarrier::enter`] returns, the registrations of at least as many parties as
//! are asked for have stood in this generation at one moment of the committed history. A process that is started
//! anew is the same party: it is counted once (recipe rule 2.3.2).
//!
//! *What leaving means.* When [`Entered::leave`] returns, there was a moment since its call at which no
//! registration stood in this generation: every member had left, or its session was over. That moment closed the
//! generation for good, since the last one out deletes the directory of members; who comes later is told
//! [`EnterError::Over`]. So parties that go from generation to generation enter the next one only when nobody is
//! inside the one before.
//!
//! *Giving up.* [`DoubleBarrier::enter_timeout`] ends with one verdict for all: either the generation is open, and
//! the impatient member is inside, or it is aborted, and nobody ever enters it. So it may take longer than the
//! patience that it is given: as long as it takes to know. [`Entered::leave_timeout`] leaves in any case, and
//! gives up only to wait for the others: who does that must not enter a later generation where more parties
//! take part than are asked for.
//!
//! *One registration, one session.* An attempt is pinned to the session in which it began. When that ends, the
//! registration is gone, and the caller is told: it never goes on in silence. It may enter the same generation
//! again: while that is open, it is inside at once; otherwise it is over.
//!
//! *Cancelling is safe.* Dropping [`DoubleBarrier::enter`] or an [`Entered`] withdraws the registration, in a task
//! beside the program that repeats until it is done or the session is over. Until then it is counted.
//!
//! *Herd.* The verdict wakes everybody at once, which is what it is for. Of those who leave, one deletion wakes
//! one, and the last one all.
//!
//! *What is left.* The verdict of each generation, which tells late parties that it is decided, until
//! [`DoubleBarrier::remove`] is called by somebody who knows that nobody comes to it any more.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/double-barrier.md")]

mod attempt;
mod guard;
mod leaving;
mod mutant;
mod place;
#[cfg(feature = "checking")]
pub mod properties;
mod seen;
#[cfg(feature = "checking")]
pub mod worker;

pub use guard::Entered;
pub use leaving::LeaveError;
#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
#[cfg(feature = "checking")]
pub use properties::monitors;
pub use seen::DoubleBarrierSeen;
#[cfg(feature = "checking")]
pub use worker::{DoubleBarrierWork, double_barrier_worker};

use crate::helpers::{ended, ensure_deleted, in_sessions};
use attempt::Attempt;
use place::Place;
use std::sync::Arc;
use thiserror::Error;
use vivarium_model::error;
use vivarium_model::handle::{TimedOut, ZooKeeper};
use vivarium_model::time::Duration;

/// A party's side of a double barrier. See the module for its contract.
#[derive(Clone, Debug)]
pub struct DoubleBarrier {
    zookeeper: ZooKeeper,
    path: Arc<str>,
    party: Arc<str>,
    parties: usize,
    mutants: Mutants,
}

/// Why a party has not entered. Its registration is gone, or will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum EnterError {
    /// The session ended, and the registration with it. Entering again begins a new session.
    #[error("the session ended before the double barrier was entered")]
    SessionExpired,
    /// Another member has given up waiting: nobody enters this generation.
    #[error("another member has given up waiting for this generation")]
    Aborted,
    /// The time was up first: nobody enters this generation.
    #[error("there were not enough parties in time")]
    TimedOut,
    /// All members of this generation have left it.
    #[error("this generation is over")]
    Over,
    /// The server refuses the paths.
    #[error("the double barrier's znodes cannot be used: {0}")]
    Refused(error::Error),
}

impl DoubleBarrier {
    /// The double barrier in the directory `path`, which is created where it is missing, for at least so many
    /// `parties`. `party` is this one's name, the same whenever its process is started, and no other's; it has
    /// no `/` in it.
    pub fn new(
        zookeeper: ZooKeeper,
        path: impl Into<Arc<str>>,
        party: impl Into<Arc<str>>,
        parties: usize,
    ) -> DoubleBarrier {
        DoubleBarrier {
            zookeeper,
            path: path.into(),
            party: party.into(),
            parties,
            mutants: Mutants::NONE,
        }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> DoubleBarrier {
        DoubleBarrier { mutants, ..self }
    }

    /// Waits until enough parties have come to this generation, for as long as it takes.
    ///
    /// Cancel-safe: dropping the future withdraws.
    ///
    /// # Errors
    /// [`EnterError`], except [`EnterError::TimedOut`].
    pub async fn enter(&self, generation: u64) -> Result<Entered, EnterError> {
        self.attempt(generation, None).await
    }

    /// As [`DoubleBarrier::enter`], but gives up when, once connected, it has waited for `patience` and nobody has
    /// decided by then: for everybody (recipe rule 2.3.6).
    ///
    /// # Errors
    /// [`EnterError`].
    pub async fn enter_timeout(
        &self,
        generation: u64,
        patience: Duration,
    ) -> Result<Entered, EnterError> {
        self.attempt(generation, Some(patience)).await
    }

    /// Removes what is left of a generation. Only for whoever knows that nobody comes to it any more: a party
    /// that does would begin it anew. A generation with somebody in it is left alone.
    ///
    /// # Errors
    /// The server's refusal of the path; NotEmpty where somebody is in it.
    pub async fn remove(&self, generation: u64) -> Result<(), error::Error> {
        let place = Place::new(&self.path, generation, self.mutants);
        in_sessions(&self.zookeeper, |zookeeper, _| {
            let place = place.clone();
            async move {
                ensure_deleted(&zookeeper, &place.members).await?;
                ensure_deleted(&zookeeper, &place.verdict).await?;
                ensure_deleted(&zookeeper, &place.directory).await
            }
        })
        .await
    }

    async fn attempt(
        &self,
        generation: u64,
        patience: Option<Duration>,
    ) -> Result<Entered, EnterError> {
        let mut events = self.zookeeper.session_events();
        let session = self.zookeeper.connect().await;
        // Every attempt has a name of its own, so that whoever clears up after one hits no other.
        let id = self.zookeeper.random().await;
        let attempt = Attempt::begin(self, session, generation, id);
        let entered = match patience {
            Some(patience) => self.enter_in_time(attempt, patience).await,
            None => attempt.run().await,
        };
        if let Err(EnterError::SessionExpired) = entered {
            // A caller that tries again at once shall get a new session.
            ended(&mut events).await;
        }
        entered
    }

    async fn enter_in_time(
        &self,
        mut attempt: Attempt,
        patience: Duration,
    ) -> Result<Entered, EnterError> {
        match self.zookeeper.timeout(patience, attempt.wait()).await {
            Ok(waited) => attempt.end(waited),
            // It leaves without asking anybody, and its znode stays (`DbTimeoutLeavesNode`).
            Err(TimedOut) if self.mutants.has(Mutant::DbTimeoutLeavesNode) => attempt.walk_away(),
            Err(TimedOut) => attempt.give_up().await,
        }
    }
}

impl From<error::Error> for EnterError {
    fn from(error: error::Error) -> EnterError {
        match error {
            error::Error::SessionExpired => EnterError::SessionExpired,
            other => EnterError::Refused(other),
        }
    }
}
