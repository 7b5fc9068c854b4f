//! The exclusive lock (recipe rule 2.8): at most one live holder, in order of arrival.
//!
//! # Contract
//!
//! A lock is a directory. Every attempt to acquire it creates one ephemeral sequential znode in it, whose name begins
//! with an id that is unique to the attempt, and waits until no znode with a lower sequence number is left. It waits
//! for the nearest lower one only, so that a deletion wakes one waiter.
//!
//! *What a grant means.* At some moment of the committed history, the holder's znode was the first, so no other session
//! that is still open holds the lock. It does **not** mean that no other program *believes* that it holds the lock: a
//! program learns of the end of its session only afterwards, and a paused one much later. A program that cannot
//! tolerate this must check the fencing token ([`Guard::token`]) where the work is done, or do the work inside
//! ZooKeeper by [`Guard::fenced`]. Both are exact.
//!
//! *When a belief ends.* [`Guard::lost`] resolves when the session has ended, and when the lock's znode is seen to be
//! deleted. It does not resolve on a mere disconnection: the session, and with it the lock, may continue, and most
//! disconnections are short. A holder that must stop earlier has to watch [`ZooKeeper::session_events`] itself.
//!
//! *One attempt, one session.* An attempt is pinned to the session in which it began. When that session ends, the
//! attempt fails with [`AcquireError::SessionExpired`]: its znode belongs to the old session and is never adopted by
//! another (CURATOR-498). Acquiring again begins a new session.
//!
//! *Cancelling is safe.* Futures of this module may be dropped at any await point. Dropping [`Lock::acquire`] starts a
//! background task that deletes the attempt's znode, even one whose create is still in flight, and repeats the delete
//! until it is done or the session is over. Dropping a [`Guard`], or the future of [`Guard::release`], does the same
//! for the release. These tasks live as long as the program: a program that ends should close its session, which
//! deletes all of its znodes.
//!
//! The recipe's observations are [`LockSeen`]; its properties are in
//! [`contention::properties`](crate::contention::properties), its published mistakes are [`Mutant`]s.
//! [`contention`](crate::contention) describes an attempt.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/lock.md")]

#[cfg(feature = "checking")]
mod monitors;
#[cfg(feature = "checking")]
pub mod worker;

#[cfg(not(feature = "checking"))]
pub(crate) use crate::contention::Mutants;
pub use crate::contention::{
    AcquireError, FencedError, FencingToken, Guard, LockSeen, Loss, Release,
};
#[cfg(feature = "checking")]
pub use crate::contention::{Mutant, Mutants};
#[cfg(feature = "checking")]
pub use monitors::{monitors, monitors_of_a_service};
#[cfg(feature = "checking")]
pub use worker::{LockWork, lock_worker};

use crate::contention::{Contest, Kind};
use std::sync::Arc;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::id::SessionId;
use vivarium_model::op::Data;
use vivarium_model::time::Duration;

/// An exclusive lock. See the module for its contract.
#[derive(Clone, Debug)]
pub struct Lock {
    contest: Contest,
}

impl Lock {
    /// Creates a handle of the lock in `directory`, which the first attempt creates if it is missing. The server
    /// refuses an invalid path when the lock is acquired.
    pub fn new(zookeeper: ZooKeeper, directory: impl Into<Arc<str>>) -> Lock {
        let (directory, data) = (directory.into(), Data::from(&b""[..]));
        let (kind, mutants) = (Kind::Exclusive, Mutants::NONE);
        let predecessor = mutants.predecessor();
        Lock { contest: Contest { zookeeper, directory, kind, predecessor, data, mutants } }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> Lock {
        let predecessor = mutants.predecessor();
        Lock { contest: Contest { predecessor, mutants, ..self.contest } }
    }

    /// Waits for the lock without a time limit. Begins a new session if the last one is over.
    ///
    /// If another client deletes a waiter's znode, the attempt queues again, last.
    ///
    /// Cancel-safe: dropping the future withdraws from the queue.
    ///
    /// # Errors
    /// Returns [`AcquireError::SessionExpired`] and [`AcquireError::Refused`].
    pub async fn acquire(&self) -> Result<Guard, AcquireError> {
        self.contest.acquire().await
    }

    /// Waits for the lock in this session only.
    pub(crate) async fn acquire_in(&self, session: SessionId) -> Result<Guard, AcquireError> {
        self.contest.acquire_in(session).await
    }

    /// Waits for the lock, but not longer than `patience`.
    ///
    /// Cancel-safe like [`Lock::acquire`].
    ///
    /// # Errors
    /// Returns [`AcquireError::TimedOut`], and the errors of [`Lock::acquire`].
    pub async fn acquire_timeout(&self, patience: Duration) -> Result<Guard, AcquireError> {
        self.contest.acquire_timeout(patience).await
    }
}
