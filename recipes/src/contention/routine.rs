//! How a program goes about what it does under a lock, a permit or an office, again and again: what the workers
//! of several recipes share.

use super::{AcquireError, FencingToken};
use std::future::Future;
use std::sync::Arc;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
use vivarium_model::time::Duration;

/// How often, for how long and how patiently a program does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routine {
    /// How often.
    pub rounds: u32,
    /// How long to hold what was acquired.
    pub hold: Duration,
    /// How long to wait before a round is given up; `None` for ever.
    pub patience: Option<Duration>,
    /// Whether waiting may be cancelled by the engine.
    pub cancel: bool,
    /// How long to stay connected after the last round, so that a leak can be seen.
    pub linger: Duration,
    /// Whether to close the session at the end. Who can be cancelled must: what goes on in the background ends
    /// with the program, done or not.
    pub close: bool,
}

impl Routine {
    /// Once, and no more than that.
    pub const ONCE: Routine = Routine {
        rounds: 1,
        hold: Duration::ZERO,
        patience: None,
        cancel: false,
        linger: Duration::ZERO,
        close: false,
    };

    /// A program that does its rounds. One whose session ends is begun again in the next session; one that takes
    /// too long is left out.
    ///
    /// It returns the server's refusal of a path.
    pub(crate) fn program<F>(
        self,
        round: impl Fn(ZooKeeper, u32) -> F + Clone + Send + Sync + 'static,
    ) -> Program
    where
        F: Future<Output = Result<(), AcquireError>> + Send + 'static,
    {
        rounds(0_u32, move |zookeeper, at| {
            let round = round.clone();
            async move {
                if at >= self.rounds {
                    self.leave(&zookeeper).await;
                    return Ok(Round::Done);
                }
                match round(zookeeper, at).await {
                    Ok(()) | Err(AcquireError::TimedOut) => Ok(Round::Again(at + 1)),
                    Err(AcquireError::SessionExpired) => Ok(Round::Again(at)),
                    Err(refused) => Err(refused.to_string()),
                }
            }
        })
    }

    /// The same, with a turn for each round: there are no more rounds than turns.
    pub(crate) fn program_of_turns<T, F>(
        self,
        turns: Vec<T>,
        take: impl Fn(ZooKeeper, T) -> F + Clone + Send + Sync + 'static,
    ) -> Program
    where
        T: Copy + Send + Sync + 'static,
        F: Future<Output = Result<(), AcquireError>> + Send + 'static,
    {
        self.program(move |zookeeper, at| {
            let (turn, take) = (turns.get(at as usize).copied(), take.clone());
            async move {
                match turn {
                    Some(turn) => take(zookeeper, turn).await,
                    None => Ok(()),
                }
            }
        })
    }

    /// What was acquired; `None` when the engine cancelled.
    pub(crate) async fn cancellable<G>(
        self,
        zookeeper: &ZooKeeper,
        acquire: impl Future<Output = Result<G, AcquireError>>,
    ) -> Result<Option<G>, AcquireError> {
        if self.cancel {
            zookeeper.cancellable(acquire).await.map_or(Ok(None), |acquired| acquired.map(Some))
        } else {
            acquire.await.map(Some)
        }
    }

    /// Sleeps for as long as it holds.
    pub(crate) async fn stay(self, zookeeper: &ZooKeeper) {
        if !self.hold.is_zero() {
            zookeeper.sleep(self.hold).await;
        }
    }

    async fn leave(self, zookeeper: &ZooKeeper) {
        if !self.linger.is_zero() {
            zookeeper.sleep(self.linger).await;
        }
        if self.close {
            zookeeper.close().await;
        }
    }
}

/// Whether a resource outside ZooKeeper took a write under this token; one that did not has seen a later holder. Where there
/// is none, nothing can refuse it.
pub(crate) async fn write_under(
    zookeeper: &ZooKeeper,
    resource: Option<&Arc<str>>,
    token: FencingToken,
) -> bool {
    let Some(resource) = resource else { return true };
    zookeeper.write_resource(resource, Some(token.0), 0).await.is_ok()
}
