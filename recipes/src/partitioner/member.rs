//! A member in one session: it works with what it holds, releases what does not belong to it any more, and waits for
//! what has come to belong to it.

use super::{Mutant, PartitionSeen, Partitioner, Share, allocation, lock_of};
use crate::contention::{AcquireError, FencingToken, Guard};
use crate::lock::Lock;
use crate::membership::Group;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, ZooKeeper, race};
use vivarium_model::id::SessionId;
use vivarium_model::zxid::Zxid;

/// See the module.
pub(super) struct Member<'a> {
    partitioner: &'a Partitioner,
    session: SessionId,
    id: &'a str,
}

/// An attempt to acquire an item's lock. Dropping it gives up.
type Attempt = Pin<Box<dyn Future<Output = Result<Guard, AcquireError>> + Send>>;

/// The items that a member waits for.
type Attempts = BTreeMap<Arc<str>, Attempt>;

/// The items that a member holds.
type Held = BTreeMap<Arc<str>, Guard>;

impl<'a> Member<'a> {
    pub(super) fn new(partitioner: &'a Partitioner, session: SessionId, id: &'a str) -> Member<'a> {
        Member { partitioner, session, id }
    }

    /// Works until the work is done.
    ///
    /// # Errors
    /// Returns `SessionExpired` or the server's refusal of a path.
    pub(super) async fn work<T, F>(
        &self,
        group: &Group,
        work: &impl Fn(Share) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = T>,
    {
        let mut held = Held::new();
        let mut attempts = Attempts::new();
        let mut view = group.view(Some(self.id)).await?;
        let mut own = self.own(view.members());
        loop {
            self.begin_attempts(&own, &held, &mut attempts);
            let is_waiting = !attempts.is_empty();
            let mut working = Some(Box::pin(self.use_share(self.share(&own, &held), work)));
            let looks_away = is_waiting && self.has(Mutant::ChangeDuringAcquireLost);
            let changed = async {
                if looks_away { std::future::pending().await } else { view.changed().await }
            };
            let working_on = working.as_mut().expect("it was just begun");
            let event = race(changed, race(first(&mut attempts), working_on)).await;
            if !self.has(Mutant::ReleaseBeforeStop) {
                working = None;
            }
            match event {
                Either::Left(changed) => {
                    changed?;
                    own = self.own(view.members());
                    attempts.retain(|item, _| own.contains(item));
                    if !self.has(Mutant::StopWithoutRelease) {
                        self.give_back(&own, &mut held).await;
                    }
                }
                Either::Right(Either::Left((item, acquired))) => {
                    held.insert(item, acquired.map_err(error)?);
                    if looks_away && attempts.is_empty() {
                        view = group.view(Some(self.id)).await?;
                    }
                }
                Either::Right(Either::Right(output)) => {
                    attempts.clear();
                    self.give_back(&[], &mut held).await;
                    return Ok(output);
                }
            }
            drop(working);
        }
    }

    /// Returns the items that belong to this member, given the list of members.
    fn own(&self, members: &[Arc<str>]) -> Vec<Arc<str>> {
        let id = match members.first() {
            Some(first) if self.has(Mutant::OwnOrder) => first,
            _ => self.id,
        };
        allocation(&self.partitioner.items, members, id)
    }

    /// Returns the usable part of these items: those whose lock the member holds (recipe rule 2.19.3).
    fn share(&self, own: &[Arc<str>], held: &Held) -> Share {
        if self.has(Mutant::ShareWithoutLock) {
            return Share::of(own.iter().map(|item| (Arc::clone(item), FencingToken(Zxid::ZERO))));
        }
        let used = held.iter().filter(|(item, _)| own.contains(item));
        Share::of(used.map(|(item, guard)| (Arc::clone(item), guard.token())))
    }

    /// Uses a share until the work is done or dropped.
    async fn use_share<T, F>(&self, share: Share, work: &impl Fn(Share) -> F) -> T
    where
        F: Future<Output = T>,
    {
        let Partitioner { zookeeper, directory, .. } = self.partitioner;
        let _in_use = InUse::begin(zookeeper, directory, &share);
        work(share).await
    }

    /// Begins an attempt for each missing item separately, so that an item whose last user does not answer does not
    /// delay the others.
    fn begin_attempts(&self, own: &[Arc<str>], held: &Held, attempts: &mut Attempts) {
        for item in own {
            if held.contains_key(item) || attempts.contains_key(item) {
                continue;
            }
            let directory = lock_of(&self.partitioner.directory, item);
            let zookeeper = self.partitioner.zookeeper.clone();
            let (lock, session) = (Lock::new(zookeeper, directory), self.session);
            // In this session, like the membership: in the next one, the share may differ.
            let attempt = async move { lock.acquire_in(session).await };
            attempts.insert(Arc::clone(item), Box::pin(attempt));
        }
    }

    /// Releases items that do not belong to this member and are not in use any more (recipe rule 2.19.4).
    async fn give_back(&self, own: &[Arc<str>], held: &mut Held) {
        while let Some(item) = held.keys().find(|item| !own.contains(item)).cloned() {
            if let Some(guard) = held.remove(&item) {
                guard.release().await;
            }
        }
    }

    fn has(&self, mutant: Mutant) -> bool {
        self.partitioner.mutants.has(mutant)
    }
}

/// Removes and returns the first attempt that ends; waits for ever if there is none.
async fn first(attempts: &mut Attempts) -> (Arc<str>, Result<Guard, AcquireError>) {
    let (item, acquired) = poll_fn(|context| {
        for (item, attempt) in attempts.iter_mut() {
            if let Poll::Ready(acquired) = attempt.as_mut().poll(context) {
                return Poll::Ready((Arc::clone(item), acquired));
            }
        }
        Poll::Pending
    })
    .await;
    attempts.remove(&item);
    (item, acquired)
}

fn error(error: AcquireError) -> Error {
    match error {
        AcquireError::SessionExpired => Error::SessionExpired,
        AcquireError::Refused(error) => error,
        AcquireError::TimedOut => unreachable!("nothing was said of how long to wait"),
    }
}

/// A share in use, until it is dropped.
struct InUse<'a> {
    zookeeper: &'a ZooKeeper,
    partition: &'a Arc<str>,
}

impl<'a> InUse<'a> {
    fn begin(zookeeper: &'a ZooKeeper, partition: &'a Arc<str>, share: &Share) -> InUse<'a> {
        let items = share.items().map(|(item, _)| Arc::from(item)).collect();
        zookeeper.observe(PartitionSeen::Uses { partition: Arc::clone(partition), items });
        InUse { zookeeper, partition }
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let partition = Arc::clone(self.partition);
        self.zookeeper.observe(PartitionSeen::Stops { partition });
    }
}
