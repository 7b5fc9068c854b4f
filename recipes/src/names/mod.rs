//! The name service (recipe rule 2.1.6): a path is a name, the znode's content is the address.
//!
//! # Contract
//!
//! A name is bound by one create, and so to one address at a time. [`Names::bind`] tells the truth: its
//! content begins with a number that is fresh for the attempt, so a create whose reply was lost is not
//! taken for somebody else's. A [`Binding`] is the right to change or end it: nobody overwrites a name that is
//! bound, and what is ended is this binding, and no later one of the same name.
//!
//! A binding stays when its session ends. A name that should go with its owner is a member of a group
//! ([`crate::membership`]); an address that is to be followed is a configuration ([`crate::configuration`]).
//!
//! [`Names::resolve`] tells what the name was at some zxid. Whoever has heard of a binding by another way asks
//! for [`Names::resolve_latest`], which is behind a sync. Nobody is woken by any of this.
//!
//! *Cancelling*: dropping [`Names::bind`] leaves the name bound or not; binding it again with the same
//! [`Claim`] tells, and makes at most one.
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
use vivarium_model::op::{CreateMode, Version};
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
    content: Arc<[u8]>,
}

/// What became of an attempt to bind a name.
#[derive(Debug)]
pub enum Bind {
    /// It is bound to one's own address.
    Bound(Binding),
    /// It is bound to this one, since that zxid.
    Taken(Arc<str>, Zxid),
}

/// So many characters of a znode's content say which attempt has bound it; then comes the address.
const NONCE: usize = 16;

impl Names {
    /// The names in `directory`, which the first binding creates where it is missing.
    pub fn new(zookeeper: ZooKeeper, directory: impl Into<Arc<str>>) -> Names {
        Names { zookeeper, directory: directory.into(), mutants: Mutants::NONE }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> Names {
        Names { mutants, ..self }
    }

    /// A fresh claim of a name for an address.
    pub async fn claim(&self, name: &str, address: &str) -> Claim {
        let nonce = self.zookeeper.random().await;
        let content = format!("{nonce:016x}{address}").into_bytes().into();
        Claim { name: name.into(), content }
    }

    /// Binds a name, unless it is bound.
    ///
    /// # Errors
    /// `SessionExpired`, after which it may be bound or not, and the same claim may be tried again; the server's
    /// refusal of a path.
    pub async fn bind(&self, claim: &Claim) -> Result<Bind, Error> {
        let (zookeeper, path) = (&self.zookeeper, self.path(&claim.name));
        loop {
            let mut events = zookeeper.session_events();
            match zookeeper.create(&path, &claim.content, CreateMode::Persistent).await {
                Ok((_, stat)) => return Ok(self.bound(claim, stat.czxid, 0)),
                // The next create is told of this one, if it has happened.
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

    /// The address of a name at some zxid; `None` where it was not bound.
    ///
    /// # Errors
    /// `SessionExpired`, or the server's refusal of a path.
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

    /// The same, and no older than what any other client had written before the call.
    ///
    /// # Errors
    /// As [`Names::resolve`].
    pub async fn resolve_latest(&self, name: &str) -> Result<Option<Arc<str>>, Error> {
        until_known(&self.zookeeper, || self.zookeeper.sync(&self.directory)).await?;
        self.resolve(name).await
    }

    /// The name is there: by whom? `None` where it is not there any more.
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
        // The address may be another by now.
        let is_own = content.starts_with(&claim.content[..NONCE]);
        if is_own && !self.mutants.has(Mutant::NameExistsMeansOther) {
            return Ok(Some(self.bound(claim, stat.czxid, stat.version)));
        }
        let (name, czxid) = (Arc::from(path), stat.czxid);
        zookeeper.observe(NameSeen::Taken { name, czxid, own: Arc::clone(&claim.content) });
        Ok(Some(Bind::Taken(address(&content), czxid)))
    }

    fn bound(&self, claim: &Claim, czxid: Zxid, version: i32) -> Bind {
        let name: Arc<str> = self.path(&claim.name).into();
        let content = Arc::clone(&claim.content);
        self.zookeeper.observe(NameSeen::Bound { name: Arc::clone(&name), czxid, content });
        Bind::Bound(Binding::new(self, name, claim, version))
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }
}

/// The address in a znode's content.
fn address(content: &[u8]) -> Arc<str> {
    String::from_utf8_lossy(content.get(NONCE..).unwrap_or_default()).into()
}
