//! A program that uses the double barrier according to its contract, for scenarios and as an example.

use super::{DoubleBarrier, EnterError, Entered, LeaveError, Mutants};
use std::sync::Arc;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
use vivarium_model::time::Duration;

/// Configures a [`double_barrier_worker`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoubleBarrierWork {
    /// The double barrier's directory.
    pub directory: Arc<str>,
    /// The name of this party.
    pub party: Arc<str>,
    /// How many parties a generation needs.
    pub parties: usize,
    /// How many generations to go through.
    pub generations: u64,
    /// How long to stay inside.
    pub hold: Duration,
    /// Whether the work inside ends when the membership is lost ([`Entered::while_inside`]).
    pub guard_watch: bool,
    /// How long to wait for enough parties; `None` for no limit.
    pub patience: Option<Duration>,
    /// How long to wait in the last generation for all parties to leave; `None` for no limit.
    pub leave_patience: Option<Duration>,
    /// Whether the engine may cancel entering.
    pub cancel: bool,
    /// Whether to close the session at the end. Required for a program that may withdraw, give up or be cancelled:
    /// background tasks end with the program, finished or not.
    pub close: bool,
    /// The double barrier's mutants.
    pub mutants: Mutants,
}

impl DoubleBarrierWork {
    /// One party without time limits in the double barrier in `directory`.
    pub fn new(
        directory: impl Into<Arc<str>>,
        party: impl Into<Arc<str>>,
        parties: usize,
    ) -> DoubleBarrierWork {
        DoubleBarrierWork {
            directory: directory.into(),
            party: party.into(),
            parties,
            generations: 1,
            hold: Duration::from_millis(10),
            guard_watch: true,
            patience: None,
            leave_patience: None,
            cancel: false,
            close: true,
            mutants: Mutants::NONE,
        }
    }

    /// The least work that uses the double barrier: enter, leave, and finish.
    pub fn lean(
        directory: impl Into<Arc<str>>,
        party: impl Into<Arc<str>>,
        parties: usize,
    ) -> DoubleBarrierWork {
        DoubleBarrierWork {
            hold: Duration::ZERO,
            guard_watch: false,
            close: false,
            ..DoubleBarrierWork::new(directory, party, parties)
        }
    }
}

/// Returns a program that goes through all generations, one after the other. It skips a generation that is aborted or
/// over, and enters one again if the session ends in it or the engine cancels. A restarted process begins with the
/// first generation, and skips those that are over.
///
/// The program fails with the server's error for a path.
pub fn double_barrier_worker(work: DoubleBarrierWork) -> Program {
    rounds(0, move |zookeeper, generation| {
        let work = work.clone();
        async move { next(&zookeeper, &work, generation).await }
    })
}

async fn next(
    zookeeper: &ZooKeeper,
    work: &DoubleBarrierWork,
    generation: u64,
) -> Result<Round<u64>, String> {
    if generation == work.generations {
        if work.close {
            zookeeper.close().await;
        }
        return Ok(Round::Done);
    }
    let entered = match enter(zookeeper, work, generation).await {
        Some(Ok(entered)) => entered,
        Some(Err(EnterError::Aborted | EnterError::TimedOut | EnterError::Over)) => {
            return Ok(Round::Again(generation + 1));
        }
        Some(Err(EnterError::SessionExpired)) | None => return Ok(Round::Again(generation)),
        Some(Err(refused)) => return Err(refused.to_string()),
    };
    match inside(zookeeper, work, entered, generation).await {
        Ok(()) | Err(LeaveError::TimedOut) => Ok(Round::Again(generation + 1)),
        Err(LeaveError::SessionExpired) => Ok(Round::Again(generation)),
        Err(refused) => Err(refused.to_string()),
    }
}

/// Enters a generation. Returns `None` if the engine cancelled.
async fn enter(
    zookeeper: &ZooKeeper,
    work: &DoubleBarrierWork,
    generation: u64,
) -> Option<Result<Entered, EnterError>> {
    let (directory, party) = (Arc::clone(&work.directory), Arc::clone(&work.party));
    let barrier = DoubleBarrier::new(zookeeper.clone(), directory, party, work.parties)
        .with_mutants(work.mutants);
    let entering = async {
        match work.patience {
            Some(patience) => barrier.enter_timeout(generation, patience).await,
            None => barrier.enter(generation).await,
        }
    };
    if work.cancel { zookeeper.cancellable(entering).await.ok() } else { Some(entering.await) }
}

/// Works inside, and leaves.
async fn inside(
    zookeeper: &ZooKeeper,
    work: &DoubleBarrierWork,
    entered: Entered,
    generation: u64,
) -> Result<(), LeaveError> {
    if !work.hold.is_zero() {
        let working = zookeeper.sleep(work.hold);
        if work.guard_watch {
            // A program that has lost its membership learns the reason when it leaves.
            let _ = entered.while_inside(working).await;
        } else {
            working.await;
        }
    }
    match work.leave_patience.filter(|_| generation + 1 == work.generations) {
        Some(patience) => entered.leave_timeout(patience).await,
        None => entered.leave().await,
    }
}
