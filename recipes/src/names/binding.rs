//! The right to change or to end a binding.

use super::{Claim, NONCE, Names};
use crate::helpers::{reconnected, settle, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::op::{Data, Version};

/// A bound name. Dropping this value does not unbind it.
#[derive(Debug)]
pub struct Binding {
    zookeeper: ZooKeeper,
    path: Arc<str>,
    /// The beginning of the znode's content.
    nonce: Arc<[u8]>,
    version: i32,
}

/// The result of ending a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// The name was bound until now.
    Unbound,
    /// The name was not bound any more.
    AlreadyGone,
    /// The name is not bound, but a reply was lost, so either may be true.
    Unknown,
}

impl Binding {
    pub(super) fn new(names: &Names, path: Arc<str>, claim: &Claim, version: i32) -> Binding {
        let nonce = claim.content[..NONCE].into();
        Binding { zookeeper: names.zookeeper.clone(), path, nonce, version }
    }

    /// Gives the name another address. Returns false if the binding is gone.
    ///
    /// # Errors
    /// Returns `SessionExpired`, after which the name may have either address.
    pub async fn rebind(&mut self, address: &str) -> Result<bool, Error> {
        let content = [&*self.nonce, address.as_bytes()].concat();
        loop {
            let set = || self.zookeeper.set_data(&self.path, &content, Version::Is(self.version));
            match until_known(&self.zookeeper, set).await {
                Ok(stat) => {
                    self.version = stat.version;
                    return Ok(true);
                }
                Err(Error::NoNode) => return Ok(false),
                // This request changed it and its reply was lost, or it is another binding's.
                Err(Error::BadVersion) => {}
                Err(error) => return Err(error),
            }
            let Some((standing, version)) = self.standing().await? else { return Ok(false) };
            self.version = version;
            if *standing == *content {
                return Ok(true);
            }
        }
    }

    /// Ends the binding.
    ///
    /// # Errors
    /// Returns `SessionExpired`, after which it may have ended or not.
    pub async fn unbind(self) -> Result<Ended, Error> {
        let mut lost_reply = false;
        // Only this binding ends itself, so the znode that is its own now is the one that is deleted.
        while self.standing().await?.is_some() {
            let mut events = self.zookeeper.session_events();
            match self.zookeeper.delete(&self.path, Version::Any).await {
                Ok(()) => return Ok(Ended::Unbound),
                Err(Error::ConnectionLoss) => {
                    lost_reply = true;
                    reconnected(&mut events).await?;
                    settle(&self.zookeeper).await?;
                }
                Err(Error::NoNode) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(if lost_reply { Ended::Unknown } else { Ended::AlreadyGone })
    }

    /// Returns the content and the version of the znode, if it is still this binding's.
    async fn standing(&self) -> Result<Option<(Data, i32)>, Error> {
        match until_known(&self.zookeeper, || self.zookeeper.get_data(&self.path)).await {
            Ok((content, stat)) if content.starts_with(&self.nonce) => {
                Ok(Some((content, stat.version)))
            }
            Ok(_) | Err(Error::NoNode) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
