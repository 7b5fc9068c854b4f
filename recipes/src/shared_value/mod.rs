//! A shared value (recipe rule 2.15): one znode holds a value that clients follow and replace by compare-and-set.
//!
//! # Contract
//!
//! *Writing* follows [`AtomicValue`]. [`SharedValue::try_set`] writes under the version that was read. [`Verdict::Set`]
//! means that the value was written once, over exactly the expected one; [`Verdict::Refused`] that it was not and never
//! will be; [`Verdict::Unknown`] that it was written once or not at all, which is returned only if as many other writes
//! have followed as the znode keeps ids. [`SharedValue::set`] replaces the value once, whatever it is. All of that
//! holds under every fault and across sessions (SV1, SV2). A client that is refused has seen an old value, and reads
//! again; no client waits.
//!
//! *Following* is that of a [`NodeCache`]: [`SharedValue::changed`] returns values in the order of their zxids, the
//! client's own among them, but may skip a value that is replaced quickly. When no client writes any more, the last
//! value returned is the current one. Every write wakes every follower. A followed value may be outdated when the
//! client replaces it: the version guards against that.
//!
//! The znode must not be deleted and created again: its version would start again, and an old write could match.
//!
//! *Cancelling is safe.* `changed` may be dropped and called again. A write that is dropped half-way was made once or
//! not at all.
//!
//! # Use
//!
//! ```
//! use vivarium_model::error::Error;
//! use vivarium_model::handle::ZooKeeper;
//! use vivarium_recipes::counter::{Verdict, number};
//! use vivarium_recipes::shared_value::SharedValue;
//!
//! /// Raises the limit, unless another client changes it meanwhile.
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

/// A value that clients follow. See the module for its contract.
pub struct SharedValue {
    zookeeper: ZooKeeper,
    path: Arc<str>,
    value: AtomicValue,
    cache: NodeCache,
}

impl SharedValue {
    /// Opens the value in this znode, which [`SharedValue::get`] creates if it is missing. Waits for a session.
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

    /// Sets how many change ids the znode keeps, like [`AtomicValue::keeping`].
    #[must_use]
    pub fn keeping(self, ids: u8) -> SharedValue {
        SharedValue { value: self.value.keeping(ids), ..self }
    }

    /// Reads the value from the server that the client is connected to.
    ///
    /// # Errors
    /// The server refuses the read.
    pub async fn get(&mut self) -> Result<Current, Error> {
        self.value.get().await
    }

    /// Returns the value that was returned last; `None` before the first one, and if the znode does not exist.
    pub fn current(&self) -> Option<Current> {
        self.znode().map(|znode| Current::decode(&znode.data, znode.version))
    }

    /// Returns the znode as of the value that was returned last.
    pub fn znode(&self) -> Option<&Cached> {
        self.cache.get()
    }

    /// Waits for another value; the first call returns the present one. Returns `None` if the znode was deleted or does
    /// not exist yet.
    ///
    /// Cancel-safe: the next call continues to wait.
    ///
    /// # Errors
    /// The server refuses the read.
    pub async fn changed(&mut self) -> Result<Option<Current>, Error> {
        loop {
            match self.cache.next().await? {
                // The initialization is only news if there is no znode.
                CacheEvent::Initialized if self.cache.get().is_some() => {}
                _ => return Ok(self.current()),
            }
        }
    }

    /// Replaces the value, unless it differs from the expected one (recipe rule 2.15.5).
    ///
    /// A call that is dropped half-way has replaced the value once or not at all.
    ///
    /// # Errors
    /// The server refuses the read or the write.
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
    /// A call that is dropped half-way has replaced the value once or not at all.
    ///
    /// # Errors
    /// The server refuses the read or the write.
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
