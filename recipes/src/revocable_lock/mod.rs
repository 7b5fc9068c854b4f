//! The revocable lock (recipe rule 2.11): an exclusive lock whose owner can be asked to give it back.
//!
//! # Contract
//!
//! Everything of the exclusive [lock](crate::lock) holds. A client that wants the lock writes a request into the
//! owner's znode ([`RevocableLock::ask`]), and the owner is notified ([`RevocableGuard::asked`]).
//!
//! *Consent.* The owner decides whether and when it gives the lock back: it may have something to finish first. No
//! other client deletes its znode, unless the lock is used with force ([`RevocableLock::take`]): then the owner has a
//! grace time from the moment at which the request was written. An owner whose lock was taken away may not know yet. It
//! is a zombie, like an owner whose session has ended, until it is notified
//! ([`Guard::lost`](crate::contention::Guard::lost)), and two clients can believe to hold the lock although both
//! sessions are open. Where that matters, the fencing token keeps the zombie out. All clients that share the lock must
//! agree on whether force is used.
//!
//! *No request is lost.* A request is written under the version that was read, into the znode of the first in line. The
//! znode's name contains the id of the owner's attempt, so no later owner gets the request. An owner learns of a
//! request that is in its znode when it first reads it, of later ones, and at its release of those that came until the
//! delete, which is refused for a znode that has been written meanwhile. Only an owner that drops its guard, or the
//! future of the release, can miss a request.
//!
//! *One request is enough.* Every client writes the same request. A client that finds one need not write it, and a
//! client that lost a reply writes again.
//!
//! *Wake-ups.* A request, and a note of the owner ([`RevocableGuard::note`]), wake the owner and the next one in line,
//! which checks whether it is its turn. Taking the lock away wakes these two and every client that waited for the grace
//! time.
//!
//! *Cancelling is safe* at any await point. A dropped [`RevocableLock::ask`] has written its request or not.
//!
//! ```
//! use vivarium_model::handle::ZooKeeper;
//! use vivarium_recipes::contention::AcquireError;
//! use vivarium_recipes::revocable_lock::RevocableLock;
//!
//! /// Works in the background, until another client has urgent work.
//! async fn background(zookeeper: ZooKeeper, work: impl Future<Output = ()>) -> Result<(), AcquireError> {
//!     let lock = RevocableLock::new(zookeeper, "/locks/disk");
//!     let guard = lock.acquire().await?;
//!     // Whether the work is done, the lock is requested or lost: the lock is given back.
//!     let _ = guard.unless_asked(work).await;
//!     guard.release().await;
//!     Ok(())
//! }
//!
//! /// Does urgent work.
//! async fn urgent(zookeeper: ZooKeeper) -> Result<(), AcquireError> {
//!     let lock = RevocableLock::new(zookeeper, "/locks/disk");
//!     lock.ask().await?;
//!     let guard = lock.acquire().await?;
//!     guard.release().await;
//!     Ok(())
//! }
//! # let _ = (|zookeeper| background(zookeeper, std::future::ready(())), urgent);
//! ```
//!
//! The recipe reports [`LockSeen`](crate::contention::LockSeen) and [`RevocationSeen`] to the monitors. Its properties
//! are in [`properties`], its published mistakes are [`Mutant`]s.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/revocable-lock.md")]
#![doc = include_str!("../../explored/revocable-lock-by-force.md")]

mod guard;
mod mutant;
#[cfg(feature = "checking")]
pub mod properties;
mod revoker;
mod seen;
#[cfg(feature = "checking")]
pub mod worker;

pub use guard::{Interruption, Noted, RevocableGuard};
#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
#[cfg(feature = "checking")]
pub use properties::{Force, monitors};
pub use revoker::{Request, Taking};
pub use seen::RevocationSeen;
#[cfg(feature = "checking")]
pub use worker::{RevocableWork, Turn, revocable_lock_worker};

use crate::contention::AcquireError;
use crate::lock::Lock;
use std::sync::Arc;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::time::Duration;

/// The request in an owner's znode: the word that ZooKeeper's recipes page uses.
pub(crate) const REQUEST: &[u8] = b"unlock";

/// The prefix of an owner's note, so that no note can be taken for a request.
const NOTE: &[u8] = b"note ";

/// A revocable lock. See the module for its contract.
#[derive(Clone, Debug)]
pub struct RevocableLock {
    zookeeper: ZooKeeper,
    directory: Arc<str>,
    mutants: Mutants,
}

impl RevocableLock {
    /// Creates a handle of the lock in `directory`, which the first attempt creates if it is missing.
    pub fn new(zookeeper: ZooKeeper, directory: impl Into<Arc<str>>) -> RevocableLock {
        RevocableLock { zookeeper, directory: directory.into(), mutants: Mutants::NONE }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> RevocableLock {
        RevocableLock { mutants, ..self }
    }

    /// Waits for the lock, without a time limit.
    ///
    /// Cancel-safe: dropping the future withdraws from the line.
    ///
    /// # Errors
    /// Fails like [`Lock::acquire`].
    pub async fn acquire(&self) -> Result<RevocableGuard, AcquireError> {
        let lock = Lock::new(self.zookeeper.clone(), Arc::clone(&self.directory));
        let guard = lock.acquire().await?;
        let (zookeeper, directory) = (self.zookeeper.clone(), Arc::clone(&self.directory));
        Ok(RevocableGuard::new(zookeeper, directory, guard, self.mutants))
    }

    /// Like [`RevocableLock::acquire`], but waits no longer than `patience`.
    ///
    /// Cancel-safe like [`RevocableLock::acquire`].
    ///
    /// # Errors
    /// [`AcquireError::TimedOut`], and those of [`RevocableLock::acquire`].
    pub async fn acquire_timeout(
        &self,
        patience: Duration,
    ) -> Result<RevocableGuard, AcquireError> {
        let acquired = self.zookeeper.timeout(patience, self.acquire()).await;
        acquired.unwrap_or(Err(AcquireError::TimedOut))
    }
}

/// Returns true if this content is a request (recipe rule 2.11.1).
pub(crate) fn is_request(data: &[u8]) -> bool {
    data == REQUEST
}

/// Encodes a note as the content of an owner's znode.
fn note(text: &str) -> Vec<u8> {
    [NOTE, text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_note_is_a_request() {
        assert!(is_request(REQUEST));
        for text in ["", "unlock", "note unlock"] {
            assert!(!is_request(&note(text)), "{text}");
        }
        assert!(!is_request(b""));
    }
}
