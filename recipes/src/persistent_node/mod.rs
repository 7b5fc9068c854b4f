//! The persistent node (recipe rule 2.17.1): an ephemeral znode that is kept in existence across sessions.
//!
//! # Contract
//!
//! While [`PersistentNode::keep`] runs, the znode exists with its data whenever the client has been connected for a
//! while: it is recreated in each session, and when another client deletes it, and its data is restored when another
//! client changes it. A znode of another session with the same name is an earlier incarnation's, or another client's
//! mistake: it is replaced in one transaction, and never adopted, because it would vanish with that session.
//!
//! After [`PersistentNode::close`] it is gone, and remains gone: a create that was in flight when `keep` was dropped is
//! settled first. When the session ends, the servers delete it.
//!
//! `keep` may be dropped at any await point; the znode then exists until `close`, or until its session ends. Changes of
//! the znode wake only its keeper.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/persistent-node.md")]

mod mutant;
#[cfg(feature = "checking")]
pub mod properties;
mod seen;
#[cfg(feature = "checking")]
pub mod worker;

#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
#[cfg(feature = "checking")]
pub use properties::monitors;
pub use seen::PersistentSeen;
#[cfg(feature = "checking")]
pub use worker::{PersistentWork, Role, persistent_worker};

use crate::helpers::{ensure_path, in_sessions, reconnected, settle, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::id::SessionId;
use vivarium_model::op::{CreateMode, Data, Op, Version};
use vivarium_model::path;

/// A znode that is kept in existence. See the module for its contract.
#[derive(Clone, Debug)]
pub struct PersistentNode {
    zookeeper: ZooKeeper,
    path: Arc<str>,
    data: Data,
    mutants: Mutants,
}

impl PersistentNode {
    /// Creates a handle of the znode of this path with this data, without a request.
    pub fn new(
        zookeeper: ZooKeeper,
        path: impl Into<Arc<str>>,
        data: impl Into<Data>,
    ) -> PersistentNode {
        PersistentNode { zookeeper, path: path.into(), data: data.into(), mutants: Mutants::NONE }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> PersistentNode {
        PersistentNode { mutants, ..self }
    }

    /// Keeps the znode in existence as long as this runs.
    ///
    /// # Errors
    /// Returns the server's refusal of the path; it ends in no other way.
    pub async fn keep(&self) -> Error {
        let (path, data) = (Arc::clone(&self.path), self.data.clone());
        self.zookeeper.observe(PersistentSeen::Keeps { path, data });
        let kept: Result<(), Error> = in_sessions(&self.zookeeper, |zookeeper, session| {
            let node = PersistentNode { zookeeper, ..self.clone() };
            async move { node.attend_for_ever(session).await }
        })
        .await;
        kept.expect_err("it never ends well")
    }

    /// Makes sure that the znode is gone, in the present session. No [`PersistentNode::keep`] may run.
    ///
    /// # Errors
    /// Returns `SessionExpired`; the servers then delete the znode.
    pub async fn close(&self) -> Result<(), Error> {
        self.zookeeper.observe(PersistentSeen::Closes { path: Arc::clone(&self.path) });
        let session = self.zookeeper.connect().await;
        let zookeeper = self.zookeeper.scope(session);
        if !self.mutants.has(Mutant::PersistentCloseWithoutSettle) {
            settle(&zookeeper).await?;
        }
        loop {
            let stat = until_known(&zookeeper, || zookeeper.exists(&self.path)).await?;
            if stat.is_none_or(|stat| stat.ephemeral_owner != Some(session)) {
                return Ok(());
            }
            let mut events = zookeeper.session_events();
            match zookeeper.delete(&self.path, Version::Any).await {
                Ok(()) | Err(Error::NoNode) => return Ok(()),
                Err(Error::ConnectionLoss) => {
                    reconnected(&mut events).await?;
                    settle(&zookeeper).await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn attend_for_ever(&self, session: SessionId) -> Result<(), Error> {
        loop {
            self.attend(session).await?;
        }
    }

    /// Checks the znode once: corrects it, or waits until another client changes it.
    async fn attend(&self, session: SessionId) -> Result<(), Error> {
        let zookeeper = &self.zookeeper;
        let read = until_known(zookeeper, || zookeeper.get_data_watch(&self.path)).await;
        let (data, stat, mut watch) = match read {
            Err(Error::NoNode) => return self.create().await,
            known => known?,
        };
        let is_own = stat.ephemeral_owner == Some(session);
        if !is_own && !self.mutants.has(Mutant::PersistentAdopts) {
            return self.replace(stat.version).await;
        }
        if data != self.data && !self.mutants.has(Mutant::PersistentDataNotRestored) {
            let set = || zookeeper.set_data(&self.path, &self.data, Version::Is(stat.version));
            return changed_meanwhile(until_known(zookeeper, set).await.map(drop));
        }
        watch.changed().await?;
        if self.mutants.has(Mutant::PersistentNotRecreated) {
            // The mutant does not recreate a znode that was seen to be gone, until the session ends.
            while until_known(zookeeper, || zookeeper.exists_watch(&self.path)).await?.0.is_none() {
                let (_, mut watch) =
                    until_known(zookeeper, || zookeeper.exists_watch(&self.path)).await?;
                watch.changed().await?;
            }
        }
        Ok(())
    }

    /// Creates the znode; the next look tells whether this has succeeded.
    async fn create(&self) -> Result<(), Error> {
        let zookeeper = &self.zookeeper;
        let create = || zookeeper.create(&self.path, &self.data, CreateMode::Ephemeral);
        match until_known(zookeeper, create).await {
            Err(Error::NoNode) => match path::parent(&self.path) {
                Some(parent) => ensure_path(zookeeper, parent).await,
                None => Err(Error::NoNode),
            },
            other => changed_meanwhile(other.map(drop)),
        }
    }

    /// Replaces another session's znode (recipe rule 2.17.1).
    async fn replace(&self, version: i32) -> Result<(), Error> {
        let zookeeper = &self.zookeeper;
        let ops = vec![
            Op::delete(Arc::clone(&self.path), Version::Is(version)),
            Op::create(Arc::clone(&self.path), self.data.clone(), CreateMode::Ephemeral),
        ];
        let mut events = zookeeper.session_events();
        let replaced = zookeeper.multi(ops).await.map(drop).map_err(Error::from);
        if replaced == Err(Error::ConnectionLoss) {
            return reconnected(&mut events).await;
        }
        changed_meanwhile(replaced)
    }
}

/// Another client was faster: look again.
fn changed_meanwhile(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(Error::NoNode | Error::NodeExists | Error::BadVersion) => Ok(()),
        other => other,
    }
}
