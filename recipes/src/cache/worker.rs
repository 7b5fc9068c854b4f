//! A program that has a cache and changes the tree, for scenarios and as an example.

use super::{CacheEvent, CacheSeen, Cached, ChildrenCache, Extent, Mutants, NodeCache, TreeCache};
use crate::helpers::{ensure_deleted, in_sessions, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, Program, Round, ZooKeeper, race, rounds};
use vivarium_model::op::{CreateMode, Op, Version};
use vivarium_model::time::Duration;

/// A change of the tree. A step that does not fit the tree changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Creates the persistent znode.
    Create(Arc<str>),
    /// Creates the znode as an ephemeral of the session.
    CreateEphemeral(Arc<str>),
    /// Writes the znode's data.
    Set(Arc<str>),
    /// Deletes the znode.
    Delete(Arc<str>),
    /// Deletes the znode and creates it again in one transaction.
    Replace(Arc<str>),
    /// Deletes the znode and its descendants, one after the other.
    DeleteAll(Arc<str>),
}

/// Configures a [`cache_worker`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheWork {
    /// The znode that the worker caches.
    pub root: Arc<str>,
    /// The part of the tree that the cache holds.
    pub extent: Extent,
    /// The changes that the worker makes, one after the other, before it opens the cache.
    pub before: Vec<Step>,
    /// The changes that the worker makes while it has the cache, in the same session.
    pub beside: Vec<Step>,
    /// How long the worker waits before each change.
    pub pause: Duration,
    /// How long the worker keeps the cache after the last change; `None` if it opens none.
    pub follow: Option<Duration>,
    /// Whether the engine may cancel waiting for the next event; the worker then waits again.
    pub cancel: bool,
    /// Whether to close the session at the end.
    pub close: bool,
    /// The mutants.
    pub mutants: Mutants,
}

/// Returns a program that changes the tree, and then has a cache for some time.
///
/// The program fails with the server's error for a path.
pub fn cache_worker(work: CacheWork) -> Program {
    rounds(0usize, move |zookeeper, step| {
        let work = work.clone();
        async move {
            let Some(what) = work.before.get(step) else {
                follow(&zookeeper, &work).await.map_err(|error| error.to_string())?;
                if work.close {
                    zookeeper.close().await;
                }
                return Ok(Round::Done);
            };
            let data = format!("{}.{step}", zookeeper.client().0);
            take(&zookeeper, work.pause, what, data.as_bytes())
                .await
                .map_err(|error| error.to_string())?;
            Ok(Round::Again(step + 1))
        }
    })
}

async fn follow(zookeeper: &ZooKeeper, work: &CacheWork) -> Result<(), Error> {
    let Some(span) = work.follow else { return Ok(()) };
    let following = async {
        let mut cache = Cache::new(zookeeper, work);
        loop {
            if work.cancel {
                let next = zookeeper.cancellable(cache.next()).await;
                let Ok(next) = next else { continue };
                next?;
            } else {
                cache.next().await?;
            }
            let (root, znodes) = (Arc::clone(&work.root), cache.content());
            zookeeper.observe(CacheSeen::Content { root, znodes });
        }
    };
    let beside = async {
        for (number, step) in work.beside.iter().enumerate() {
            let data = format!("{}.{}", zookeeper.client().0, work.before.len() + number);
            take(zookeeper, work.pause, step, data.as_bytes()).await?;
        }
        zookeeper.sleep(span).await;
        Ok(())
    };
    match race(following, beside).await {
        Either::Left(ended) | Either::Right(ended) => ended,
    }
}

async fn take(
    zookeeper: &ZooKeeper,
    pause: Duration,
    step: &Step,
    data: &[u8],
) -> Result<(), Error> {
    if !pause.is_zero() {
        zookeeper.sleep(pause).await;
    }
    in_sessions(zookeeper, |zookeeper, _| async move {
        match change(&zookeeper, step, data).await {
            // Another client made this change first, or this one did and lost the reply.
            Err(Error::NoNode | Error::NodeExists | Error::NotEmpty) => Ok(()),
            Err(Error::NoChildrenForEphemerals) => Ok(()),
            done => done,
        }
    })
    .await
}

async fn change(zookeeper: &ZooKeeper, step: &Step, data: &[u8]) -> Result<(), Error> {
    match step {
        Step::Create(path) => {
            let create = || zookeeper.create(path, data, CreateMode::Persistent);
            until_known(zookeeper, create).await.map(drop)
        }
        Step::CreateEphemeral(path) => {
            let create = || zookeeper.create(path, data, CreateMode::Ephemeral);
            until_known(zookeeper, create).await.map(drop)
        }
        Step::Set(path) => {
            let set = || zookeeper.set_data(path, data, Version::Any);
            until_known(zookeeper, set).await.map(drop)
        }
        Step::Delete(path) => ensure_deleted(zookeeper, path).await,
        Step::Replace(path) => {
            let replace = || async {
                let delete = Op::delete(Arc::clone(path), Version::Any);
                let create = Op::create(Arc::clone(path), data, CreateMode::Persistent);
                zookeeper.multi(vec![delete, create]).await.map_err(|failed| failed.error)
            };
            until_known(zookeeper, replace).await.map(drop)
        }
        Step::DeleteAll(path) => delete_all(zookeeper, path).await,
    }
}

/// Deletes a znode and its descendants, children first.
async fn delete_all(zookeeper: &ZooKeeper, path: &str) -> Result<(), Error> {
    let mut open = vec![path.to_string()];
    while let Some(path) = open.last() {
        let names = match until_known(zookeeper, || zookeeper.get_children(path)).await {
            Err(Error::NoNode) => Vec::new(),
            names => names?,
        };
        if names.is_empty() {
            ensure_deleted(zookeeper, path).await?;
            open.pop();
            continue;
        }
        let children: Vec<String> = names.iter().map(|name| format!("{path}/{name}")).collect();
        open.extend(children);
    }
    Ok(())
}

enum Cache {
    Node(Arc<str>, NodeCache),
    Children(Arc<str>, ChildrenCache),
    Tree(TreeCache),
}

impl Cache {
    fn new(zookeeper: &ZooKeeper, work: &CacheWork) -> Cache {
        let (zookeeper, root, mutants) = (zookeeper.clone(), Arc::clone(&work.root), work.mutants);
        let path = Arc::clone(&root);
        match work.extent {
            Extent::Node => {
                Cache::Node(path, NodeCache::new(zookeeper, root).with_mutants(mutants))
            }
            Extent::Children => {
                Cache::Children(path, ChildrenCache::new(zookeeper, root).with_mutants(mutants))
            }
            Extent::Tree => Cache::Tree(TreeCache::new(zookeeper, root).with_mutants(mutants)),
        }
    }

    async fn next(&mut self) -> Result<CacheEvent, Error> {
        match self {
            Cache::Node(_, cache) => cache.next().await,
            Cache::Children(_, cache) => cache.next().await,
            Cache::Tree(cache) => cache.next().await,
        }
    }

    /// Returns the whole copy, sorted by path.
    fn content(&self) -> Vec<(Arc<str>, Cached)> {
        match self {
            Cache::Node(path, cache) => {
                cache.get().map(|znode| (Arc::clone(path), znode.clone())).into_iter().collect()
            }
            Cache::Children(parent, cache) => {
                let path = |name: &str| super::event::child(parent, name);
                cache.children().map(|(name, znode)| (path(name), znode.clone())).collect()
            }
            Cache::Tree(cache) => {
                cache.znodes().map(|(path, znode)| (Arc::clone(path), znode.clone())).collect()
            }
        }
    }
}
