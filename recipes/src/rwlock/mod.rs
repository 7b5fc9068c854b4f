//! The read-write lock (recipe rule 2.10): one live writer, or any number of live readers.
//!
//! # Contract
//!
//! Readers and writers line up as at the exclusive [lock](crate::lock), in one directory and in order of arrival. A
//! writer waits for its predecessor, a reader for the nearest *writer* before it. No client overtakes: a reader that
//! comes after a waiting writer waits for it, so neither kind starves.
//!
//! *Wake-ups.* Each waiter watches one znode. When a reader leaves, at most one writer wakes; when a writer leaves,
//! either the readers up to the next writer wake, or that writer: all that wake may continue.
//!
//! *Downgrade.* [`WriteGuard::downgrade`] turns the writer into a reader at the same place of the line, in one
//! transaction: no writer that queued meanwhile gets the lock before or together with it (CURATOR-621). There is no
//! upgrade. Two readers that each wait for the other to leave would wait for ever; a client that may have to write must
//! acquire the lock for writing.
//!
//! Everything else is as with the exclusive lock: what a grant means, when a belief ends, fencing by [`Guard::token`],
//! one attempt in one session, cancelling at any await point. The tokens of *writers* grow from grant to grant; those
//! of readers are not ordered.
//!
//! The recipe's observations are [`LockSeen`], in which a znode's name contains its kind. Its properties are in
//! [`properties`], its published mistakes are [`Mutant`]s.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/rwlock.md")]

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
pub use properties::monitors;
#[cfg(feature = "checking")]
pub use worker::{RwLockWork, Turn, rw_lock_worker};

#[cfg(doc)]
use crate::contention::LockSeen;
use crate::contention::contender;
use crate::contention::{self, AcquireError, Contest, Guard, Kind, Loss, ReadersPlace};
use std::ops::Deref;
use std::sync::Arc;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::op::Data;
use vivarium_model::time::Duration;

/// A read-write lock. See the module for its contract.
#[derive(Clone, Debug)]
pub struct RwLock {
    zookeeper: ZooKeeper,
    directory: Arc<str>,
    mutants: Mutants,
}

/// A lock that is held for reading. Dropping it releases the lock in the background.
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock"]
pub struct ReadGuard(Guard);

/// A lock that is held for writing. Dropping it releases the lock in the background.
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock"]
pub struct WriteGuard {
    guard: Guard,
    mutants: Mutants,
}

impl RwLock {
    /// Creates a handle of the lock in `directory`, which the first attempt creates if it is missing.
    pub fn new(zookeeper: ZooKeeper, directory: impl Into<Arc<str>>) -> RwLock {
        RwLock { zookeeper, directory: directory.into(), mutants: Mutants::NONE }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> RwLock {
        RwLock { mutants, ..self }
    }

    /// Waits until it may read, without a time limit.
    ///
    /// Cancel-safe: dropping the future withdraws from the line.
    ///
    /// # Errors
    /// Fails like [`Lock::acquire`](crate::lock::Lock::acquire).
    pub async fn read(&self) -> Result<ReadGuard, AcquireError> {
        Ok(ReadGuard(self.contest(Kind::Read).acquire().await?))
    }

    /// Like [`RwLock::read`], but waits no longer than `patience`.
    ///
    /// # Errors
    /// [`AcquireError::TimedOut`], and those of [`RwLock::read`].
    pub async fn read_timeout(&self, patience: Duration) -> Result<ReadGuard, AcquireError> {
        Ok(ReadGuard(self.contest(Kind::Read).acquire_timeout(patience).await?))
    }

    /// Waits until it may write, without a time limit.
    ///
    /// Cancel-safe: dropping the future withdraws from the line.
    ///
    /// # Errors
    /// Fails like [`Lock::acquire`](crate::lock::Lock::acquire).
    pub async fn write(&self) -> Result<WriteGuard, AcquireError> {
        let guard = self.contest(Kind::Write).acquire().await?;
        Ok(WriteGuard { guard, mutants: self.mutants })
    }

    /// Like [`RwLock::write`], but waits no longer than `patience`.
    ///
    /// # Errors
    /// [`AcquireError::TimedOut`], and those of [`RwLock::write`].
    pub async fn write_timeout(&self, patience: Duration) -> Result<WriteGuard, AcquireError> {
        let guard = self.contest(Kind::Write).acquire_timeout(patience).await?;
        Ok(WriteGuard { guard, mutants: self.mutants })
    }

    fn contest(&self, kind: Kind) -> Contest {
        Contest {
            zookeeper: self.zookeeper.clone(),
            directory: Arc::clone(&self.directory),
            kind,
            predecessor: self.mutants.predecessor(kind),
            data: Data::from(&b""[..]),
            mutants: contention::Mutants::NONE,
        }
    }
}

impl WriteGuard {
    /// Becomes a reader, ahead of everyone who waits by now.
    ///
    /// Cancel-safe: dropping the future releases the lock in the background.
    ///
    /// # Errors
    /// Returns how the lock was lost.
    pub async fn downgrade(self) -> Result<ReadGuard, Loss> {
        let place = match self.mutants.has(Mutant::DowngradeFreshSequence) {
            true => ReadersPlace::Last,
            false => ReadersPlace::Inherited,
        };
        Ok(ReadGuard(self.guard.downgrade(place).await?))
    }

    /// Releases the lock, like [`Guard::release`].
    pub async fn release(self) -> contention::Release {
        self.guard.release().await
    }
}

impl ReadGuard {
    /// Releases the lock, like [`Guard::release`].
    pub async fn release(self) -> contention::Release {
        self.0.release().await
    }
}

impl Deref for ReadGuard {
    type Target = Guard;

    fn deref(&self) -> &Guard {
        &self.0
    }
}

impl Deref for WriteGuard {
    type Target = Guard;

    fn deref(&self) -> &Guard {
        &self.guard
    }
}

impl Mutants {
    /// Returns the rule by which a contender of this kind finds the contender that it waits for.
    fn predecessor(self, kind: Kind) -> contention::Predecessor {
        match kind {
            Kind::Read if self.has(Mutant::ReaderSeesNoWriter) => mutant::nobody,
            Kind::Read if self.has(Mutant::ReaderWaitsForHigherWriter) => mutant::any_other_writer,
            Kind::Write if self.has(Mutant::WriterIgnoresReaders) => mutant::writers_before,
            _ => contender::predecessor,
        }
    }
}
