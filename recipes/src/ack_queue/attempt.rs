//! One attempt to claim one item, in one session (recipe rule 2.6.1).

use super::deletion::{delete_exactly, sweep};
use super::{AckQueue, AckSeen, Claim, Mutant, Mutants};
use crate::helpers::{ensure_path, reconnected, until_known};
use crate::queue::name;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::id::SessionId;
use vivarium_model::op::CreateMode;
use vivarium_model::path;
use vivarium_model::zxid::Zxid;

/// An attempt. Dropping it before its end gives up.
pub(super) struct Attempt {
    /// Pinned to the attempt's session.
    zookeeper: ZooKeeper,
    /// Not pinned to a session.
    unpinned: ZooKeeper,
    session: SessionId,
    queue: Arc<str>,
    /// Full path of the item.
    node: Arc<str>,
    /// Full path of the claim.
    path: Arc<str>,
    /// Unique to the attempt; stored in the claim's data.
    id: Arc<str>,
    mutants: Mutants,
    /// True while a create was sent whose znode is not part of a claim yet.
    traces: bool,
}

impl Attempt {
    /// Begins an attempt.
    pub(super) fn begin(queue: &mut AckQueue, session: SessionId, name: &str) -> Attempt {
        let entry = queue.queue.ledger.entry();
        Attempt {
            zookeeper: queue.zookeeper().scope(session),
            unpinned: queue.zookeeper().clone(),
            session,
            queue: Arc::clone(&queue.queue.directory),
            node: name::child(&queue.queue.directory, name).into(),
            path: name::child(&queue.claims, name).into(),
            id: queue.queue.ledger.name(entry).into(),
            mutants: queue.mutants,
            traces: false,
        }
    }

    /// Runs the attempt. Returns `None` if another session has the item, or if the item is gone.
    pub(super) async fn run(mut self) -> Result<Option<Claim>, Error> {
        let claimed = self.claim().await;
        if let Err(Error::SessionExpired) = claimed {
            // The servers delete what belongs to the session.
            self.traces = false;
        }
        claimed
    }

    async fn claim(&mut self) -> Result<Option<Claim>, Error> {
        let early = match self.mutants.has(Mutant::NoLookAfterClaim) {
            true => self.read().await?,
            false => None,
        };
        let Some(token) = self.create().await? else {
            self.traces = false;
            return Ok(None);
        };
        // Only now: before the claim, another consumer could have acknowledged the item (recipe rule 2.6.2).
        let read = if early.is_some() { early } else { self.read().await? };
        let Some(data) = read else {
            delete_exactly(&self.zookeeper, &self.path, token).await?;
            self.traces = false;
            return Ok(None);
        };
        self.traces = false;
        let (queue, node) = (Arc::clone(&self.queue), Arc::clone(&self.node));
        let item = String::from_utf8_lossy(&data).into();
        self.zookeeper.observe(AckSeen::Claimed { queue, item, node, token });
        Ok(Some(Claim {
            zookeeper: self.zookeeper.clone(),
            unpinned: self.unpinned.clone(),
            session: self.session,
            queue: Arc::clone(&self.queue),
            node: Arc::clone(&self.node),
            path: Arc::clone(&self.path),
            id: Arc::clone(&self.id),
            data,
            token,
            mutants: self.mutants,
            ending: false,
            done: false,
        }))
    }

    /// Creates the claim, even if replies are lost, and returns its czxid; `None` if another session has the item.
    async fn create(&mut self) -> Result<Option<Zxid>, Error> {
        let mode = match self.mutants.has(Mutant::ClaimNotEphemeral) {
            true => CreateMode::Persistent,
            false => CreateMode::Ephemeral,
        };
        loop {
            let mut events = self.zookeeper.session_events();
            self.traces = true;
            match self.zookeeper.create(&self.path, self.id.as_bytes(), mode).await {
                Ok((_, stat)) => return Ok(Some(stat.czxid)),
                Err(Error::ConnectionLoss) => reconnected(&mut events).await?,
                Err(Error::NodeExists) => match self.owned().await? {
                    Claimed::Ours(token) => return Ok(Some(token)),
                    Claimed::Others => return Ok(None),
                    Claimed::Gone => {}
                },
                // The directory of the claims may be deleted while it is empty.
                Err(Error::NoNode) => {
                    let claims = path::parent(&self.path).ok_or(Error::NoNode)?;
                    ensure_path(&self.zookeeper, claims).await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Finds the owner of an existing claim: a repeated create finds the claim that the first one has made (recipe rule
    /// 2.6.3).
    async fn owned(&self) -> Result<Claimed, Error> {
        let zookeeper = &self.zookeeper;
        if self.mutants.has(Mutant::NodeExistsMeansOther) {
            return Ok(Claimed::Others);
        }
        match until_known(zookeeper, || zookeeper.get_data(&self.path)).await {
            Ok((data, stat)) if *data == *self.id.as_bytes() => Ok(Claimed::Ours(stat.czxid)),
            Ok(_) => Ok(Claimed::Others),
            Err(Error::NoNode) => Ok(Claimed::Gone),
            Err(error) => Err(error),
        }
    }

    async fn read(&self) -> Result<Option<Arc<[u8]>>, Error> {
        let zookeeper = &self.zookeeper;
        match until_known(zookeeper, || zookeeper.get_data(&self.node)).await {
            Ok((data, _stat)) => Ok(Some(Arc::from(&*data))),
            Err(Error::NoNode) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The owner of a claim.
enum Claimed {
    Ours(Zxid),
    Others,
    Gone,
}

/// If an attempt ends without a claim, also by being dropped at an await point, its znode is deleted.
impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.traces || self.mutants.has(Mutant::ClaimLeakOnCancel) {
            return;
        }
        let background = self.zookeeper.clone();
        let (path, id) = (Arc::clone(&self.path), Arc::clone(&self.id));
        self.zookeeper.spawn(async move {
            // Fails only when the session is over, and then the servers delete the znode.
            let _ = sweep(&background, &path, &id).await;
        });
    }
}
