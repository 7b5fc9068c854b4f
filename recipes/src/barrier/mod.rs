//! The barrier (recipe rule 2.2): all waiters wait while one znode exists.
//!
//! # Contract
//!
//! *What a return of [`Barrier::wait`] means.* At some moment of the committed history the znode was absent, and that
//! moment is not before anything that the caller knew when it called: not before a raise that it learned of outside of
//! ZooKeeper, nor before what an earlier session of it observed. The return says nothing about later: the barrier may
//! be up again.
//!
//! *Names are fresh.* A barrier is raised under a name once. To raise it again, use another name, such as one with a
//! generation or a random id: a delete that is repeated after a lost connection must not lower the next barrier (recipe
//! rule 2.2.5). There is one owner. The znode is persistent, so an owner that dies leaves the barrier up, and its
//! successor lowers it.
//!
//! *Faults.* Lost connections, expired sessions, pauses and stale servers only delay a waiter: waiting is not bound to
//! a session. If the owner crashes, all wait until some client lowers the barrier.
//!
//! *Herd.* Lowering the barrier wakes every waiter, and all may proceed. No other change costs a waiter more than one
//! look.
//!
//! *Cancelling is safe* at every await: a waiter leaves nothing behind. A raise or a lowering that is dropped may have
//! happened or not, and may be repeated.
//!
//! *Not promised.* That waiters proceed at the same time; that no waiter passes before the barrier is raised.
//!
//! Waiters are not members: [`double_barrier`](crate::double_barrier) counts its participants.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/barrier.md")]

mod mutant;
#[cfg(feature = "checking")]
pub mod properties;
mod seen;
#[cfg(feature = "checking")]
pub mod worker;

#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
#[cfg(feature = "checking")]
pub use properties::monitors;
pub use seen::BarrierSeen;
#[cfg(feature = "checking")]
pub use worker::{BarrierWork, barrier_owner, barrier_waiter};

use crate::helpers::{ensure_deleted, ensure_path, in_sessions, settle, until_known};
use std::future::pending;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{TimedOut, ZooKeeper};
use vivarium_model::op::{CreateMode, EventType};
use vivarium_model::path;
use vivarium_model::time::Duration;
use vivarium_model::zxid::Zxid;

/// A barrier: one znode. See the module for its contract.
#[derive(Clone, Debug)]
pub struct Barrier {
    zookeeper: ZooKeeper,
    node: Arc<str>,
    mutants: Mutants,
}

/// Why a wait with a timeout failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum WaitError {
    /// The barrier was still up when the time was over.
    #[error("the barrier was not lowered in time")]
    TimedOut,
    /// The server refuses the path.
    #[error("the barrier's znode cannot be used: {0}")]
    Refused(Error),
}

impl Barrier {
    /// Creates a handle of the barrier that is up while the znode `node` exists.
    pub fn new(zookeeper: ZooKeeper, node: impl Into<Arc<str>>) -> Barrier {
        Barrier { zookeeper, node: node.into(), mutants: Mutants::NONE }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> Barrier {
        Barrier { mutants, ..self }
    }

    /// Raises the barrier, and returns the zxid of the transaction that raised it. A client that is told this zxid can
    /// check whether it has seen the raise. If the barrier is already up, this succeeds, because there is one owner: a
    /// create whose reply was lost has raised it, or the owner's process did before it died (recipe rule 2.2.4).
    ///
    /// # Errors
    /// Returns the server's refusal of the path.
    pub async fn raise(&self) -> Result<Zxid, Error> {
        in_sessions(&self.zookeeper, |zookeeper, _| async move {
            loop {
                let create = || zookeeper.create(&self.node, b"", CreateMode::Persistent);
                match until_known(&zookeeper, create).await {
                    Ok((_, stat)) => return Ok(stat.czxid),
                    Err(Error::NodeExists) => {
                        let exists = || zookeeper.exists(&self.node);
                        if let Some(stat) = until_known(&zookeeper, exists).await? {
                            return Ok(stat.czxid);
                        }
                    }
                    Err(Error::NoNode) => {
                        let parent = path::parent(&self.node).ok_or(Error::NoNode)?;
                        ensure_path(&zookeeper, parent).await?;
                    }
                    Err(error) => return Err(error),
                }
            }
        })
        .await
    }

    /// Lowers the barrier. If it is already down, this succeeds, because it is never raised again (recipe rule 2.2.5).
    ///
    /// # Errors
    /// Returns the server's refusal of the path.
    pub async fn lower(&self) -> Result<(), Error> {
        in_sessions(&self.zookeeper, |zookeeper, _| async move {
            ensure_deleted(&zookeeper, &self.node).await
        })
        .await
    }

    /// Waits while the barrier is up, without a time limit and across sessions.
    ///
    /// Cancel-safe.
    ///
    /// # Errors
    /// Returns the server's refusal of the path.
    pub async fn wait(&self) -> Result<(), Error> {
        in_sessions(&self.zookeeper, |zookeeper, _| async move { self.look(&zookeeper).await })
            .await?;
        self.zookeeper.observe(BarrierSeen::Passed { node: Arc::clone(&self.node) });
        Ok(())
    }

    /// Like [`Barrier::wait`], but waits no longer than `patience`.
    ///
    /// # Errors
    /// Returns [`WaitError`].
    pub async fn wait_timeout(&self, patience: Duration) -> Result<(), WaitError> {
        match self.zookeeper.timeout(patience, self.wait()).await {
            Ok(waited) => waited.map_err(WaitError::Refused),
            Err(TimedOut) => Err(WaitError::TimedOut),
        }
    }

    /// Looks until the barrier is down, in one session (recipe rules 2.2.1 and 2.2.2).
    async fn look(&self, zookeeper: &ZooKeeper) -> Result<(), Error> {
        // True if this session's view is at least as new as what the caller knew.
        let mut is_current = self.mutants.has(Mutant::NoSyncBeforeRead);
        let mut was_woken = false;
        loop {
            let read = || zookeeper.get_data_watch(&self.node);
            let up = match until_known(zookeeper, read).await {
                Ok((_, stat, watch)) => Some((stat.czxid, watch)),
                Err(Error::NoNode) => None,
                Err(error) => return Err(error),
            };
            if was_woken && self.mutants.has(Mutant::BarrierInvertedRecheck) {
                match &up {
                    Some((raised, _)) => {
                        self.found(*raised);
                        return Ok(());
                    }
                    None => pending::<()>().await,
                }
            }
            match up {
                None if is_current => return Ok(()),
                // This server may not have applied the raise yet. A write of our own brings it up to date (recipe rule
                // 2.2.3).
                None => {
                    settle(zookeeper).await?;
                    is_current = true;
                }
                Some((raised, mut watch)) => {
                    self.found(raised);
                    let event = watch.changed().await?;
                    // Any change of the znode uses up the watch, so look again.
                    let other = event.kind != EventType::NodeDeleted;
                    if other && self.mutants.has(Mutant::EventTypeFilterNoRearm) {
                        pending::<()>().await;
                    }
                    (is_current, was_woken) = (true, true);
                }
            }
        }
    }

    fn found(&self, raised: Zxid) {
        self.zookeeper.observe(BarrierSeen::Found { node: Arc::clone(&self.node), raised });
    }
}
