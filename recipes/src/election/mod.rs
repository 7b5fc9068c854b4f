//! Leader election (recipe rule 2.13): at most one live leader among the candidates, and any client can learn which one
//! it is.
//!
//! # Contract
//!
//! Candidates queue as at the exclusive [lock](crate::lock), in the election's directory; the first one leads. Its
//! *term* is a fencing token, which grows from leader to leader. The leader then takes *office*: it creates the
//! ephemeral znode `leader` in the directory, with its term and any data about itself (such as an address), in a
//! transaction that checks that it is still the first. Others watch this znode ([`LeaderElection::observe`]). Office
//! and candidacy end in one transaction too.
//!
//! *What leading means* is what a grant of the lock means. A leader learns late that its session is over, and may
//! believe that it leads while the next one already does. Work that must not be done twice has to check the
//! [`term`](Leadership::term), or go through [`Leadership::fenced`].
//!
//! *Wake-ups.* A leader's end wakes one candidate and every observer, because all observers want to know.
//!
//! *What an observer sees* may be old, like every read. The terms that one observer receives grow; it does not see
//! every leader.
//!
//! *One campaign, one session.* [`LeaderElection::campaign`] fails with [`AcquireError::SessionExpired`] when its
//! session ends; campaigning again begins a new one. Futures may be dropped at any await point: what they created is
//! deleted in the background, as with the lock.
//!
//! The recipe's observations are [`LockSeen`](crate::contention::LockSeen), as of the lock, and [`ElectionSeen`]. Its
//! properties are in [`properties`], its published mistakes are [`Mutant`]s.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/leader.md")]

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
pub use seen::ElectionSeen;
#[cfg(feature = "checking")]
pub use worker::{CandidateWork, candidate, observer};

use crate::contention::contender;
use crate::contention::{
    self, AcquireError, Contest, FencedError, FencingToken, Guard, Kind, Loss, Release,
};
use crate::helpers::until_known;
use std::future::{Future, pending};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::op::{Data, Op, OpResult};
use vivarium_model::time::Duration;
use vivarium_model::zxid::Zxid;

/// An election. See the module for its contract.
#[derive(Clone, Debug)]
pub struct LeaderElection {
    zookeeper: ZooKeeper,
    directory: Arc<str>,
    mutants: Mutants,
}

/// Leadership. Dropping it resigns in the background.
#[derive(Debug)]
#[must_use = "dropping it resigns"]
pub struct Leadership {
    guard: Guard,
    mutants: Mutants,
}

/// A leader as an observer sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leader {
    /// Its term.
    pub term: FencingToken,
    /// The leader's data about itself.
    pub data: Data,
}

/// Follows the leader ([`LeaderElection::observe`]), in one session.
#[derive(Debug)]
pub struct Observer {
    /// Pinned to a session.
    zookeeper: ZooKeeper,
    election: Arc<str>,
    last: Option<Zxid>,
}

/// Returns the path of the leader's znode.
pub(crate) fn office(directory: &str) -> String {
    contender::child(directory, "leader")
}

impl LeaderElection {
    /// Creates a handle of the election in `directory`, which the first candidate creates if it is missing.
    pub fn new(zookeeper: ZooKeeper, directory: impl Into<Arc<str>>) -> LeaderElection {
        LeaderElection { zookeeper, directory: directory.into(), mutants: Mutants::NONE }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> LeaderElection {
        LeaderElection { mutants, ..self }
    }

    /// Waits until this candidate leads and has taken office (recipe rules 2.13.1 and 2.13.2), without a time limit.
    /// Observers see `data`.
    ///
    /// Cancel-safe: dropping the future withdraws.
    ///
    /// # Errors
    /// Fails like [`Lock::acquire`](crate::lock::Lock::acquire).
    pub async fn campaign(&self, data: &[u8]) -> Result<Leadership, AcquireError> {
        loop {
            let mut guard = match self.contest().acquire().await {
                Err(AcquireError::SessionExpired) if self.mutants.has(Mutant::RequeueLost) => {
                    return pending().await;
                }
                acquired => acquired?,
            };
            let mut content = guard.token().0.0.to_be_bytes().to_vec();
            content.extend_from_slice(data);
            match guard.take_office(&office(&self.directory), &content).await {
                Ok(()) => return Ok(self.lead(guard)),
                Err(FencedError::Lost(Loss::SessionEnded)) => {
                    return Err(AcquireError::SessionExpired);
                }
                // Another client deleted its znode: it queues again.
                Err(FencedError::Lost(Loss::NodeDeleted)) => {}
                Err(FencedError::Operation { error, .. } | FencedError::Failed(error)) => {
                    return Err(AcquireError::Refused(error));
                }
            }
        }
    }

    /// Waits until this candidate leads, but not longer than `patience`.
    ///
    /// # Errors
    /// Returns [`AcquireError::TimedOut`], and the errors of [`LeaderElection::campaign`].
    pub async fn campaign_timeout(
        &self,
        data: &[u8],
        patience: Duration,
    ) -> Result<Leadership, AcquireError> {
        let led = self.zookeeper.timeout(patience, self.campaign(data)).await;
        led.unwrap_or(Err(AcquireError::TimedOut))
    }

    /// Follows the leader, in the present session.
    pub async fn observe(&self) -> Observer {
        let session = self.zookeeper.connect().await;
        let zookeeper = self.zookeeper.scope(session);
        Observer { zookeeper, election: Arc::clone(&self.directory), last: None }
    }

    fn contest(&self) -> Contest {
        Contest {
            zookeeper: self.zookeeper.clone(),
            directory: Arc::clone(&self.directory),
            kind: Kind::Exclusive,
            predecessor: match self.mutants.has(Mutant::WatchSuccessor) {
                true => mutant::successor,
                false => contender::predecessor,
            },
            data: Data::from(&b""[..]),
            mutants: contention::Mutants::NONE,
        }
    }

    fn lead(&self, guard: Guard) -> Leadership {
        let (election, term) = (Arc::clone(&self.directory), guard.token().0);
        self.zookeeper.observe(ElectionSeen::Leads { election, term });
        Leadership { guard, mutants: self.mutants }
    }
}

impl Leadership {
    /// Returns the term: larger than that of every earlier leader.
    pub fn term(&self) -> FencingToken {
        self.guard.token()
    }

    /// Resolves when the leadership is lost, like [`Guard::lost`].
    pub async fn lost(&self) -> Loss {
        self.guard.lost().await
    }

    /// Runs `work` until it is done or the leadership is lost; then drops it at its await point.
    ///
    /// # Errors
    /// Returns how the leadership was lost.
    pub async fn while_leading<F: Future>(&self, work: F) -> Result<F::Output, Loss> {
        self.guard.while_held(work).await
    }

    /// Writes inside ZooKeeper only while it leads, like [`Guard::fenced`].
    ///
    /// # Errors
    /// Returns [`FencedError`]. After `ConnectionLoss`, the result is unknown.
    pub async fn fenced(&self, ops: Vec<Op>) -> Result<Vec<OpResult>, FencedError> {
        self.guard.fenced(ops).await
    }

    /// Resigns, like [`Guard::release`].
    pub async fn resign(mut self) -> Release {
        if self.mutants.has(Mutant::OfficeOutlivesCandidacy) {
            self.guard.forget_office();
        }
        self.guard.release().await
    }
}

impl Observer {
    /// Returns the next leader: another one than the last that it returned. Waits until there is one.
    ///
    /// Cancel-safe.
    ///
    /// # Errors
    /// Returns `SessionExpired` if the session ends: observing again begins a new one, which does not remember the last
    /// leader. Or returns the server's refusal of the path.
    pub async fn next(&mut self) -> Result<Leader, Error> {
        let office = office(&self.election);
        loop {
            let read = || self.zookeeper.get_data_watch(&office);
            let mut watch = match until_known(&self.zookeeper, read).await {
                Ok((content, _stat, watch)) => {
                    if let Some(leader) = leader(&content)
                        && self.last < Some(leader.term.0)
                    {
                        self.last = Some(leader.term.0);
                        let (election, term) = (Arc::clone(&self.election), leader.term.0);
                        self.zookeeper.observe(ElectionSeen::Follows { election, term });
                        return Ok(leader);
                    }
                    watch
                }
                Err(Error::NoNode) => {
                    let exists = || self.zookeeper.exists_watch(&office);
                    let (stat, watch) = until_known(&self.zookeeper, exists).await?;
                    if stat.is_some() {
                        continue;
                    }
                    watch
                }
                Err(error) => return Err(error),
            };
            watch.changed().await?;
        }
    }
}

/// Parses the content of a leader's znode; `None` if no leader has written it.
fn leader(content: &[u8]) -> Option<Leader> {
    let (term, data) = content.split_first_chunk::<8>()?;
    let term = FencingToken(Zxid(u64::from_be_bytes(*term)));
    Some(Leader { term, data: Data::from(data) })
}
