//! The routine of a program that repeatedly acquires a lock, a permit or an office: shared by the workers of several
//! recipes.

use super::{AcquireError, FencingToken};
use std::future::Future;
use std::sync::Arc;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
use vivarium_model::time::Duration;

/// The routine of a program: how often, how long and how patiently it acquires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routine {
    /// The number of rounds.
    pub rounds: u32,
    /// How long to hold what was acquired.
    pub hold: Duration,
    /// How long to wait before a round is given up; `None` for no limit.
    pub patience: Option<Duration>,
    /// Whether the engine may cancel a wait.
    pub cancel: bool,
    /// How long to stay connected after the last round, so that a leak can be seen.
    pub linger: Duration,
    /// Whether to close the session at the end. A program that can be cancelled must close it, because background tasks
    /// end with the program, done or not.
    pub close: bool,
}

impl Routine {
    /// One round, and nothing else.
    pub const ONCE: Routine = Routine {
        rounds: 1,
        hold: Duration::ZERO,
        patience: None,
        cancel: false,
        linger: Duration::ZERO,
        close: false,
    };

    /// Builds a program that runs its rounds. A round whose session ends is repeated in the next session; one that
    /// takes too long is skipped.
    ///
    /// The program returns the server's refusal of a path.
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

    /// Like [`Routine::program`], with a turn for each round: there are no more rounds than turns.
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

    /// Returns what was acquired; `None` if the engine cancelled.
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

/// Writes to a resource outside of ZooKeeper with this token. Returns true if the resource accepted it; a resource that
/// refuses has seen a later holder. Returns true if there is no resource, because nothing can refuse then.
pub(crate) async fn write_under(
    zookeeper: &ZooKeeper,
    resource: Option<&Arc<str>>,
    token: FencingToken,
) -> bool {
    let Some(resource) = resource else { return true };
    zookeeper.write_resource(resource, Some(token.0), 0).await.is_ok()
}
