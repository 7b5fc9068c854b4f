//! A cache of a subtree.

use super::engine::Engine;
use super::{CacheEvent, Cached, Extent};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::path;

/// A local copy of a znode, which need not exist, and of all its descendants. See the [module](super) for its
/// contract.
pub struct TreeCache(Engine);

impl TreeCache {
    /// Creates a cache of this znode and its descendants. It is empty until [`TreeCache::next`] is awaited.
    pub fn new(zookeeper: ZooKeeper, root: impl Into<Arc<str>>) -> TreeCache {
        TreeCache(Engine::new(zookeeper, root.into(), Extent::Tree))
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: super::Mutants) -> TreeCache {
        TreeCache(self.0.with_mutants(mutants))
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

    /// Returns all znodes of the copy with their paths, in the order of paths.
    pub fn znodes(&self) -> impl Iterator<Item = (&Arc<str>, &Cached)> {
        self.0.content().iter()
    }

    /// Returns the znode with this path.
    pub fn get(&self, path: &str) -> Option<&Cached> {
        self.0.content().get(path)
    }

    /// Returns the children of a znode with their paths.
    pub fn children<'a>(
        &'a self,
        parent: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Cached)> {
        self.znodes().filter(move |(path, _)| path::parent(path) == Some(parent))
    }

    /// Returns true if this session's synchronisation is complete.
    pub fn is_initialized(&self) -> bool {
        self.0.is_initialized()
    }
}
