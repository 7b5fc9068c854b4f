//! The double barrier (recipe rule 2.3): parties enter together, and leave together.
//!
//! # Contract
//!
//! A double barrier is a directory, and has generations, numbered by its users. Each generation has a directory of
//! members, in which every party that enters creates an ephemeral znode, and *one* verdict: a znode that is created
//! once. The member that counts enough parties creates it as *go*; a member that gives up waiting creates it as
//! *abort*. The first create decides, and all parties obey it.
//!
//! *What entering means.* When [`DoubleBarrier::enter`] returns, the registrations of at least the required number of
//! parties existed in this generation at one moment of the committed history. A restarted process is the same party: it
//! is counted once (recipe rule 2.3.2).
//!
//! *What leaving means.* When [`Entered::leave`] returns, there was a moment since its call at which no registration
//! existed in this generation: every member had left, or its session was over. That moment closed the generation
//! permanently, because the last member deletes the directory of members; later parties receive [`EnterError::Over`].
//! So parties that go from generation to generation enter the next one only when no party is inside the previous one.
//!
//! *Giving up.* [`DoubleBarrier::enter_timeout`] ends with one verdict for all: either the generation is open and the
//! impatient member is inside, or it is aborted and no party ever enters it. So the call may take longer than its
//! patience: as long as it takes to know. [`Entered::leave_timeout`] leaves in any case, and only stops waiting for the
//! others. A party that does this must not enter a later generation in which more parties take part than required.
//!
//! *One registration, one session.* An attempt is pinned to the session in which it began. When that session ends, the
//! registration is gone, and the attempt fails with an error instead of continuing. The caller may enter the same
//! generation again: while that is open, it is inside immediately; otherwise the generation is over.
//!
//! *Cancelling is safe.* Dropping [`DoubleBarrier::enter`] or an [`Entered`] withdraws the registration in a background
//! task, which repeats until it is done or the session is over. Until then, the registration counts.
//!
//! *Herd.* The verdict wakes all waiters, which is its purpose. When members leave, each deletion wakes one member, and
//! the last deletion wakes all.
//!
//! *What is left.* The verdict of each generation, which tells late parties that it is decided, until a client that
//! knows that no party will come any more calls [`DoubleBarrier::remove`].
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
    /// Another member has given up waiting, so no party enters this generation.
    #[error("another member has given up waiting for this generation")]
    Aborted,
    /// The time was over first, so no party enters this generation.
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
    /// Creates a handle of the double barrier in the directory `path`, which is created if it is missing, for at least
    /// `parties` parties. `party` is the name of this party: the same after each restart of its process, different from
    /// all others, and without `/`.
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

    /// Waits until enough parties have come to this generation, without a time limit.
    ///
    /// Cancel-safe: dropping the future withdraws.
    ///
    /// # Errors
    /// Returns [`EnterError`], except [`EnterError::TimedOut`].
    pub async fn enter(&self, generation: u64) -> Result<Entered, EnterError> {
        self.attempt(generation, None).await
    }

    /// Like [`DoubleBarrier::enter`], but gives up, for all parties, if there is no verdict after the client was
    /// connected and has waited for `patience` (recipe rule 2.3.6).
    ///
    /// # Errors
    /// Returns [`EnterError`].
    pub async fn enter_timeout(
        &self,
        generation: u64,
        patience: Duration,
    ) -> Result<Entered, EnterError> {
        self.attempt(generation, Some(patience)).await
    }

    /// Removes the rest of a generation. The caller must know that no party will come to it any more, because such a
    /// party would begin it again. A generation with a member is left unchanged.
    ///
    /// # Errors
    /// Returns the server's refusal of the path, or NotEmpty if a party is inside.
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
        // Every attempt has a unique name, so that cleaning up after one affects no other.
        let id = self.zookeeper.random().await;
        let attempt = Attempt::begin(self, session, generation, id);
        let entered = match patience {
            Some(patience) => self.enter_in_time(attempt, patience).await,
            None => attempt.run().await,
        };
        if let Err(EnterError::SessionExpired) = entered {
            // A caller that retries immediately must get a new session.
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
            // The mutant leaves without a verdict, and its znode stays (`DbTimeoutLeavesNode`).
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
