//! A shared value (recipe rule 2.15): one znode holds a value that everybody follows, and that is replaced by
//! whoever knows what it replaces.
//!
//! # Contract
//!
//! *Writing* is that of [`AtomicValue`]. [`SharedValue::try_set`] writes
//! under the version that was read. [`Verdict::Set`] means that it was written, once, over exactly the value
//! that was expected; [`Verdict::Refused`] that it was not and never will be; [`Verdict::Unknown`] that it was
//! written once or not at all, which is said only when as many others have written since as the znode keeps
//! ids. [`SharedValue::set`] replaces the value whatever it is, once. All of that holds under every fault
//! and across sessions (SV1, SV2). Who is refused has seen an old value, and reads again; nobody waits.
//!
//! *Following* is that of a [`NodeCache`]: [`SharedValue::changed`] tells values in
//! the order of their zxids, one's own among them, and not every one that is replaced at once. When
//! nobody writes any more, the last one told is the one that there is. Every write wakes everybody who
//! follows. A value that was followed may be old when it is written over: that is what the version is for.
//!
//! The znode must not be deleted and made anew: its version would begin again, and an old write could fit.
//!
//! *Cancelling is safe.* `changed` may be dropped and asked again. A write that is dropped half-way was made once
//! or not at all.
//!
//! # Use
//!
//! ```
//! use vivarium_model::error::Error;
//! use vivarium_model::handle::ZooKeeper;
//! use vivarium_recipes::counter::{Verdict, number};
//! use vivarium_recipes::shared_value::SharedValue;
//!
//! /// Raises the limit, unless somebody else changes it meanwhile.
//! async fn raise(zookeeper: ZooKeeper) -> Result<bool, Error> {
//!     let mut limit = SharedValue::open(zookeeper, "/limit").await;
//!     let current = limit.get().await?;
//!     let more = (number(&current.value) + 1).to_string();
//!     Ok(limit.try_set(&current, more.as_bytes()).await? == Verdict::Set)
//! }
//! # let _ = raise;
//! ```
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/shared-value.md")]

#[cfg(feature = "checking")]
mod mutant;
#[cfg(feature = "checking")]
pub mod properties;
mod seen;
#[cfg(feature = "checking")]
pub mod worker;

#[cfg(feature = "checking")]
pub use mutant::Mutants;
#[cfg(feature = "checking")]
pub use properties::monitors;
pub use seen::SharedValueSeen;
#[cfg(feature = "checking")]
pub use worker::{SharedValueWork, shared_value_worker};

use crate::cache::{CacheEvent, Cached, NodeCache};
use crate::counter::{AtomicValue, Changed, Current, Verdict};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;

/// A value that everybody follows. See the module for its contract.
pub struct SharedValue {
    zookeeper: ZooKeeper,
    path: Arc<str>,
    value: AtomicValue,
    cache: NodeCache,
}

impl SharedValue {
    /// The value in this znode, which [`SharedValue::get`] creates where it is missing. Waits for a session.
    pub async fn open(zookeeper: ZooKeeper, path: impl Into<Arc<str>>) -> SharedValue {
        let path = path.into();
        let value = AtomicValue::open(zookeeper.clone(), Arc::clone(&path)).await;
        let cache = NodeCache::new(zookeeper.clone(), Arc::clone(&path));
        SharedValue { zookeeper, path, value, cache }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> SharedValue {
        let Mutants { writing, following } = mutants;
        let (value, cache) = (self.value.with_mutants(writing), self.cache.with_mutants(following));
        SharedValue { value, cache, ..self }
    }

    /// The same, which keeps the ids of so many changes. As [`AtomicValue::keeping`].
    #[must_use]
    pub fn keeping(self, ids: u8) -> SharedValue {
        SharedValue { value: self.value.keeping(ids), ..self }
    }

    /// The value as the server that answers has it.
    ///
    /// # Errors
    /// The server refuses to read it.
    pub async fn get(&mut self) -> Result<Current, Error> {
        self.value.get().await
    }

    /// The value that was told last; `None` before the first, and where there is no znode.
    pub fn current(&self) -> Option<Current> {
        self.znode().map(|znode| Current::decode(&znode.data, znode.version))
    }

    /// The znode as it was when the last value was told.
    pub fn znode(&self) -> Option<&Cached> {
        self.cache.get()
    }

    /// Waits for another value; at first, for the present one. `None` where the znode is gone, or not there yet.
    ///
    /// Cancel-safe: the next call goes on waiting.
    ///
    /// # Errors
    /// The server refuses to let it be read.
    pub async fn changed(&mut self) -> Result<Option<Current>, Error> {
        loop {
            match self.cache.next().await? {
                // No news, unless that there is nothing.
                CacheEvent::Initialized if self.cache.get().is_some() => {}
                _ => return Ok(self.current()),
            }
        }
    }

    /// Replaces the value, unless it is not the expected one any more (recipe rule 2.15.5).
    ///
    /// Dropped half-way, it was replaced once or not at all.
    ///
    /// # Errors
    /// The server refuses to read or to write it.
    pub async fn try_set(&mut self, expected: &Current, value: &[u8]) -> Result<Verdict, Error> {
        let id = self.begin(Some(expected)).await;
        let verdict = self.value.compare_and_set_as(&id, expected, value).await?;
        let path = Arc::clone(&self.path);
        self.zookeeper.observe(match verdict {
            Verdict::Set => SharedValueSeen::Written { path, id },
            Verdict::Refused => SharedValueSeen::Refused { path, id },
            Verdict::Unknown => SharedValueSeen::Unknown { path, id },
        });
        Ok(verdict)
    }

    /// Replaces the value, whatever it is.
    ///
    /// Dropped half-way, it was replaced once or not at all.
    ///
    /// # Errors
    /// The server refuses to read or to write it.
    pub async fn set(&mut self, value: &[u8]) -> Result<Changed, Error> {
        let id = self.begin(None).await;
        let changed = self.value.update_as(&id, |_| value.to_vec()).await?;
        let path = Arc::clone(&self.path);
        self.zookeeper.observe(match changed {
            Changed::Applied => SharedValueSeen::Written { path, id },
            Changed::Unknown => SharedValueSeen::Unknown { path, id },
        });
        Ok(changed)
    }

    async fn begin(&self, expected: Option<&Current>) -> Arc<str> {
        let id = self.value.fresh_id().await;
        let path = Arc::clone(&self.path);
        let expected = expected.map(Current::version);
        self.zookeeper.observe(SharedValueSeen::Writing { path, id: Arc::clone(&id), expected });
        id
    }
}
