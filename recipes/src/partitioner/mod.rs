//! The partitioner of a set (recipe rule 2.19): each item is used by one member of a group, and each member uses its
//! share.
//!
//! # Contract
//!
//! A member ([`Partitioner::take_part`]) joins a [group](crate::membership). Its share is a function of the items and
//! the list of members only ([`allocation`]), so members that see the same list agree. While their lists differ, each
//! item's [lock](crate::lock) decides: a member uses an item only while it holds its lock.
//!
//! *Handing over.* When the members change, each member stops using the items that are no longer in its share, *then*
//! releases them, and waits for its new ones. Items that it keeps stay locked, but the work is started again with the
//! new share: it is dropped at its await point. Work that has started background tasks must stop them when it is
//! dropped.
//!
//! *All items, soon.* When the members no longer change and are connected, every item is used (PT2). A dead member
//! keeps its items until its session ends, which delays no other item.
//!
//! *At most one* member uses an item, except for zombies, as with the lock: a member learns late that its session is
//! over. Where that matters, the item's fencing token ([`Share::token`]) keeps a zombie out. A member does not notice
//! that a lock's znode was deleted by hand before the share changes.
//!
//! *One set.* The first member records which items are divided; a member with other items is refused
//! ([`PartitionError::UnequalSets`]). Use another directory for another set.
//!
//! *Wake-ups.* Every join and leave wakes every member, and can move any of the items.
//!
//! *Cancelling is safe.* Dropping [`Partitioner::take_part`] at any await point drops the work first; then the locks
//! are released and the member leaves the group in the background.
//!
//! ```
//! use std::future::pending;
//! use vivarium_model::handle::ZooKeeper;
//! use vivarium_recipes::partitioner::{PartitionError, Partitioner};
//!
//! /// Works on its shards for as long as the process lives.
//! async fn shards(zookeeper: ZooKeeper, host: &str) -> Result<(), PartitionError> {
//!     let shards = ["shard-a", "shard-b", "shard-c"].map(Into::into);
//!     let partitioner = Partitioner::new(zookeeper, "/app/shards", shards);
//!     partitioner
//!         .take_part(host, |share| async move {
//!             for (shard, token) in share.items() {
//!                 println!("serving {shard} by {token}");
//!             }
//!             pending().await
//!         })
//!         .await
//! }
//! # let _ = shards;
//! ```
//!
//! The recipe reports [`PartitionSeen`], the [`LockSeen`](crate::contention::LockSeen) of each lock, and
//! [`MembershipSeen`](crate::membership::MembershipSeen) to the monitors. Its properties are in [`properties`], its
//! published mistakes are [`Mutant`]s.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/partitioner.md")]

mod member;
mod mutant;
#[cfg(feature = "checking")]
pub mod properties;
mod seen;
mod share;
#[cfg(feature = "checking")]
pub mod worker;

#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
#[cfg(feature = "checking")]
pub use properties::monitors;
pub use seen::PartitionSeen;
pub use share::{Share, allocation};
#[cfg(feature = "checking")]
pub use worker::{PartitionWork, partition_worker};

use crate::helpers::{ensure_path, in_sessions, until_known};
use crate::membership::Group;
use member::Member;
use std::future::Future;
use std::sync::Arc;
use thiserror::Error;
use vivarium_model::error;
use vivarium_model::handle::{Either, ZooKeeper, race};
use vivarium_model::id::SessionId;
use vivarium_model::op::CreateMode;

/// A set of items that is divided among members. See the module for its contract.
#[derive(Clone, Debug)]
pub struct Partitioner {
    zookeeper: ZooKeeper,
    directory: Arc<str>,
    /// Sorted, without duplicates.
    items: Arc<[Arc<str>]>,
    mutants: Mutants,
}

/// The reason why a client cannot take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum PartitionError {
    /// The present members divide another set.
    #[error("another set of items is divided there")]
    UnequalSets,
    /// The server refuses a path, which contains an item's name or a member's id.
    #[error("the partition's directory cannot be used: {0}")]
    Refused(error::Error),
}

/// The directory of the members.
pub(crate) fn members(directory: &str) -> String {
    format!("{directory}/members")
}

/// The directory of an item's lock.
pub(crate) fn lock_of(directory: &str, item: &str) -> String {
    format!("{directory}/locks/{item}")
}

/// The znode that records the divided items.
pub(crate) fn set_of(directory: &str) -> String {
    format!("{directory}/items")
}

impl Partitioner {
    /// Divides these items, by znodes in `directory`, which is created if it is missing. An item's name must be valid
    /// as the last component of a path; duplicates count once.
    pub fn new(
        zookeeper: ZooKeeper,
        directory: impl Into<Arc<str>>,
        items: impl IntoIterator<Item = Arc<str>>,
    ) -> Partitioner {
        let mut items: Vec<Arc<str>> = items.into_iter().collect();
        items.sort();
        items.dedup();
        Partitioner {
            zookeeper,
            directory: directory.into(),
            items: items.into(),
            mutants: Mutants::NONE,
        }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> Partitioner {
        Partitioner { mutants, ..self }
    }

    /// Takes part as the member `id`, an id that no other process uses, across sessions. `work` is started with each
    /// share that the member gets, also with an empty one, and is dropped when the share changes or is lost. When it
    /// returns, the member leaves.
    ///
    /// Cancel-safe: dropping the future stops the work, and leaves in the background.
    ///
    /// # Errors
    /// [`PartitionError`].
    pub async fn take_part<T, F>(
        &self,
        id: &str,
        work: impl Fn(Share) -> F,
    ) -> Result<T, PartitionError>
    where
        F: Future<Output = T>,
    {
        if id.is_empty() || id.contains('/') {
            return Err(PartitionError::Refused(error::Error::BadArguments));
        }
        let work = &work;
        let done = in_sessions(&self.zookeeper, |_pinned, session| async move {
            match self.agrees_in(session).await? {
                true => self.work_in(session, id, work).await.map(Some),
                false => Ok(None),
            }
        });
        match done.await {
            Ok(Some(output)) => Ok(output),
            Ok(None) => Err(self.refused()),
            Err(refused) => Err(PartitionError::Refused(refused)),
        }
    }

    /// The first half of [`Partitioner::take_part`] in one session: returns true if the same set is divided.
    ///
    /// # Errors
    /// `SessionExpired`, or the server's refusal of a path.
    pub(crate) async fn agrees_in(&self, session: SessionId) -> Result<bool, error::Error> {
        self.pinned(session).agrees().await
    }

    /// The second half of [`Partitioner::take_part`] in one session, which needs nothing from the first half but its
    /// answer.
    ///
    /// # Errors
    /// Fails like [`Partitioner::agrees_in`].
    pub(crate) async fn work_in<T, F>(
        &self,
        session: SessionId,
        id: &str,
        work: &impl Fn(Share) -> F,
    ) -> Result<T, error::Error>
    where
        F: Future<Output = T>,
    {
        self.pinned(session).work_as_member(session, id, work).await
    }

    /// Reports that another set is divided, and returns that error.
    pub(crate) fn refused(&self) -> PartitionError {
        let partition = Arc::clone(&self.directory);
        self.zookeeper.observe(PartitionSeen::Refused { partition });
        PartitionError::UnequalSets
    }

    fn pinned(&self, session: SessionId) -> Partitioner {
        Partitioner { zookeeper: self.zookeeper.scope(session), ..self.clone() }
    }

    async fn work_as_member<T, F>(
        &self,
        session: SessionId,
        id: &str,
        work: &impl Fn(Share) -> F,
    ) -> Result<T, error::Error>
    where
        F: Future<Output = T>,
    {
        let directory = members(&self.directory);
        let group = Group::new(self.zookeeper.clone(), directory);
        loop {
            let membership = group.join(session, id).await?;
            let member = Member::new(self, session, id);
            let ended = race(membership.lost(), member.work(&group, work)).await;
            match ended {
                // Another client deleted the member's znode: join again.
                Either::Left(Ok(())) => drop(membership.leave().await),
                Either::Left(Err(error)) | Either::Right(Err(error)) => return Err(error),
                Either::Right(Ok(output)) => {
                    membership.leave().await;
                    return Ok(output);
                }
            }
        }
    }

    /// Records the divided items, or compares them with the recorded ones (recipe rule 2.19.1).
    async fn agrees(&self) -> Result<bool, error::Error> {
        let (zookeeper, set) = (&self.zookeeper, set_of(&self.directory));
        let own = self.items.join("\n");
        loop {
            let create = || zookeeper.create(&set, own.as_bytes(), CreateMode::Persistent);
            match until_known(zookeeper, create).await {
                Ok(_) => return Ok(true),
                Err(error::Error::NodeExists) => break,
                Err(error::Error::NoNode) => ensure_path(zookeeper, &self.directory).await?,
                Err(error) => return Err(error),
            }
        }
        if self.mutants.has(Mutant::UnequalSets) {
            return Ok(true);
        }
        // A client that got `NodeExists` sees the existing znode in its next read (recipe rule 1.1.3).
        let (data, _) = until_known(zookeeper, || zookeeper.get_data(&set)).await?;
        Ok(*data == *own.as_bytes())
    }
}
