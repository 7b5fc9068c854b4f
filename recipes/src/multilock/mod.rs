//! The multi-lock (recipe rule 2.18): several exclusive locks, all of them or none.
//!
//! # Contract
//!
//! The locks are acquired one after the other, in the textual order of their paths, whatever the order in which the
//! caller names them. There is no deadlock as long as all clients follow this order, and no client holds one of them
//! while it waits for the others in another way.
//!
//! *All in one session.* All locks are granted in one session. If the session ends while one of the locks is waited
//! for, those acquired before are lost with it, and the attempt fails ([`AcquireError::SessionExpired`]).
//!
//! *All or none.* An attempt that fails, takes too long or is dropped releases the locks that it has, the last one
//! first. Everything else is as with the exclusive [lock](crate::lock), for each lock: it has a token of its own,
//! losses are noticed late, and each release wakes one waiter.
//!
//! The recipe's observations are [`LockSeen`](crate::contention::LockSeen), for each lock, and [`MultiLockSeen`]. Its
//! properties are in [`properties`], its published mistakes are [`Mutant`]s.
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
    /// In the caller's order.
    directories: Vec<Arc<str>>,
    mutants: Mutants,
}

/// Several held locks. Dropping it releases them in the background.
#[derive(Debug)]
#[must_use = "dropping the guard releases the locks"]
pub struct MultiGuard {
    /// In the order in which they were acquired.
    guards: Vec<Guard>,
}

impl MultiLock {
    /// Creates a handle of the locks in these directories. Duplicates are ignored.
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

    /// Waits for all locks without a time limit (recipe rule 2.18.1).
    ///
    /// Cancel-safe: dropping the future releases what was acquired.
    ///
    /// # Errors
    /// Fails like [`Lock::acquire`].
    pub async fn acquire(&self) -> Result<MultiGuard, AcquireError> {
        let mut held = MultiGuard { guards: Vec::with_capacity(self.directories.len()) };
        for directory in self.in_order() {
            let lock = Lock::new(self.zookeeper.clone(), Arc::clone(directory));
            let session = held.guards.first().map(Guard::session);
            let guard = match session.filter(|_| !self.mutants.has(Mutant::LocksOfTwoSessions)) {
                None => lock.acquire().await?,
                // Another session would not hold the first locks.
                Some(session) => match lock.acquire_in(session).await {
                    Err(AcquireError::SessionExpired) => {
                        drop(held);
                        // A caller that retries immediately must get a new session.
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

    /// Returns the directories in the order in which they are acquired, each once.
    fn in_order(&self) -> Vec<&Arc<str>> {
        let mut directories: Vec<&Arc<str>> = self.directories.iter().collect();
        if !self.mutants.has(Mutant::CallersOrder) {
            directories.sort();
            directories.dedup();
        }
        directories
    }

    /// Waits for all locks, but not longer than `patience`.
    ///
    /// # Errors
    /// Returns [`AcquireError::TimedOut`], and the errors of [`MultiLock::acquire`].
    pub async fn acquire_timeout(&self, patience: Duration) -> Result<MultiGuard, AcquireError> {
        let acquired = self.zookeeper.timeout(patience, self.acquire()).await;
        acquired.unwrap_or(Err(AcquireError::TimedOut))
    }
}

impl MultiGuard {
    /// Returns the guards of the locks, in the order in which they were acquired.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// Releases the locks, the last one first.
    ///
    /// Cancel-safe: the remaining locks are released in the background.
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

/// Releases the last lock first.
impl Drop for MultiGuard {
    fn drop(&mut self) {
        while self.guards.pop().is_some() {}
    }
}
