//! The exclusive lock (recipe rule 2.8): at most one live holder, in order of arrival.
//!
//! # Contract
//!
//! A lock is a directory. Every attempt to acquire it makes one ephemeral, sequential znode in it,
//! whose name begins with an id that is fresh for the attempt, and waits until no znode with a lower
//! sequence number is left. It waits for the nearest lower one only, so that a deletion wakes one
//! waiter.
//!
//! *What a grant means.* At some moment of the committed history the holder's znode was the first in
//! line, so no other session that is still open holds the lock. It does **not** mean that nobody
//! else *believes* to hold it: a program learns of the end of its session only afterwards, a paused
//! one much later. Whoever cannot bear that for a moment must check the fencing token
//! ([`Guard::token`]) where the work is done, or do the work inside ZooKeeper under
//! [`Guard::fenced`]. Both are exact.
//!
//! *When a belief ends.* [`Guard::lost`] resolves on the notice that the session has ended, and when
//! the lock's znode is seen to be deleted. It does not resolve on a mere disconnection: the session,
//! and with it the lock, may live on, and most disconnections are short. A holder that must stop
//! earlier has to watch [`ZooKeeper::session_events`] itself.
//!
//! *One attempt, one session.* An attempt is pinned to the session in which it began. When that
//! session ends, the attempt ends with [`AcquireError::SessionExpired`]: its znode belongs to the
//! old session and is never adopted by another (CURATOR-498). Acquiring again begins a new session.
//!
//! *Cancelling is safe.* Futures of this module may be dropped at any await point. Dropping
//! [`Lock::acquire`] hands the duty to delete the attempt's znode, also one whose create is still
//! in flight, to a task beside the program, which repeats until it is done or the session is over.
//! Dropping a [`Guard`], or the future of [`Guard::release`], does the same for the release. These
//! tasks live as long as the program: one that ends should close its session, which takes all of
//! its znodes along.
//!
//! What the recipe tells the monitors is a [`LockSeen`]; its properties are those of all that line up
//! ([`contention::properties`](crate::contention::properties)), its
//! published mistakes are [`Mutant`]s. How an attempt is made is [`contention`](crate::contention)'s.
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
pub use monitors::monitors;
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
    /// The lock in `directory`, which the first attempt creates where it is missing. A path that is
    /// not valid is refused by the server when the lock is acquired.
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

    /// Waits for the lock, for as long as it takes. Begins a new session if the last one is over.
    ///
    /// Somebody may delete a waiter's znode from outside; the attempt then lines up again, last.
    ///
    /// Cancel-safe: dropping the future withdraws from the line.
    ///
    /// # Errors
    /// [`AcquireError::SessionExpired`] and [`AcquireError::Refused`].
    pub async fn acquire(&self) -> Result<Guard, AcquireError> {
        self.contest.acquire().await
    }

    /// Waits for the lock in this session, and in no other.
    pub(crate) async fn acquire_in(&self, session: SessionId) -> Result<Guard, AcquireError> {
        self.contest.acquire_in(session).await
    }

    /// Waits for the lock, but not longer than `patience`.
    ///
    /// Cancel-safe as [`Lock::acquire`].
    ///
    /// # Errors
    /// [`AcquireError::TimedOut`], and those of [`Lock::acquire`].
    pub async fn acquire_timeout(&self, patience: Duration) -> Result<Guard, AcquireError> {
        self.contest.acquire_timeout(patience).await
    }
}
