//! The guard of a revocable lock.

use super::{Mutant, Mutants, RevocationSeen, is_request, note};
use crate::contention::{Content, Guard, Loss, Release};
use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use vivarium_model::handle::{Either, ZooKeeper, race};
use vivarium_model::op::Version;
use vivarium_model::zxid::Zxid;

/// A revocable lock that is held. Dropping it releases the lock in the background; a request that it has not read by
/// then is lost.
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock"]
pub struct RevocableGuard {
    guard: Guard,
    owner: Owner,
}

/// What an owner needs to report requests.
#[derive(Debug)]
struct Owner {
    zookeeper: ZooKeeper,
    lock: Arc<str>,
    mutants: Mutants,
    /// Set once, when the owner is first told of a request.
    told: OnceLock<()>,
}

/// The reason why work under a revocable lock has ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interruption {
    /// Another client requests the lock, which is still held.
    Asked,
    /// The lock is lost.
    Lost(Loss),
}

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interruption::Asked => f.write_str("another client asks for the lock"),
            Interruption::Lost(loss) => loss.fmt(f),
        }
    }
}

/// The outcome of writing a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Noted {
    /// The note is in the owner's znode.
    Written,
    /// Another client requests the lock; the request is not overwritten.
    Asked,
}

impl RevocableGuard {
    pub(super) fn new(
        zookeeper: ZooKeeper,
        lock: Arc<str>,
        guard: Guard,
        mutants: Mutants,
    ) -> RevocableGuard {
        let owner = Owner { zookeeper, lock, mutants, told: OnceLock::new() };
        RevocableGuard { guard, owner }
    }

    /// Returns true if the owner has been notified of a request for the lock.
    pub fn is_asked(&self) -> bool {
        self.owner.told.get().is_some()
    }

    /// Resolves when a client requests the lock (recipe rule 2.11.2). It only resolves while it is polled: await it
    /// concurrently with the work ([`RevocableGuard::unless_asked`]).
    ///
    /// Cancel-safe.
    ///
    /// # Errors
    /// Returns how the lock was lost, if that happens first.
    pub async fn asked(&self) -> Result<(), Loss> {
        if self.is_asked() {
            // It yields first, so that a loop over a lock that is requested does not spin.
            self.owner.zookeeper.now().await;
            return Ok(());
        }
        if self.has(Mutant::RevokeReadBeforeCreate) {
            // The mutant has read the znode before it existed, which left no watch.
            return Err(self.guard.lost().await);
        }
        let mut is_first = true;
        loop {
            let Content { data, mut watch, .. } = self.content().await?;
            let is_ignored = is_first && self.has(Mutant::RevokeInitialIgnored);
            if is_request(&data) && !is_ignored {
                self.owner.tell(self.guard.token().0);
                return Ok(());
            }
            if !is_first && self.has(Mutant::RevokeNotRearmed) {
                return Err(self.guard.lost().await);
            }
            is_first = false;
            self.guard.content_changed(&mut watch).await?;
        }
    }

    /// Runs `work` until it completes, another client requests the lock, or the lock is lost; in the last two cases
    /// `work` is dropped at its await point.
    ///
    /// # Errors
    /// Returns which of the two it was.
    pub async fn unless_asked<F: Future>(&self, work: F) -> Result<F::Output, Interruption> {
        match race(self.asked(), work).await {
            Either::Left(Ok(())) => Err(Interruption::Asked),
            Either::Left(Err(loss)) => Err(Interruption::Lost(loss)),
            Either::Right(output) => Ok(output),
        }
    }

    /// Writes a note into the owner's znode, for people to read: who the owner is, or how far it has come.
    ///
    /// Cancel-safe: the note is written or not.
    ///
    /// # Errors
    /// Returns how the lock was lost.
    pub async fn note(&self, text: &str) -> Result<Noted, Loss> {
        let data = note(text);
        loop {
            let Content { data: found, version, .. } = self.content().await?;
            if is_request(&found) {
                self.owner.tell(self.guard.token().0);
                return Ok(Noted::Asked);
            }
            // A request that was written meanwhile is not overwritten (recipe rule 2.11.3).
            let version = match self.has(Mutant::RevokeNoteOverwrites) {
                true => Version::Any,
                false => Version::Is(version),
            };
            if self.guard.write_content(&data, version).await? {
                return Ok(Noted::Written);
            }
        }
    }

    /// Releases the lock like [`Guard::release`]. Also returns true if the owner has been notified of a request by then:
    /// it learns of every request that was written before the znode was deleted (recipe rule 2.11.4).
    ///
    /// Cancel-safe: dropping the future releases the lock in the background, and the owner does not learn of later
    /// requests.
    pub async fn release(self) -> (Release, bool) {
        let RevocableGuard { guard, owner } = self;
        let token = guard.token().0;
        let release = match owner.mutants.has(Mutant::RevokeReleaseBlind) {
            true => guard.release().await,
            false => {
                let tell = |data: &[u8]| {
                    if is_request(data) {
                        owner.tell(token);
                    }
                };
                guard.release_looking(tell).await
            }
        };
        let lock = Arc::clone(&owner.lock);
        owner.zookeeper.observe(RevocationSeen::LetGo { lock, token });
        (release, owner.told.get().is_some())
    }

    fn has(&self, mutant: Mutant) -> bool {
        self.owner.mutants.has(mutant)
    }
}

impl Owner {
    fn tell(&self, token: Zxid) {
        if self.told.set(()).is_ok() {
            let lock = Arc::clone(&self.lock);
            self.zookeeper.observe(RevocationSeen::Told { lock, token });
        }
    }
}

impl Deref for RevocableGuard {
    type Target = Guard;

    fn deref(&self) -> &Guard {
        &self.guard
    }
}
