//! The guard of a held lock: the fencing token, the signal of the loss, and the duty to release the lock.

use super::contender::Node;
use super::janitor::{self, Deletion, Holding};
use super::{LockSeen, Mutant, Mutants};
use crate::helpers::{next_session, until_known};
use std::fmt;
use std::future::{Future, pending};
use std::sync::{Arc, OnceLock};
use thiserror::Error;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, ZooKeeper, race};
use vivarium_model::id::SessionId;
use vivarium_model::op::{EventType, Op, OpResult, Version};
use vivarium_model::zxid::Zxid;

/// A number that grows from grant to grant of one lock: the czxid of the holder's znode. A resource that refuses a
/// token smaller than the largest one it has seen is safe from every former holder.
///
/// The sequence number in the znode's name is not such a number: it restarts when the directory is deleted, and wraps
/// (recipe rules 1.2.1 and 1.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(pub Zxid);

impl From<FencingToken> for Zxid {
    fn from(token: FencingToken) -> Zxid {
        token.0
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a lock was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// The session expired or was closed.
    SessionEnded,
    /// The lock's znode was deleted by another client.
    NodeDeleted,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Loss::SessionEnded => "the session that held the lock has ended",
            Loss::NodeDeleted => "the lock's znode was deleted",
        })
    }
}

/// The result of a release. In each case, the lock is free, or becomes free with the end of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Release {
    /// The lock was held until the release.
    Released,
    /// The lock was lost before.
    AlreadyGone,
    /// A reply was lost or the session ended meanwhile, so either may be true.
    Unknown,
}

/// Why a guarded write failed. Nothing of it was applied, unless the error is `ConnectionLoss`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum FencedError {
    /// The lock is lost.
    #[error("{0}")]
    Lost(Loss),
    /// One of the operations failed.
    #[error("operation {index} of the guarded write: {error}")]
    Operation {
        /// The index of the operation in the list that was passed, from 0.
        index: usize,
        error: Error,
    },
    /// The request as a whole failed.
    #[error("{0}")]
    Failed(Error),
}

/// A held lock. Dropping it releases the lock in the background.
///
/// There is one guard per grant: it cannot be cloned, because dropping one clone would release the lock that the others
/// rely on (recipe rule 2.8.9).
#[must_use = "dropping the guard releases the lock"]
pub struct Guard {
    /// Pinned to the attempt's session.
    pub(super) zookeeper: ZooKeeper,
    pub(super) session: SessionId,
    pub(super) lock: Arc<str>,
    /// The attempt's id.
    pub(super) id: Arc<str>,
    pub(super) node: Arc<str>,
    /// A znode that represents the holder, and is deleted together with its own ([`Guard::take_office`]).
    pub(super) office: Option<Arc<str>>,
    pub(super) token: FencingToken,
    pub(super) mutants: Mutants,
    /// Set once, when the holder is notified.
    pub(super) loss: OnceLock<Loss>,
    /// Set once, when a watch can report a future loss (`LossBeforeCallback`).
    pub(super) listens: OnceLock<()>,
    pub(super) phase: Phase,
}

/// The progress of the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Held,
    /// Another znode of the same attempt is replacing the first one.
    Exchanging,
    Releasing,
    Done,
}

impl Guard {
    /// Creates the guard of the znode that this attempt, `(lock, id)`, made in this session.
    pub(super) fn of_node(
        zookeeper: ZooKeeper,
        session: SessionId,
        (lock, id): (Arc<str>, Arc<str>),
        node: Node,
        mutants: Mutants,
    ) -> Guard {
        Guard {
            zookeeper,
            session,
            lock,
            id,
            node: node.path,
            office: None,
            token: FencingToken(node.czxid),
            mutants,
            loss: OnceLock::new(),
            listens: OnceLock::new(),
            phase: Phase::Held,
        }
    }

    /// Returns the fencing token.
    pub fn token(&self) -> FencingToken {
        self.token
    }

    /// Returns the session that holds the lock.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Returns the full path of the lock's znode.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Returns true if the holder has not been notified of a loss. The lock may be lost without the client knowing yet,
    /// so this is not reliable where exclusion matters.
    pub fn is_held(&self) -> bool {
        self.loss.get().is_none()
    }

    /// Resolves when the lock is lost: when the session has ended, or when the lock's znode is seen to be deleted. A
    /// disconnection is no loss (see the module's contract).
    ///
    /// This sets a watch on the znode; await it once, beside the work ([`Guard::while_held`]). It resolves only while
    /// it is awaited.
    ///
    /// Cancel-safe.
    pub async fn lost(&self) -> Loss {
        if let Some(loss) = self.loss.get() {
            // Suspends once, because a loop on a lost lock must not spin.
            self.zookeeper.now().await;
            return *loss;
        }
        let loss = self.loss_of_node().await;
        if self.tell(loss) { loss } else { pending().await }
    }

    /// Runs `work` until it is done or the lock is lost; then drops it at its await point.
    ///
    /// # Errors
    /// Returns how the lock was lost.
    pub async fn while_held<F: Future>(&self, work: F) -> Result<F::Output, Loss> {
        match race(self.lost(), work).await {
            Either::Left(loss) => Err(loss),
            Either::Right(output) => Ok(output),
        }
    }

    /// Writes inside ZooKeeper only while the lock is held: all of `ops`, with a check of the lock's znode, or nothing.
    /// Unlike [`Guard::is_held`], this is exact.
    ///
    /// # Errors
    /// Returns [`FencedError`]. After `ConnectionLoss`, the result is unknown.
    pub async fn fenced(&self, ops: Vec<Op>) -> Result<Vec<OpResult>, FencedError> {
        let check = Op::Check { path: Arc::clone(&self.node), version: Version::Any };
        let guarded = std::iter::once(check).chain(ops).collect();
        match self.zookeeper.multi(guarded).await {
            Ok(mut results) => {
                results.remove(0);
                Ok(results)
            }
            Err(failed) => Err(match (failed.index, failed.error) {
                (Some(0), Error::NoNode) => self.refused(Loss::NodeDeleted, failed.error),
                // For a closing session, the operations are refused (rule 1.6.1; recipe rule 1.1.5); for an unknown
                // session, the whole request is.
                (_, Error::SessionExpired) => self.refused(Loss::SessionEnded, failed.error),
                (Some(index), error) if index > 0 => {
                    FencedError::Operation { index: index - 1, error }
                }
                (_, error) => FencedError::Failed(error),
            }),
        }
    }

    /// Releases the lock (recipe rule 2.8.5), however often the connection is lost meanwhile.
    ///
    /// Cancel-safe: if the future is dropped, the release continues in the background. The holder's belief ends at the
    /// call.
    pub async fn release(mut self) -> Release {
        let works_on = self.mutants.has(Mutant::BodyAfterRelease);
        if works_on {
            self.phase = Phase::Releasing;
        } else {
            self.stop_believing();
        }
        let deletion = match self.loss.get() {
            // By now, the znode of that name may belong to another client (recipe rule 1.2.2).
            Some(_) if self.mutants.has(Mutant::LateDeleteReusedName) => {
                let session = next_session(&self.zookeeper, self.session).await;
                janitor::delete_until_gone(&self.zookeeper.scope(session), &self.node).await
            }
            Some(_) => Deletion::Missing,
            // The mutant tries once, and forgets what it held (`ReleaseGivesUp`).
            None if self.mutants.has(Mutant::ReleaseGivesUp) => {
                match self.zookeeper.delete(&self.node, Version::Any).await {
                    Ok(()) => Deletion::Deleted,
                    Err(Error::NoNode) => Deletion::Missing,
                    Err(_) => Deletion::Unknown,
                }
            }
            None => janitor::delete_together(&self.zookeeper, &self.holding()).await,
        };
        if works_on {
            self.observe_the_end();
        }
        self.released(deletion)
    }

    /// Completes the release, and returns its result.
    pub(super) fn released(&mut self, deletion: Deletion) -> Release {
        self.phase = Phase::Done;
        let release = match deletion {
            Deletion::Deleted => Release::Released,
            Deletion::Missing => Release::AlreadyGone,
            Deletion::Unknown => return Release::Unknown,
        };
        let lock = Arc::clone(&self.lock);
        self.zookeeper.observe(LockSeen::Released { lock, token: self.token.0 });
        release
    }

    fn holding(&self) -> Holding {
        let (node, office) = (Arc::clone(&self.node), self.office.clone());
        Holding { session: self.session, node, office }
    }

    /// Waits until the session ends or the znode is seen to be gone.
    async fn loss_of_node(&self) -> Loss {
        let zookeeper = &self.zookeeper;
        loop {
            match until_known(zookeeper, || zookeeper.watch_data(&self.node)).await {
                Ok(mut watch) => {
                    let _ = self.listens.set(());
                    match watch.changed().await {
                        Ok(event) if event.kind == EventType::NodeDeleted => {
                            return Loss::NodeDeleted;
                        }
                        Ok(_) => {}
                        Err(_) => return Loss::SessionEnded,
                    }
                }
                Err(Error::NoNode) => return Loss::NodeDeleted,
                // The error is SessionExpired; a read of a valid path is refused for no other reason.
                Err(_) => return Loss::SessionEnded,
            }
        }
    }

    /// Notifies the holder of a loss. Returns false if a mutant suppresses this.
    pub(super) fn tell(&self, loss: Loss) -> bool {
        let is_deaf = self.mutants.has(Mutant::LossBeforeCallback) && self.listens.get().is_none();
        if is_deaf || self.mutants.has(Mutant::BeliefSurvivesExpiry) {
            return false;
        }
        if self.loss.set(loss).is_ok() {
            let lock = Arc::clone(&self.lock);
            self.zookeeper.observe(LockSeen::Lost { lock, token: self.token.0 });
        }
        true
    }

    pub(super) fn refused(&self, loss: Loss, error: Error) -> FencedError {
        if self.tell(loss) { FencedError::Lost(loss) } else { FencedError::Failed(error) }
    }

    /// Ends the belief before the delete is sent, because the next holder may be granted the lock before this one
    /// receives the reply.
    pub(super) fn stop_believing(&mut self) {
        self.phase = Phase::Releasing;
        self.observe_the_end();
    }

    pub(super) fn observe_the_end(&self) {
        let lock = Arc::clone(&self.lock);
        self.zookeeper.observe(LockSeen::Releasing { lock, token: self.token.0 });
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.phase == Phase::Held {
            self.stop_believing();
        }
        if self.phase == Phase::Exchanging {
            janitor::sweep(&self.zookeeper, &self.lock, &self.id);
        }
        if self.phase == Phase::Releasing && self.loss.get().is_none() {
            let lock = Arc::clone(&self.lock);
            janitor::release(&self.zookeeper, lock, self.holding(), self.token.0);
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("node", &self.node)
            .field("token", &self.token)
            .field("loss", &self.loss.get())
            .finish_non_exhaustive()
    }
}
