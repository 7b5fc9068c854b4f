//! A cache of one znode.

use super::engine::Engine;
use super::{CacheEvent, Cached, Extent};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;

/// A local copy of one znode, which need not exist. See the [module](super) for its contract.
pub struct NodeCache(Engine);

impl NodeCache {
    /// Creates a cache of this znode. It is empty until [`NodeCache::next`] is awaited.
    pub fn new(zookeeper: ZooKeeper, path: impl Into<Arc<str>>) -> NodeCache {
        NodeCache(Engine::new(zookeeper, path.into(), Extent::Node))
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: super::Mutants) -> NodeCache {
        NodeCache(self.0.with_mutants(mutants))
    }

    /// Returns the next event, across sessions, and applies it to the copy.
    ///
    /// Cancel-safe: the next call continues to wait.
    ///
    /// # Errors
    /// Returns the server's refusal to let the znode be read; `NotReadOnly` at a read-only server.
    pub async fn next(&mut self) -> Result<CacheEvent, Error> {
        self.0.next().await
    }

    /// Returns the znode in the copy; `None` if it does not exist or was not read yet.
    pub fn get(&self) -> Option<&Cached> {
        self.0.content().values().next()
    }

    /// Returns true if this session's synchronisation is complete.
    pub fn is_initialized(&self) -> bool {
        self.0.is_initialized()
    }
}
