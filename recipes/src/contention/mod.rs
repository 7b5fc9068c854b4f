//! Contention: the common part of locks, read-write locks, elections, semaphores and what is built on them (recipe rule
//! 2.8).
//!
//! Each contender creates one ephemeral sequential znode in a directory, whose name begins with an id that is unique to
//! the attempt, and waits for the nearest one before it that it cannot hold together with. An attempt is pinned to one
//! session. However it ends (by a grant, a refusal, a timeout, or a dropped future), its znode is recognised by its id,
//! and is deleted or held by a [`Guard`].

mod attempt;
pub mod contender;
mod downgrade;
mod guard;
mod janitor;
mod lease;
mod line;
mod mutant;
mod office;
#[cfg(feature = "checking")]
pub mod properties;
mod recovery;
mod request;
#[cfg(feature = "checking")]
mod routine;
mod seen;

pub use contender::Kind;
pub(crate) use downgrade::ReadersPlace;
pub use guard::{FencedError, FencingToken, Guard, Loss, Release};
pub(crate) use lease::LeaseAttempt;
pub(crate) use line::Line;
#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
pub(crate) use request::Content;
#[cfg(feature = "checking")]
pub use routine::Routine;
#[cfg(feature = "checking")]
pub(crate) use routine::write_under;
pub use seen::LockSeen;

use crate::helpers::ended;
use attempt::Attempt;
use contender::Contender;
use std::sync::Arc;
use thiserror::Error;
use vivarium_model::error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::id::SessionId;
use vivarium_model::op::Data;
use vivarium_model::time::Duration;

/// Selects which contender of a directory to wait for.
pub(crate) type Predecessor = for<'b> fn(&Contender<'_>, &[Contender<'b>]) -> Option<Contender<'b>>;

/// Where and in which role a program contends.
#[derive(Clone, Debug)]
pub(crate) struct Contest {
    pub(crate) zookeeper: ZooKeeper,
    /// The first attempt creates it if it is missing.
    pub(crate) directory: Arc<str>,
    pub(crate) kind: Kind,
    /// Selects which contender to wait for: [`contender::predecessor`], except for some mutants.
    pub(crate) predecessor: Predecessor,
    /// The content of the znode.
    pub(crate) data: Data,
    pub(crate) mutants: Mutants,
}

/// Why nothing was acquired. The attempt's znode is gone, or will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum AcquireError {
    /// The session ended, and the attempt with it. Acquiring again begins a new session.
    #[error("the session ended before the lock was acquired")]
    SessionExpired,
    /// The time was over before the lock was acquired.
    #[error("the lock was not acquired in time")]
    TimedOut,
    /// The server refuses the lock's directory: an invalid path, or an ephemeral parent.
    #[error("the lock's directory cannot be used: {0}")]
    Refused(error::Error),
}

impl Contest {
    /// Waits for a grant without a time limit. Begins a new session if the last one is over.
    ///
    /// Cancel-safe: dropping the future withdraws from the queue.
    pub(crate) async fn acquire(&self) -> Result<Guard, AcquireError> {
        loop {
            let mut events = self.zookeeper.session_events();
            let session = self.zookeeper.connect().await;
            match self.attempt(session).await {
                Ok(Some(guard)) => return Ok(guard),
                Ok(None) => {}
                Err(AcquireError::SessionExpired) => {
                    // A caller that retries immediately must get a new session.
                    ended(&mut events).await;
                    return Err(AcquireError::SessionExpired);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for a grant in this session only. When it fails with `SessionExpired`, the client may not know yet that
    /// the session is over.
    pub(crate) async fn acquire_in(&self, session: SessionId) -> Result<Guard, AcquireError> {
        loop {
            if let Some(guard) = self.attempt(session).await? {
                return Ok(guard);
            }
        }
    }

    /// Makes one attempt; `None` if it has lost its znode.
    async fn attempt(&self, session: SessionId) -> Result<Option<Guard>, AcquireError> {
        let id = format!("{:016x}", self.zookeeper.random().await);
        Attempt::begin(self, session, id.into()).run().await
    }

    /// Waits for a grant, but not longer than `patience`.
    pub(crate) async fn acquire_timeout(&self, patience: Duration) -> Result<Guard, AcquireError> {
        let acquired = self.zookeeper.timeout(patience, self.acquire()).await;
        acquired.unwrap_or(Err(AcquireError::TimedOut))
    }
}

impl From<error::Error> for AcquireError {
    fn from(error: error::Error) -> AcquireError {
        match error {
            error::Error::SessionExpired => AcquireError::SessionExpired,
            other => AcquireError::Refused(other),
        }
    }
}
