//! The name service (recipe rule 2.1.6): a path is a name, and the znode's content is the address.
//!
//! # Contract
//!
//! A name is bound by one create, and so to one address at a time. The result of [`Names::bind`] is reliable: the
//! content begins with a number that is unique to the attempt, so a create whose reply was lost is not treated as
//! another client's. A [`Binding`] is the right to change or end the binding: no client overwrites a bound name, and
//! ending a binding affects no later one of the same name.
//!
//! A binding remains when its session ends. To remove a name with its owner, use a member of a group
//! ([`crate::membership`]); to follow an address, use a configuration ([`crate::configuration`]).
//!
//! [`Names::resolve`] returns the address at some zxid. A client that knows of a binding from elsewhere uses
//! [`Names::resolve_latest`], which syncs first. None of this wakes any client.
//!
//! *Cancelling*: if [`Names::bind`] is dropped, the name is bound or not; binding it again with the same [`Claim`]
//! tells which, and binds it at most once.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/names.md")]

mod binding;
mod mutant;
#[cfg(feature = "checking")]
pub mod properties;
mod seen;
#[cfg(feature = "checking")]
pub mod worker;

pub use binding::{Binding, Ended};
#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
#[cfg(feature = "checking")]
pub use properties::monitors;
pub use seen::NameSeen;
#[cfg(feature = "checking")]
pub use worker::{NameWork, name_worker};

use crate::helpers::{ensure_path, reconnected, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::op::{CreateMode, Data, Version};
use vivarium_model::zxid::Zxid;

/// Names in one directory. See the module for its contract.
#[derive(Clone, Debug)]
pub struct Names {
    zookeeper: ZooKeeper,
    directory: Arc<str>,
    mutants: Mutants,
}

/// An attempt to bind a name: the same claim never binds it twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    name: Arc<str>,
    /// The znode's content.
    content: Data,
}

/// The result of an attempt to bind a name.
#[derive(Debug)]
pub enum Bind {
    /// The name is bound to the client's own address.
    Bound(Binding),
    /// The name is bound to this address, since this zxid.
    Taken(Arc<str>, Zxid),
}

/// The number of characters of a znode's content that identify the attempt; the address follows.
const NONCE: usize = 16;

impl Names {
    /// Creates a handle of the names in `directory`, which the first binding creates if it is missing.
    pub fn new(zookeeper: ZooKeeper, directory: impl Into<Arc<str>>) -> Names {
        Names { zookeeper, directory: directory.into(), mutants: Mutants::NONE }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> Names {
        Names { mutants, ..self }
    }

    /// Creates a new claim of a name for an address.
    pub async fn claim(&self, name: &str, address: &str) -> Claim {
        let nonce = self.zookeeper.random().await;
        let content = format!("{nonce:016x}{address}").into_bytes().into();
        Claim { name: name.into(), content }
    }

    /// Binds a name unless it is bound.
    ///
    /// # Errors
    /// Returns `SessionExpired`, after which the name may be bound or not, and the same claim may be tried again; or
    /// the server's refusal of a path.
    pub async fn bind(&self, claim: &Claim) -> Result<Bind, Error> {
        let (zookeeper, path) = (&self.zookeeper, self.path(&claim.name));
        loop {
            let mut events = zookeeper.session_events();
            match zookeeper.create(&path, &claim.content, CreateMode::Persistent).await {
                Ok((_, stat)) => return Ok(self.bound(claim, stat.czxid, 0)),
                // If this create was applied, the next one finds its znode.
                Err(Error::ConnectionLoss) => reconnected(&mut events).await?,
                Err(Error::NodeExists) => {
                    if let Some(known) = self.met(&path, claim).await? {
                        return Ok(known);
                    }
                }
                Err(Error::NoNode) => ensure_path(zookeeper, &self.directory).await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the address of a name at some zxid; `None` if it was not bound.
    ///
    /// # Errors
    /// Returns `SessionExpired` or the server's refusal of a path.
    pub async fn resolve(&self, name: &str) -> Result<Option<Arc<str>>, Error> {
        let (zookeeper, path) = (&self.zookeeper, self.path(name));
        match until_known(zookeeper, || zookeeper.get_data(&path)).await {
            Ok((content, stat)) => {
                let (name, address) = (Arc::from(path), address(&content));
                let seen =
                    NameSeen::Resolved { name, address: Arc::clone(&address), mzxid: stat.mzxid };
                zookeeper.observe(seen);
                Ok(Some(address))
            }
            Err(Error::NoNode) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Like [`Names::resolve`], but no older than what any other client had written before the call.
    ///
    /// # Errors
    /// Fails like [`Names::resolve`].
    pub async fn resolve_latest(&self, name: &str) -> Result<Option<Arc<str>>, Error> {
        until_known(&self.zookeeper, || self.zookeeper.sync(&self.directory)).await?;
        self.resolve(name).await
    }

    /// Finds out which claim has bound an existing name; `None` if the name is not bound any more.
    async fn met(&self, path: &str, claim: &Claim) -> Result<Option<Bind>, Error> {
        let zookeeper = &self.zookeeper;
        if self.mutants.has(Mutant::NameOverwritten) {
            let set = || zookeeper.set_data(path, &claim.content, Version::Any);
            return match until_known(zookeeper, set).await {
                Ok(stat) => Ok(Some(self.bound(claim, stat.czxid, stat.version))),
                Err(Error::NoNode) => Ok(None),
                Err(error) => Err(error),
            };
        }
        let (content, stat) = match until_known(zookeeper, || zookeeper.get_data(path)).await {
            Err(Error::NoNode) => return Ok(None),
            known => known?,
        };
        // The address may have changed by now.
        let is_own = content.starts_with(&claim.content[..NONCE]);
        if is_own && !self.mutants.has(Mutant::NameExistsMeansOther) {
            return Ok(Some(self.bound(claim, stat.czxid, stat.version)));
        }
        let (name, czxid) = (Arc::from(path), stat.czxid);
        zookeeper.observe(NameSeen::Taken { name, czxid, own: claim.content.clone() });
        Ok(Some(Bind::Taken(address(&content), czxid)))
    }

    fn bound(&self, claim: &Claim, czxid: Zxid, version: i32) -> Bind {
        let name: Arc<str> = self.path(&claim.name).into();
        let content = claim.content.clone();
        self.zookeeper.observe(NameSeen::Bound { name: Arc::clone(&name), czxid, content });
        Bind::Bound(Binding::new(self, name, claim, version))
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }
}

/// Returns the address in a znode's content.
fn address(content: &[u8]) -> Arc<str> {
    String::from_utf8_lossy(content.get(NONCE..).unwrap_or_default()).into()
}
