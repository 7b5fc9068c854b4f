//! The barrier (recipe rule 2.2): everybody waits while one znode exists.
//!
//! # Contract
//!
//! *What a return of [`Barrier::wait`] means.* At some moment of the committed history the znode was absent,
//! and that moment does not lie before anything that the caller knew when it called: not before a raise that
//! somebody told it of beside ZooKeeper, nor before what an earlier session of it was shown. It says nothing of
//! later: the barrier may be up again.
//!
//! *Names are fresh.* A barrier is raised under a name once. Whoever needs it again takes another name, such as
//! one with a generation or a random id in it: a delete that is repeated after a lost connection must not take
//! down the next barrier (recipe rule 2.2.5). There is one owner; the znode is persistent, so an owner that dies
//! leaves the barrier up, and its successor lowers it.
//!
//! *Faults.* Lost connections, expired sessions, pauses and stale servers delay a waiter and nothing else: waiting
//! is bound to no session. A crashed owner keeps everybody waiting until somebody lowers the barrier.
//!
//! *Herd.* Lowering it wakes every waiter, which all may go on. No other change costs a waiter more than one
//! look.
//!
//! *Cancelling is safe* at every await: a waiter leaves nothing behind. A raise or a lowering that is dropped may
//! have happened or not, and may be asked for again.
//!
//! *Not promised.* That waiters go on at the same time; that nobody passes before the barrier goes up.
//!
//! Waiters are not members: who waits, and for how many, is the business of
//! [`double_barrier`](crate::double_barrier).
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

/// Why a wait with an end was not successful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum WaitError {
    /// The barrier was still up when the time was.
    #[error("the barrier was not lowered in time")]
    TimedOut,
    /// The server refuses the path.
    #[error("the barrier's znode cannot be used: {0}")]
    Refused(Error),
}

impl Barrier {
    /// The barrier that is up while the znode `node` exists.
    pub fn new(zookeeper: ZooKeeper, node: impl Into<Arc<str>>) -> Barrier {
        Barrier { zookeeper, node: node.into(), mutants: Mutants::NONE }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> Barrier {
        Barrier { mutants, ..self }
    }

    /// Raises it, and says by which transaction: whoever is told this zxid can tell that it has seen as much.
    /// One that is up already is fine, since there is one owner: it was raised by a create whose reply was lost,
    /// or by the owner's process before it died (recipe rule 2.2.4).
    ///
    /// # Errors
    /// The server's refusal of the path.
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

    /// Lowers it. One that is down already is fine: nobody raises it again (recipe rule 2.2.5).
    ///
    /// # Errors
    /// The server's refusal of the path.
    pub async fn lower(&self) -> Result<(), Error> {
        in_sessions(&self.zookeeper, |zookeeper, _| async move {
            ensure_deleted(&zookeeper, &self.node).await
        })
        .await
    }

    /// Waits while it is up, for as long as it takes, in one session after the other.
    ///
    /// Cancel-safe.
    ///
    /// # Errors
    /// The server's refusal of the path.
    pub async fn wait(&self) -> Result<(), Error> {
        in_sessions(&self.zookeeper, |zookeeper, _| async move { self.look(&zookeeper).await })
            .await?;
        self.zookeeper.observe(BarrierSeen::Passed { node: Arc::clone(&self.node) });
        Ok(())
    }

    /// As [`Barrier::wait`], but not longer than `patience`.
    ///
    /// # Errors
    /// [`WaitError`].
    pub async fn wait_timeout(&self, patience: Duration) -> Result<(), WaitError> {
        match self.zookeeper.timeout(patience, self.wait()).await {
            Ok(waited) => waited.map_err(WaitError::Refused),
            Err(TimedOut) => Err(WaitError::TimedOut),
        }
    }

    /// Looks until it is down, in one session (recipe rules 2.2.1 and 2.2.2).
    async fn look(&self, zookeeper: &ZooKeeper) -> Result<(), Error> {
        // Whether what this session is shown is at least as new as what the caller knew.
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
                // Not up yet, for this server? A write of our own brings it up to date (recipe rule 2.2.3).
                None => {
                    settle(zookeeper).await?;
                    is_current = true;
                }
                Some((raised, mut watch)) => {
                    self.found(raised);
                    let event = watch.changed().await?;
                    // Anything that happens to the znode uses the watch up: look again, whatever it was.
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
