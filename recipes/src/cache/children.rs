//! A cache of a znode's children, with their data.

use super::engine::Engine;
use super::event::child;
use super::{CacheEvent, Cached, Extent};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::path;

/// A local copy of the children of a znode, which need not exist. See the [module](super) for its contract.
pub struct ChildrenCache {
    engine: Engine,
    parent: Arc<str>,
}

impl ChildrenCache {
    /// Creates a cache of the children of this znode. It is empty until [`ChildrenCache::next`] is awaited.
    pub fn new(zookeeper: ZooKeeper, parent: impl Into<Arc<str>>) -> ChildrenCache {
        let parent = parent.into();
        let engine = Engine::new(zookeeper, Arc::clone(&parent), Extent::Children);
        ChildrenCache { engine, parent }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: super::Mutants) -> ChildrenCache {
        ChildrenCache { engine: self.engine.with_mutants(mutants), ..self }
    }

    /// Returns the next event, across sessions, and applies it to the copy. The event contains the child's full path.
    ///
    /// Cancel-safe: the next call continues to wait.
    ///
    /// # Errors
    /// Returns the server's refusal to let a znode be read; `NotReadOnly` at a read-only server.
    pub async fn next(&mut self) -> Result<CacheEvent, Error> {
        self.engine.next().await
    }

    /// Returns the children with their names, in lexical order.
    pub fn children(&self) -> impl Iterator<Item = (&str, &Cached)> {
        self.engine.content().iter().map(|(path, znode)| (path::name(path), znode))
    }

    /// Returns the child with this name.
    pub fn get(&self, name: &str) -> Option<&Cached> {
        self.engine.content().get(&child(&self.parent, name))
    }

    /// Returns true if this session's synchronisation is complete.
    pub fn is_initialized(&self) -> bool {
        self.engine.is_initialized()
    }
}
