//! The partitioner of a set (recipe rule 2.19): each item is used by one member of a group, and each member uses its
//! share.
//!
//! # Contract
//!
//! Whoever takes part ([`Partitioner::take_part`]) joins a [group](crate::membership). What its share is follows from the
//! items and the list of members alone ([`allocation`]), so all that see the same members agree. As long as they do not,
//! each item's [lock](crate::lock) decides: whoever uses an item holds its lock.
//!
//! *Handing over.* When the members change, each stops using what is not its own any more, *then* releases it, and
//! waits for what has become its own. Items that it keeps stay locked, but the work is begun anew with the new share: it
//! is dropped at its await point. Work that has started something beside itself must stop that when it is dropped.
//!
//! *All items, soon.* When the members change no more and are connected, every item is used (PT2). A member that has
//! died keeps its items until its session ends, and nobody else's are delayed by that.
//!
//! *At most one* holds up to zombies, as with the lock: a member learns late that its session is over. Where that
//! matters, the item's fencing token ([`Share::token`]) keeps it out. A lock's znode that is deleted by hand is not
//! noticed before the share changes.
//!
//! *One set.* Whoever comes first writes down which items are divided; who divides others is refused
//! ([`PartitionError::UnequalSets`]). For another set use another directory.
//!
//! *Wake-ups.* Every join and leave wakes every member. A member that comes or goes can move any of the items.
//!
//! *Cancelling is safe.* Dropping [`Partitioner::take_part`] at any await point drops the work first; the locks
//! are released and the group is left in the background.
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
//! What the recipe tells the monitors is [`PartitionSeen`], [`LockSeen`](crate::contention::LockSeen) of each lock, and
//! [`MembershipSeen`](crate::membership::MembershipSeen). Its properties are in [`properties`], its published
//! mistakes are [`Mutant`]s.
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

/// A set that is divided. See the module for its contract.
#[derive(Clone, Debug)]
pub struct Partitioner {
    zookeeper: ZooKeeper,
    directory: Arc<str>,
    /// Sorted, each once.
    items: Arc<[Arc<str>]>,
    mutants: Mutants,
}

/// Why a client takes no part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum PartitionError {
    /// Those who are there divide another set.
    #[error("another set of items is divided there")]
    UnequalSets,
    /// The server refuses a path, of which an item's name and a member's id are parts.
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

/// The znode that says what is divided.
pub(crate) fn set_of(directory: &str) -> String {
    format!("{directory}/items")
}

impl Partitioner {
    /// Divides these items, by znodes in `directory`, which is created where it is missing. An item is named by what can
    /// be the last part of a path; one that is named twice is meant once.
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

    /// Takes part as the member `id`, an id that no other process uses, across sessions. `work` is begun with each
    /// share that the member comes to have, also with an empty one, and is dropped when the share changes or is lost.
    /// When it returns, the member leaves.
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

    /// The first half of [`Partitioner::take_part`] in one session: whether the same set is divided.
    ///
    /// # Errors
    /// `SessionExpired`, or the server's refusal of a path.
    pub(crate) async fn agrees_in(&self, session: SessionId) -> Result<bool, error::Error> {
        self.pinned(session).agrees().await
    }

    /// The second half, where it is. Nothing of the first is needed but that answer.
    ///
    /// # Errors
    /// As [`Partitioner::agrees_in`].
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

    /// Another set is divided.
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
                // Somebody has deleted the member's znode: join again.
                Either::Left(Ok(())) => drop(membership.leave().await),
                Either::Left(Err(error)) | Either::Right(Err(error)) => return Err(error),
                Either::Right(Ok(output)) => {
                    membership.leave().await;
                    return Ok(output);
                }
            }
        }
    }

    /// Writes down what is divided, or reads it (recipe rule 2.19.1).
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
        // Whoever was refused by NodeExists is shown what exists (recipe rule 1.1.3).
        let (data, _) = until_known(zookeeper, || zookeeper.get_data(&set)).await?;
        Ok(*data == *own.as_bytes())
    }
}
