//! A program that uses the double barrier as its contract asks for, for scenarios and as an example.

use super::{DoubleBarrier, EnterError, Entered, LeaveError, Mutants};
use std::sync::Arc;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
use vivarium_model::time::Duration;

/// What a [`double_barrier_worker`] does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoubleBarrierWork {
    /// The double barrier.
    pub directory: Arc<str>,
    /// Who this party is.
    pub party: Arc<str>,
    /// How many parties a generation needs.
    pub parties: usize,
    /// How many generations there are.
    pub generations: u64,
    /// How long to be inside.
    pub hold: Duration,
    /// Whether the work inside ends when the membership is lost ([`Entered::while_inside`]).
    pub guard_watch: bool,
    /// How long to wait for enough parties; `None` for ever.
    pub patience: Option<Duration>,
    /// How long to wait, in the last generation, until all are out; `None` for ever.
    pub leave_patience: Option<Duration>,
    /// Whether entering may be cancelled by the engine.
    pub cancel: bool,
    /// Whether to close the session at the end. Who withdraws or gives up must, as must who is
    /// cancelled: what is done in the background ends with the program, done or not.
    pub close: bool,
    /// The double barrier's mutants.
    pub mutants: Mutants,
}

impl DoubleBarrierWork {
    /// One patient party of the double barrier in `directory`.
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

/// A program that goes through all generations, one after the other. One that is aborted or over is left out; one
/// in which the session ends, or that is cancelled, is entered again. A process that is started anew begins with
/// the first generation, and comes through those that are over.
///
/// It returns the server's refusal of a path.
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

/// `None` when the engine cancelled.
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

/// Works, and leaves.
async fn inside(
    zookeeper: &ZooKeeper,
    work: &DoubleBarrierWork,
    entered: Entered,
    generation: u64,
) -> Result<(), LeaveError> {
    if !work.hold.is_zero() {
        let working = zookeeper.sleep(work.hold);
        if work.guard_watch {
            // Whoever has lost its membership learns why when it leaves.
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
