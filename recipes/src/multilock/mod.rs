//! The multi-lock (recipe rule 2.18): several exclusive locks, all of them or none.
//!
//! # Contract
//!
//! The locks are acquired one after the other, by their paths in the order of text, whatever the order in which
//! they are named. As long as everybody goes by that order, and nobody holds one of them while waiting for the
//! others in another way, there is no deadlock.
//!
//! *All in one session.* What is granted together is of one session. Where the session ends while one of the
//! locks is waited for, those acquired before are lost with it, and so is the attempt
//! ([`AcquireError::SessionExpired`]).
//!
//! *All or none.* An attempt that fails, takes too long or is dropped gives back what it has, the last one
//! first. Everything else is as with the exclusive [lock](crate::lock), of each of them: a token each, losses
//! that are noticed late, wake-ups of one waiter for each release.
//!
//! What the recipe tells the monitors is [`LockSeen`](crate::contention::LockSeen), of each lock, and
//! [`MultiLockSeen`]. Its properties are in [`properties`], its published mistakes are [`Mutant`]s.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/multilock.md")]

mod mutant;
#[cfg(feature = "checking")]
pub mod properties;
mod seen;
#[cfg(feature = "checking")]
pub mod worker;

#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
#[cfg(feature = "checking")]
pub use properties::monitors;
pub use seen::{HeldLock, MultiLockSeen};
#[cfg(feature = "checking")]
pub use worker::{MultiLockWork, multi_lock_worker};

use crate::contention::{AcquireError, Guard};
use crate::helpers::next_session;
use crate::lock::Lock;
use std::sync::Arc;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::time::Duration;

/// Several locks. See the module for its contract.
#[derive(Clone, Debug)]
pub struct MultiLock {
    zookeeper: ZooKeeper,
    /// As the caller named them.
    directories: Vec<Arc<str>>,
    mutants: Mutants,
}

/// Several locks that are held. Dropping it releases them in the background.
#[derive(Debug)]
#[must_use = "dropping the guard releases the locks"]
pub struct MultiGuard {
    /// In the order in which they were acquired.
    guards: Vec<Guard>,
}

impl MultiLock {
    /// The locks in these directories. One that is named twice is meant once.
    pub fn new(zookeeper: ZooKeeper, directories: impl IntoIterator<Item = Arc<str>>) -> MultiLock {
        let directories = directories.into_iter().collect();
        MultiLock { zookeeper, directories, mutants: Mutants::NONE }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> MultiLock {
        MultiLock { mutants, ..self }
    }

    /// Waits for all of the locks, for as long as it takes (recipe rule 2.18.1).
    ///
    /// Cancel-safe: dropping the future gives back what was acquired.
    ///
    /// # Errors
    /// As [`Lock::acquire`].
    pub async fn acquire(&self) -> Result<MultiGuard, AcquireError> {
        let mut held = MultiGuard { guards: Vec::with_capacity(self.directories.len()) };
        for directory in self.in_order() {
            let lock = Lock::new(self.zookeeper.clone(), Arc::clone(directory));
            let session = held.guards.first().map(Guard::session);
            let guard = match session.filter(|_| !self.mutants.has(Mutant::LocksOfTwoSessions)) {
                None => lock.acquire().await?,
                // Another session would not hold the first ones.
                Some(session) => match lock.acquire_in(session).await {
                    Err(AcquireError::SessionExpired) => {
                        drop(held);
                        // A caller that tries again at once shall get a new session.
                        next_session(&self.zookeeper, session).await;
                        return Err(AcquireError::SessionExpired);
                    }
                    acquired => acquired?,
                },
            };
            held.guards.push(guard);
        }
        self.zookeeper.observe(held.seen());
        Ok(held)
    }

    /// The directories in the order in which they are acquired, each once.
    fn in_order(&self) -> Vec<&Arc<str>> {
        let mut directories: Vec<&Arc<str>> = self.directories.iter().collect();
        if !self.mutants.has(Mutant::CallersOrder) {
            directories.sort();
            directories.dedup();
        }
        directories
    }

    /// Waits for all of the locks, but not longer than `patience`.
    ///
    /// # Errors
    /// [`AcquireError::TimedOut`], and those of [`MultiLock::acquire`].
    pub async fn acquire_timeout(&self, patience: Duration) -> Result<MultiGuard, AcquireError> {
        let acquired = self.zookeeper.timeout(patience, self.acquire()).await;
        acquired.unwrap_or(Err(AcquireError::TimedOut))
    }
}

impl MultiGuard {
    /// The guards of the locks, in the order in which they were acquired.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// Releases the locks, the last one first.
    ///
    /// Cancel-safe: what is left is released in the background.
    pub async fn release(mut self) {
        while let Some(guard) = self.guards.pop() {
            guard.release().await;
        }
    }

    fn seen(&self) -> MultiLockSeen {
        let held =
            |guard: &Guard| HeldLock { node: Arc::from(guard.node()), token: guard.token().0 };
        MultiLockSeen::GrantedAll { locks: self.guards.iter().map(held).collect() }
    }
}

/// The last one first.
impl Drop for MultiGuard {
    fn drop(&mut self) {
        while self.guards.pop().is_some() {}
    }
}
