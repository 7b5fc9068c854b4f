//! Requests that others write into a holder's znode, and the holder's handling of them (recipe rule 2.11).

use super::janitor::Deletion;
use super::{Guard, Loss, Release};
use crate::helpers::{reconnected, until_known};
use std::future::pending;
use vivarium_model::error::Error;
use vivarium_model::handle::Watch;
use vivarium_model::op::{Data, EventType, Version};

/// The content of a holder's znode.
pub(crate) struct Content {
    pub(crate) data: Data,
    pub(crate) version: i32,
    /// Fires at the next change.
    pub(crate) watch: Watch,
}

impl Guard {
    /// Reads the lock's own znode.
    ///
    /// # Errors
    /// Returns how the lock was lost.
    pub(crate) async fn content(&self) -> Result<Content, Loss> {
        let read = || self.zookeeper.get_data_watch(&self.node);
        match until_known(&self.zookeeper, read).await {
            Ok((data, stat, watch)) => Ok(Content { data, version: stat.version, watch }),
            Err(Error::NoNode) => Err(self.lose(Loss::NodeDeleted).await),
            // The error is SessionExpired; a read of a valid path is refused for no other reason.
            Err(_) => Err(self.lose(Loss::SessionEnded).await),
        }
    }

    /// Waits for a change of what was read.
    ///
    /// # Errors
    /// Returns how the lock was lost.
    pub(crate) async fn content_changed(&self, watch: &mut Watch) -> Result<(), Loss> {
        match watch.changed().await {
            Ok(event) if event.kind == EventType::NodeDeleted => {
                Err(self.lose(Loss::NodeDeleted).await)
            }
            Ok(_) => Ok(()),
            Err(_) => Err(self.lose(Loss::SessionEnded).await),
        }
    }

    /// Writes the lock's own znode. Returns false if it has another version or if a reply was lost; then read it again.
    ///
    /// # Errors
    /// Returns how the lock was lost.
    pub(crate) async fn write_content(&self, data: &[u8], version: Version) -> Result<bool, Loss> {
        let mut events = self.zookeeper.session_events();
        match self.zookeeper.set_data(&self.node, data, version).await {
            Ok(_) => Ok(true),
            Err(Error::BadVersion) => Ok(false),
            Err(Error::ConnectionLoss) => match reconnected(&mut events).await {
                Ok(()) => Ok(false),
                Err(_) => Err(self.lose(Loss::SessionEnded).await),
            },
            Err(Error::NoNode) => Err(self.lose(Loss::NodeDeleted).await),
            Err(_) => Err(self.lose(Loss::SessionEnded).await),
        }
    }

    /// Like [`Guard::release`], but deletes only content that `look` has seen: a write to the znode meanwhile makes the
    /// delete fail, and is looked at first.
    pub(crate) async fn release_looking(mut self, mut look: impl FnMut(&[u8])) -> Release {
        self.stop_believing();
        let deletion = match self.loss.get() {
            Some(_) => Deletion::Missing,
            None => self.delete_looking(&mut look).await,
        };
        self.released(deletion)
    }

    async fn delete_looking(&self, look: &mut impl FnMut(&[u8])) -> Deletion {
        let zookeeper = &self.zookeeper;
        let mut lost_reply = false;
        loop {
            let stat = match until_known(zookeeper, || zookeeper.get_data(&self.node)).await {
                Ok((data, stat)) => {
                    look(&data);
                    stat
                }
                Err(Error::NoNode) if !lost_reply => return Deletion::Missing,
                Err(_) => return Deletion::Unknown,
            };
            let mut events = zookeeper.session_events();
            match zookeeper.delete(&self.node, Version::Is(stat.version)).await {
                Ok(()) => return Deletion::Deleted,
                Err(Error::BadVersion) => {}
                Err(Error::NoNode) if !lost_reply => return Deletion::Missing,
                Err(Error::ConnectionLoss) => {
                    lost_reply = true;
                    if reconnected(&mut events).await.is_err() {
                        return Deletion::Unknown;
                    }
                }
                Err(_) => return Deletion::Unknown,
            }
        }
    }

    /// Notifies the holder of a loss; never returns if a mutant suppresses this.
    async fn lose(&self, loss: Loss) -> Loss {
        if self.tell(loss) { loss } else { pending().await }
    }
}
