//! An attempt to join, and a member's guard.

use super::{Group, Leave, MembershipSeen, Mutant, Mutants, janitor};
use crate::helpers::until_known;
use std::fmt;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::id::SessionId;
use vivarium_model::op::EventType;
use vivarium_model::zxid::Zxid;

/// An attempt to join. Dropping it before its end gives up.
pub(super) struct Attempt {
    zookeeper: ZooKeeper,
    group: Arc<str>,
    pub(super) path: Arc<str>,
    /// The content of the znode, unique to the attempt.
    nonce: Arc<str>,
    pub(super) session: SessionId,
    mutants: Mutants,
    /// True while a create was sent whose znode has no guard yet.
    open: bool,
}

impl Attempt {
    pub(super) fn new(
        group: &Group,
        path: Arc<str>,
        nonce: Arc<str>,
        session: SessionId,
    ) -> Attempt {
        let (zookeeper, mutants) = (group.zookeeper.clone(), group.mutants);
        let group = Arc::clone(&group.directory);
        Attempt { zookeeper, group, path, nonce, session, mutants, open: false }
    }

    pub(super) fn content(&self) -> &[u8] {
        self.nonce.as_bytes()
    }

    pub(super) fn sent(&mut self) {
        self.open = true;
    }

    /// Makes the guard of the znode that this attempt has created.
    pub(super) fn joined(mut self, token: Zxid) -> Membership {
        self.open = false;
        let (group, path) = (Arc::clone(&self.group), Arc::clone(&self.path));
        let session = self.session;
        self.zookeeper.observe(MembershipSeen::Joined { group, member: path, token, session });
        Membership {
            zookeeper: self.zookeeper.clone(),
            group: Arc::clone(&self.group),
            path: Arc::clone(&self.path),
            nonce: Arc::clone(&self.nonce),
            token,
            believes: true,
            done: false,
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if self.open && !self.mutants.has(Mutant::GroupLeakOnCancel) {
            janitor::delete(&self.zookeeper, &self.path, &self.nonce);
        }
    }
}

/// A membership. Dropping it leaves the group in the background.
#[must_use = "dropping it leaves the group"]
pub struct Membership {
    zookeeper: ZooKeeper,
    group: Arc<str>,
    path: Arc<str>,
    nonce: Arc<str>,
    token: Zxid,
    /// True until the end of the membership was reported.
    believes: bool,
    /// True when nothing is left to delete.
    done: bool,
}

impl Membership {
    /// Returns the czxid of the member's znode: greater for each later membership of the same id.
    pub fn token(&self) -> Zxid {
        self.token
    }

    /// Returns the full path of the member's znode.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Resolves when the znode is seen to be gone. This sets a watch on it; await it once, beside the work.
    ///
    /// Cancel-safe.
    ///
    /// # Errors
    /// Returns `SessionExpired` if the session ended.
    pub async fn lost(&self) -> Result<(), Error> {
        loop {
            match until_known(&self.zookeeper, || self.zookeeper.watch_data(&self.path)).await {
                Ok(mut watch) => {
                    if watch.changed().await?.kind == EventType::NodeDeleted {
                        return Ok(());
                    }
                }
                Err(Error::NoNode) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Leaves the group, however often the connection is lost meanwhile. The belief ends at the call.
    ///
    /// Cancel-safe: if the future is dropped, the member leaves in the background.
    pub async fn leave(mut self) -> Leave {
        self.stop_believing();
        let left = janitor::delete_own(&self.zookeeper, &self.path, &self.nonce).await;
        self.done = true;
        left
    }

    fn stop_believing(&mut self) {
        if std::mem::take(&mut self.believes) {
            let (group, member) = (Arc::clone(&self.group), Arc::clone(&self.path));
            self.zookeeper.observe(MembershipSeen::Leaving { group, member, token: self.token });
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.stop_believing();
        if !self.done {
            janitor::delete(&self.zookeeper, &self.path, &self.nonce);
        }
    }
}

impl fmt::Debug for Membership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Membership");
        debug.field("path", &self.path).field("token", &self.token).finish_non_exhaustive()
    }
}
