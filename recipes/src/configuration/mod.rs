//! Configuration with live updates, or publish-subscribe (recipe rule 2.1.1): one znode holds a value, and each
//! subscriber receives the present value and later ones.
//!
//! # Contract
//!
//! A [`Subscription`] delivers values in the order of their zxids, each at most once, and none older than one that it
//! has delivered, also across sessions. Values are distinguished by mzxid, not by version, which restarts when the
//! znode is deleted and recreated (CURATOR-391). The absence of a value is delivered too ([`Setting::Absent`]), and
//! believed in a new session only after a sync, because a lagging server may not have the znode yet.
//!
//! Not every intermediate value is delivered: a value that is replaced before it is read is never seen. When writes
//! stop and the client stays connected, the last value delivered is the present one.
//!
//! Every write wakes all subscribers once: that is inherent. Every read sets a watch, which survives a lost connection:
//! the client sets it again, and a missed change fires it.
//!
//! [`Subscription::next`] may be dropped at any await point and called again without losing a value.
//!
//! *Publishing* ([`Configuration::publish`]) is last-writer-wins, and repeated until its reply is known. If a reply was
//! lost, the value may be written twice, the second time after another publisher's.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/configuration.md")]

mod mutant;
#[cfg(feature = "checking")]
pub mod properties;
mod seen;
mod subscription;
#[cfg(feature = "checking")]
pub mod worker;

#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
#[cfg(feature = "checking")]
pub use properties::monitors;
pub use seen::{ConfigurationSeen, Setting};
pub use subscription::Subscription;
#[cfg(feature = "checking")]
pub use worker::{ConfigurationWork, Step, configuration_worker};

use crate::helpers::{ensure_deleted, ensure_path, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::op::{CreateMode, Version};
use vivarium_model::path;
use vivarium_model::zxid::Zxid;

/// A value that any client may follow. See the module for its contract.
#[derive(Clone, Debug)]
pub struct Configuration {
    zookeeper: ZooKeeper,
    path: Arc<str>,
    mutants: Mutants,
}

impl Configuration {
    /// Creates a handle of the value in the znode of this path, which need not exist.
    pub fn new(zookeeper: ZooKeeper, path: impl Into<Arc<str>>) -> Configuration {
        Configuration { zookeeper, path: path.into(), mutants: Mutants::NONE }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> Configuration {
        Configuration { mutants, ..self }
    }

    /// Follows the value from the present one on, across sessions.
    pub fn subscribe(&self) -> Subscription {
        Subscription::new(self.clone())
    }

    /// Writes a value, and creates the znode if it is missing. Returns the mzxid of the write.
    ///
    /// Cancel-safe: the write may have happened or not.
    ///
    /// # Errors
    /// Returns `SessionExpired`, after which the write may have happened or not; or the server's refusal of the path.
    pub async fn publish(&self, value: &[u8]) -> Result<Zxid, Error> {
        let (zookeeper, path) = (&self.zookeeper, &self.path);
        loop {
            let set = || zookeeper.set_data(path, value, Version::Any);
            match until_known(zookeeper, set).await {
                Ok(stat) => return Ok(stat.mzxid),
                Err(Error::NoNode) => {}
                Err(error) => return Err(error),
            }
            let create = || zookeeper.create(path, value, CreateMode::Persistent);
            match until_known(zookeeper, create).await {
                Ok((_, stat)) => return Ok(stat.mzxid),
                // Another client created it, or this one did and the reply was lost: the value is written again.
                Err(Error::NodeExists) => {}
                Err(Error::NoNode) => match path::parent(path) {
                    Some(parent) => ensure_path(zookeeper, parent).await?,
                    None => return Err(Error::NoNode),
                },
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes the value.
    ///
    /// # Errors
    /// Fails like [`Configuration::publish`].
    pub async fn remove(&self) -> Result<(), Error> {
        ensure_deleted(&self.zookeeper, &self.path).await
    }
}
