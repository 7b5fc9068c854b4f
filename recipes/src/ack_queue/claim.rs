//! A consumer's claim of an item: the item, the token, the signal of the claim's loss, and the duty to end the claim.

use super::deletion::{delete_exactly, delete_what_is_left};
use super::{AckSeen, Mutant, Mutants};
use crate::helpers::{reconnected, until_known};
use crate::once::Patient;
use crate::queue::{Mark, name};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, MultiError, ZooKeeper, race};
use vivarium_model::id::SessionId;
use vivarium_model::op::{CreateMode, EventType, Op, Version};
use vivarium_model::path;
use vivarium_model::zxid::Zxid;

/// How a claim was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// The session expired or was closed.
    SessionEnded,
    /// The claim's znode was deleted by another client.
    NodeDeleted,
}

/// The result of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ack {
    /// The item is gone by this acknowledgement.
    Acked,
    /// The claim was lost before the acknowledgement, which had no effect. The item is in the queue, another consumer has
    /// claimed it, or another consumer has acknowledged it.
    Lost,
    /// A reply was lost and the session ended meanwhile, so either may be true.
    Unknown,
}

/// A claimed item. Dropping it releases it in the background.
///
/// There is one value per claim: it cannot be cloned.
#[must_use = "dropping the claim releases the item"]
pub struct Claim {
    /// Pinned to the session that has claimed it.
    pub(super) zookeeper: ZooKeeper,
    /// Not pinned to a session.
    pub(super) unpinned: ZooKeeper,
    pub(super) session: SessionId,
    pub(super) queue: Arc<str>,
    pub(super) node: Arc<str>,
    pub(super) path: Arc<str>,
    pub(super) id: Arc<str>,
    pub(super) data: Arc<[u8]>,
    pub(super) token: Zxid,
    pub(super) mutants: Mutants,
    /// True after the request that ends the claim was sent, which may still be pending.
    pub(super) ending: bool,
    /// True when nothing is left to do, or when the servers will do it.
    pub(super) done: bool,
}

impl Claim {
    /// The item's data.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The item's name.
    pub fn name(&self) -> &str {
        path::name(&self.node)
    }

    /// The fencing token: the czxid of the claim, which grows from claim to claim of one item. A resource that refuses
    /// smaller tokens than the largest one seen for the item is safe from earlier claimants.
    pub fn token(&self) -> Zxid {
        self.token
    }

    /// The session that has claimed it.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Resolves when the claim is lost: when the session has ended, or when the claim's znode is seen to be deleted. A
    /// disconnection is no loss.
    ///
    /// Cancel-safe.
    pub async fn lost(&self) -> Loss {
        let zookeeper = &self.zookeeper;
        loop {
            match until_known(zookeeper, || zookeeper.watch_data(&self.path)).await {
                Ok(mut watch) => match watch.changed().await {
                    Ok(event) if event.kind == EventType::NodeDeleted => return Loss::NodeDeleted,
                    Ok(_) => {}
                    Err(_) => return Loss::SessionEnded,
                },
                Err(Error::NoNode) => return Loss::NodeDeleted,
                Err(_) => return Loss::SessionEnded,
            }
        }
    }

    /// Runs `work` until it is done or the claim is lost; then drops it at its await point.
    ///
    /// # Errors
    /// Returns how the claim was lost.
    pub async fn while_held<F: Future>(&self, work: F) -> Result<F::Output, Loss> {
        match race(self.lost(), work).await {
            Either::Left(loss) => Err(loss),
            Either::Right(output) => Ok(output),
        }
    }

    /// Acknowledges the item: item and claim are deleted together, or neither is (recipe rule 2.6.5).
    ///
    /// If the future is dropped, the acknowledgement may have happened or not; if not, the claim is released in the
    /// background.
    pub async fn ack(mut self) -> Ack {
        self.begin_to_end();
        let ack = match self.mutants.has(Mutant::AckAcrossSessions) {
            true => self.ack_in_any_session().await,
            false => self.finish(Vec::new()).await,
        };
        self.done = true;
        match ack {
            Ack::Acked => self.observe(|queue, node, token| AckSeen::Acked { queue, node, token }),
            Ack::Lost => {
                self.observe(|queue, node, token| AckSeen::NotAcked { queue, node, token })
            }
            Ack::Unknown => {}
        }
        ack
    }

    /// Moves the item to the end of the queue and ends the claim, for work that cannot be done now. The item gets a new
    /// name, and both changes are one transaction (recipe rule 2.6.6).
    ///
    /// If the future is dropped, this may have happened or not; if not, the claim is released in the background.
    pub async fn requeue(mut self) -> Ack {
        self.begin_to_end();
        let prefix = match self.mutants.has(Mutant::RequeueFromOldName) {
            true => format!("{}-{}-", self.node, Mark::Plain.text()),
            false => name::prefix(&self.queue, &self.id, Mark::Plain),
        };
        let create = Op::create(prefix, &*self.data, CreateMode::PersistentSequential);
        let requeued = self.finish(vec![create]).await;
        self.done = true;
        requeued
    }

    /// Releases the claim and leaves the item at its place, so that the next consumer may claim it.
    ///
    /// If the future is dropped, the release continues in the background.
    pub async fn release(mut self) {
        self.begin_to_end();
        // Fails only when the session is over, and then the servers delete the claim.
        let _ = delete_exactly(&self.zookeeper, &self.path, self.token).await;
        self.done = true;
    }

    fn begin_to_end(&mut self) {
        self.observe(|queue, node, token| AckSeen::Finishing { queue, node, token });
        self.ending = true;
    }

    /// Deletes claim and item and applies the further operations, in one transaction.
    ///
    /// The claim is deleted by its name. This is exact, because the claim belongs to this session, which sends the
    /// request and creates no other claim of that name as long as the item exists.
    async fn finish(&self, more: Vec<Op>) -> Ack {
        let (claim, item) = (Arc::clone(&self.path), Arc::clone(&self.node));
        let mut ops = vec![Op::delete(claim, Version::Any), Op::delete(item, Version::Any)];
        ops.extend(more);
        let mut lost = false;
        loop {
            let mut events = self.zookeeper.session_events();
            match self.zookeeper.multi(ops.clone()).await {
                Ok(_) => return Ack::Acked,
                Err(MultiError { error: Error::ConnectionLoss, .. }) => {
                    lost = true;
                    if reconnected(&mut events).await.is_err() {
                        return Ack::Unknown;
                    }
                }
                // The mutant takes any answer for success.
                Err(_) if self.mutants.has(Mutant::MultiResultIgnored) => return Ack::Acked,
                Err(MultiError { error: Error::SessionExpired, .. }) => {
                    return if lost { Ack::Unknown } else { Ack::Lost };
                }
                // If the item is gone as well, an earlier copy of this request must have been applied.
                Err(_) if lost => return self.is_gone().await,
                Err(_) => return Ack::Lost,
            }
        }
    }

    async fn is_gone(&self) -> Ack {
        let zookeeper = &self.zookeeper;
        match until_known(zookeeper, || zookeeper.exists(&self.node)).await {
            Ok(None) => Ack::Acked,
            Ok(Some(_)) => Ack::Lost,
            Err(_) => Ack::Unknown,
        }
    }

    /// Continues in the next session, where another consumer may have the claim of that name (`AckAcrossSessions`).
    async fn ack_in_any_session(&self) -> Ack {
        let (claim, item) = (Arc::clone(&self.path), Arc::clone(&self.node));
        let ops = vec![Op::delete(claim, Version::Any), Op::delete(item, Version::Any)];
        let mut patient = Patient::connect(self.unpinned.clone()).await;
        let mut lost = false;
        let multi = |zookeeper: ZooKeeper| {
            let ops = ops.clone();
            async move { zookeeper.multi(ops).await }
        };
        match patient.ask(&mut lost, multi).await {
            Ok(_) => Ack::Acked,
            Err(_) if lost => Ack::Unknown,
            Err(_) => Ack::Lost,
        }
    }

    fn observe(&self, make: impl FnOnce(Arc<str>, Arc<str>, Zxid) -> AckSeen) {
        let (queue, node) = (Arc::clone(&self.queue), Arc::clone(&self.node));
        self.zookeeper.observe(make(queue, node, self.token));
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        self.observe(|queue, node, token| AckSeen::Finishing { queue, node, token });
        let is_first = !self.ending || self.mutants.has(Mutant::BlindDeleteOnDrop);
        let (background, path, token) =
            (self.zookeeper.clone(), Arc::clone(&self.path), self.token);
        self.zookeeper.spawn(async move {
            // Fails only when the session is over, and then the servers delete the claim.
            let _ = match is_first {
                true => delete_exactly(&background, &path, token).await.map(drop),
                false => delete_what_is_left(&background, &path, token).await,
            };
        });
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim")
            .field("node", &self.node)
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}
