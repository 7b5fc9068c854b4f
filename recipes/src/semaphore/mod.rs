//! The semaphore (recipe rule 2.14): a limited number of live holders of a permit.
//!
//! # Contract
//!
//! A permit is a *lease*: an ephemeral znode in the directory `leases`. A client that wants a permit first takes the
//! turn, an exclusive [lock] in the directory `turns`. It then creates its lease in a transaction that checks the
//! turn's znode, waits until there are no more leases than permits, and releases the turn. So leases are created one at
//! a time, and permits are granted in order of arrival.
//!
//! *One session.* Turn and lease belong to one session, because the transaction checks that. Otherwise a client that
//! lost its turn could create a lease in the next session, and two such clients would count each other's leases and
//! wait for ever although all permits are free.
//!
//! *Wake-ups.* The holder of the turn wakes when a lease is created or deleted; all others wait for the turn.
//!
//! *All clients must agree* on the number of permits. It is an argument, which the recipe does not compare between
//! clients.
//!
//! The meaning of a [`Permit`], its token, its loss and the effect of dropped futures are as with the lock. Tokens grow
//! in the order in which leases were created; with more than one permit, a resource must not refuse a smaller one for
//! that reason.
//!
//! The recipe's observations are [`LockSeen`], of both directories. Its properties are in [`properties`], its published
//! mistakes are [`Mutant`]s.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/semaphore.md")]

mod mutant;
#[cfg(feature = "checking")]
pub mod properties;
#[cfg(feature = "checking")]
pub mod worker;

#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
#[cfg(feature = "checking")]
pub use properties::{monitors, monitors_of_a_service};
#[cfg(feature = "checking")]
pub use worker::{SemaphoreWork, semaphore_worker};

#[cfg(doc)]
use crate::contention::LockSeen;
use crate::contention::contender;
use crate::contention::{AcquireError, FencedError, Guard, LeaseAttempt, Loss};
use crate::helpers::{ensure_path, next_session};
#[cfg(feature = "checking")]
use crate::lock;
use crate::lock::Lock;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::time::Duration;

/// A semaphore. See the module for its contract.
#[derive(Clone, Debug)]
pub struct Semaphore {
    zookeeper: ZooKeeper,
    turns: Arc<str>,
    leases: Arc<str>,
    permits: u32,
    mutants: Mutants,
}

/// A permit, held by a lease. Dropping it gives it back in the background.
pub type Permit = Guard;

impl Semaphore {
    /// Creates a handle of the semaphore in `directory`, with this number of permits. The first attempt creates missing
    /// directories.
    pub fn new(zookeeper: ZooKeeper, directory: &str, permits: u32) -> Semaphore {
        let (turns, leases) = (turns(directory).into(), leases(directory).into());
        Semaphore { zookeeper, turns, leases, permits, mutants: Mutants::NONE }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> Semaphore {
        Semaphore { mutants, ..self }
    }

    /// Waits for a permit, without a time limit.
    ///
    /// Cancel-safe: dropping the future gives up the turn and the lease.
    ///
    /// # Errors
    /// Fails like [`Lock::acquire`]; also with [`AcquireError::Refused`] of `BadArguments` if the number of permits is
    /// 0.
    pub async fn acquire(&self) -> Result<Permit, AcquireError> {
        if self.permits == 0 {
            return Err(AcquireError::Refused(Error::BadArguments));
        }
        if self.mutants.has(Mutant::CountThenCreate) {
            return self.count_then_create().await;
        }
        loop {
            let turn = self.turns().acquire().await?;
            match self.take(&turn).await {
                Ok(permit) => {
                    turn.release().await;
                    return Ok(permit);
                }
                Err(FencedError::Lost(Loss::SessionEnded)) => {
                    // A caller that retries immediately must get a new session.
                    let session = turn.session();
                    drop(turn);
                    next_session(&self.zookeeper, session).await;
                    return Err(AcquireError::SessionExpired);
                }
                // Another client deleted the znode of the turn, or the lease.
                Err(FencedError::Lost(Loss::NodeDeleted)) => {}
                Err(
                    FencedError::Operation { error: Error::NoNode, .. }
                    | FencedError::Failed(Error::NoNode),
                ) => self.make_leases(&turn).await?,
                Err(FencedError::Operation { error, .. } | FencedError::Failed(error)) => {
                    return Err(AcquireError::Refused(error));
                }
            }
        }
    }

    /// Like [`Semaphore::acquire`], but waits no longer than `patience`.
    ///
    /// # Errors
    /// [`AcquireError::TimedOut`], and those of [`Semaphore::acquire`].
    pub async fn acquire_timeout(&self, patience: Duration) -> Result<Permit, AcquireError> {
        let acquired = self.zookeeper.timeout(patience, self.acquire()).await;
        acquired.unwrap_or(Err(AcquireError::TimedOut))
    }

    /// The lock whose holder may create a lease.
    fn turns(&self) -> Lock {
        let lock = Lock::new(self.zookeeper.clone(), Arc::clone(&self.turns));
        #[cfg(feature = "checking")]
        if self.mutants.has(Mutant::InnerLockLeak) {
            return lock.with_mutants(lock::Mutant::LeakOnCancel.into());
        }
        lock
    }

    /// Creates a lease, and waits until it is a permit.
    async fn take(&self, turn: &Guard) -> Result<Permit, FencedError> {
        let leaks = self.mutants.has(Mutant::LeaseLeakOnCancel);
        let leases = Arc::clone(&self.leases);
        let straddles = self.mutants.has(Mutant::SessionStraddle);
        let mut attempt = match straddles {
            true => LeaseAttempt::in_present_session(turn, leases, leaks).await,
            false => LeaseAttempt::begin(turn, leases, leaks),
        };
        let lease = attempt.create((!straddles).then_some(turn)).await?;
        let failed = |error| match error {
            Error::SessionExpired => FencedError::Lost(Loss::SessionEnded),
            error => FencedError::Failed(error),
        };
        loop {
            let mut leases = attempt.count().await.map_err(failed)?;
            if !leases.has_own {
                return Err(FencedError::Lost(Loss::NodeDeleted));
            }
            if leases.count <= self.permits as usize {
                return Ok(attempt.grant(lease));
            }
            leases.watch.changed().await.map_err(failed)?;
        }
    }

    async fn make_leases(&self, turn: &Guard) -> Result<(), AcquireError> {
        let zookeeper = self.zookeeper.scope(turn.session());
        Ok(ensure_path(&zookeeper, &self.leases).await?)
    }

    /// The mutant: a client that counts a free permit creates a lease without holding the turn.
    async fn count_then_create(&self) -> Result<Permit, AcquireError> {
        let session = self.zookeeper.connect().await;
        let zookeeper = self.zookeeper.scope(session);
        let id: Arc<str> = format!("{:016x}", zookeeper.random().await).into();
        let expired = |_| AcquireError::SessionExpired;
        ensure_path(&zookeeper, &self.leases).await?;
        let mut attempt = LeaseAttempt::of(zookeeper, session, Arc::clone(&self.leases), id, false);
        loop {
            let mut leases = attempt.count().await?;
            if leases.count < self.permits as usize {
                let lease = attempt.create(None).await.map_err(expired)?;
                return Ok(attempt.grant(lease));
            }
            leases.watch.changed().await?;
        }
    }
}

/// The directory of the turn's lock.
pub(crate) fn turns(directory: &str) -> String {
    contender::child(directory, "turns")
}

/// The directory of the leases.
pub(crate) fn leases(directory: &str) -> String {
    contender::child(directory, "leases")
}
