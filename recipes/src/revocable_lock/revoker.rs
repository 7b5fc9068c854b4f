//! The client that wants a revocable lock from its owner (recipe rule 2.11.1).

use super::{Mutant, REQUEST, RevocableLock, RevocationSeen, is_request};
use crate::contention::contender::{self, Contender};
use crate::contention::{FencingToken, Line};
use crate::helpers::{ensure_deleted, in_sessions, reconnected, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::op::Version;
use vivarium_model::time::Duration;

/// A request that is, or was, in an owner's znode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    node: Arc<str>,
    token: FencingToken,
    version: i32,
}

/// How a lock was taken from its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taking {
    /// The owner gave the lock back in time, or its session ended.
    GivenBack(Request),
    /// The lock was taken away: the owner may not know yet.
    TakenAway(Request),
    /// The owner's znode is gone, but the reply to a delete was lost: either `GivenBack` or `TakenAway`.
    Unknown(Request),
}

impl Request {
    /// Returns the full path of the owner's znode.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Returns the owner's token. A resource that has seen a larger one refuses the owner.
    pub fn token(&self) -> FencingToken {
        self.token
    }
}

impl RevocableLock {
    /// Requests the lock from the first in line; returns `None` if the line is empty. The first in line is the owner,
    /// or the client that becomes the owner next and is told then; it may be the caller itself. The call does not wait
    /// for the lock: acquire it afterwards.
    ///
    /// Cancel-safe: the request is written or not.
    ///
    /// # Errors
    /// The server's refusal of the path.
    pub async fn ask(&self) -> Result<Option<Request>, Error> {
        in_sessions(&self.zookeeper, |zookeeper, _| {
            let lock = self.clone();
            async move { lock.ask_in(&zookeeper).await }
        })
        .await
    }

    /// Requests the lock like [`RevocableLock::ask`], and takes it away from an owner that has not given it back within
    /// `grace`, measured from the request by this client's clock. Returns `None` if the line is empty. If the session
    /// ends meanwhile, it starts again.
    ///
    /// Cancel-safe: the request is written or not, and the lock is taken away or not.
    ///
    /// # Errors
    /// The server's refusal of the path.
    pub async fn take(&self, grace: Duration) -> Result<Option<Taking>, Error> {
        in_sessions(&self.zookeeper, |zookeeper, _| {
            let lock = self.clone();
            async move { lock.take_in(&zookeeper, grace).await }
        })
        .await
    }

    async fn ask_in(&self, zookeeper: &ZooKeeper) -> Result<Option<Request>, Error> {
        loop {
            let Some(node) = self.first(zookeeper).await? else { return Ok(None) };
            let (data, stat) = match until_known(zookeeper, || zookeeper.get_data(&node)).await {
                Err(Error::NoNode) => continue,
                known => known?,
            };
            let request = |version| {
                let lock = Arc::clone(&self.directory);
                zookeeper.observe(RevocationSeen::Requested { lock, node: Arc::clone(&node) });
                let node = Arc::clone(&node);
                Ok(Some(Request { node, token: FencingToken(stat.czxid), version }))
            };
            if is_request(&data) {
                return request(stat.version);
            }
            if self.mutants.has(Mutant::RevokeWithoutConsent) {
                ensure_deleted(zookeeper, &node).await?;
                return Ok(None);
            }
            let mut events = zookeeper.session_events();
            match zookeeper.set_data(&node, REQUEST, Version::Is(stat.version)).await {
                Ok(stat) => return request(stat.version),
                // The next read of the znode shows whether the request was written.
                Err(Error::ConnectionLoss) => reconnected(&mut events).await?,
                Err(Error::BadVersion) if self.mutants.has(Mutant::RevokeBadVersionMeansAsked) => {
                    return request(stat.version);
                }
                // The owner has written a note, another client has written a request, or the owner is gone.
                Err(Error::BadVersion | Error::NoNode) => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn take_in(
        &self,
        zookeeper: &ZooKeeper,
        grace: Duration,
    ) -> Result<Option<Taking>, Error> {
        let Some(request) = self.ask_in(zookeeper).await? else { return Ok(None) };
        if !self.mutants.has(Mutant::RevokeWithoutGrace)
            && let Ok(gone) = zookeeper.timeout(grace, gone(zookeeper, &request.node)).await
        {
            gone?;
            return Ok(Some(Taking::GivenBack(request)));
        }
        self.take_away(zookeeper, request).await.map(Some)
    }

    /// Deletes the znode of an owner that was sent a request: only the znode with the request in it (recipe rule
    /// 2.11.5).
    async fn take_away(&self, zookeeper: &ZooKeeper, request: Request) -> Result<Taking, Error> {
        let (mut node, mut version) = (Arc::clone(&request.node), Version::Is(request.version));
        if self.mutants.has(Mutant::RevokeWhoeverHolds) {
            let Some(first) = self.first(zookeeper).await? else {
                return Ok(Taking::GivenBack(request));
            };
            (node, version) = (first, Version::Any);
        }
        let mut lost_reply = false;
        loop {
            let mut events = zookeeper.session_events();
            match zookeeper.delete(&node, version).await {
                Ok(()) => {
                    let lock = Arc::clone(&self.directory);
                    zookeeper.observe(RevocationSeen::Taken { lock, node });
                    return Ok(Taking::TakenAway(request));
                }
                Err(Error::ConnectionLoss) => {
                    lost_reply = true;
                    reconnected(&mut events).await?;
                }
                Err(Error::NoNode) if !lost_reply => return Ok(Taking::GivenBack(request)),
                // A request is never overwritten, so a znode with another version is not the owner's any more.
                Err(Error::NoNode | Error::BadVersion) => return Ok(Taking::Unknown(request)),
                Err(error) => return Err(error),
            }
        }
    }

    /// The znode of the first in line.
    async fn first(&self, zookeeper: &ZooKeeper) -> Result<Option<Arc<str>>, Error> {
        let line = Line::read(zookeeper, &self.directory).await?;
        let all = line.contenders().into_iter();
        let first = match self.mutants.has(Mutant::RevokeFirstByName) {
            true => all.min_by_key(|contender| contender.name()),
            false => Contender::first(all),
        };
        Ok(first.map(|first| contender::child(&self.directory, first.name()).into()))
    }
}

/// Waits until a znode is deleted.
async fn gone(zookeeper: &ZooKeeper, node: &str) -> Result<(), Error> {
    loop {
        let (stat, mut watch) = until_known(zookeeper, || zookeeper.exists_watch(node)).await?;
        if stat.is_none() {
            return Ok(());
        }
        watch.changed().await?;
    }
}
