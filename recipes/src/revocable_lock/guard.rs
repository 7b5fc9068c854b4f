//! What the owner of a revocable lock has of it.

use super::{Mutant, Mutants, RevocationSeen, is_request, note};
use crate::contention::{Content, Guard, Loss, Release};
use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use vivarium_model::handle::{Either, ZooKeeper, race};
use vivarium_model::op::Version;
use vivarium_model::zxid::Zxid;

/// A revocable lock that is held. Dropping it releases the lock in the background, and whatever is asked of it
/// by then nobody is told.
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock"]
pub struct RevocableGuard {
    guard: Guard,
    owner: Owner,
}

/// What an owner is told of requests.
#[derive(Debug)]
struct Owner {
    zookeeper: ZooKeeper,
    lock: Arc<str>,
    mutants: Mutants,
    /// Set once.
    told: OnceLock<()>,
}

/// Why work under a revocable lock has ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interruption {
    /// Somebody asks for the lock. It is still held.
    Asked,
    /// The lock is lost.
    Lost(Loss),
}

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interruption::Asked => f.write_str("somebody asks for the lock"),
            Interruption::Lost(loss) => loss.fmt(f),
        }
    }
}

/// What has become of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Noted {
    /// It stands in the owner's znode.
    Written,
    /// Somebody asks for the lock; a request is not written over.
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

    /// Whether the owner was told that somebody asks for the lock.
    pub fn is_asked(&self) -> bool {
        self.owner.told.get().is_some()
    }

    /// Resolves when somebody asks for the lock (recipe rule 2.11.2). Only what is awaited can resolve: await it
    /// beside the work ([`RevocableGuard::unless_asked`]).
    ///
    /// Cancel-safe.
    ///
    /// # Errors
    /// How the lock was lost, if it is first.
    pub async fn asked(&self) -> Result<(), Loss> {
        if self.is_asked() {
            // Not at once: a loop over a lock that is asked for must not spin.
            self.owner.zookeeper.now().await;
            return Ok(());
        }
        if self.has(Mutant::RevokeReadBeforeCreate) {
            // It has read when there was no znode, and that left no watch.
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

    /// Does `work` until it is done, somebody asks for the lock, or it is lost; then `work` is dropped at its await
    /// point.
    ///
    /// # Errors
    /// Which of the two it was.
    pub async fn unless_asked<F: Future>(&self, work: F) -> Result<F::Output, Interruption> {
        match race(self.asked(), work).await {
            Either::Left(Ok(())) => Err(Interruption::Asked),
            Either::Left(Err(loss)) => Err(Interruption::Lost(loss)),
            Either::Right(output) => Ok(output),
        }
    }

    /// Writes something about the owner into its znode, for people to read: who it is, how far it has come.
    ///
    /// Cancel-safe: it is written or not.
    ///
    /// # Errors
    /// How the lock was lost.
    pub async fn note(&self, text: &str) -> Result<Noted, Loss> {
        let data = note(text);
        loop {
            let Content { data: found, version, .. } = self.content().await?;
            if is_request(&found) {
                self.owner.tell(self.guard.token().0);
                return Ok(Noted::Asked);
            }
            // A request that came since is not written over (recipe rule 2.11.3).
            let version = match self.has(Mutant::RevokeNoteOverwrites) {
                true => Version::Any,
                false => Version::Is(version),
            };
            if self.guard.write_content(&data, version).await? {
                return Ok(Noted::Written);
            }
        }
    }

    /// Releases the lock, as [`Guard::release`], and says whether the owner was told of a request by then: every
    /// request is told that was written before the znode was deleted (recipe rule 2.11.4).
    ///
    /// Cancel-safe: dropping the future leaves the rest to the background, and a request of that time untold.
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
