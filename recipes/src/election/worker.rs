//! Programs that campaign and observe according to the election's contract, for scenarios and as examples.

use super::{LeaderElection, Mutants};
use crate::contention::{AcquireError, Routine};
use crate::helpers::next_session;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::time::Duration;

/// Configures a [`candidate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateWork {
    /// The election's directory.
    pub directory: Arc<str>,
    /// A resource outside of ZooKeeper, to which leaders write under their term; `None` for no such write.
    pub resource: Option<Arc<str>>,
    /// How the candidate proceeds; a round is a term.
    pub routine: Routine,
    /// The recipe's mutants.
    pub mutants: Mutants,
}

/// Returns a program that leads several times, and resigns each time.
///
/// The program fails with the server's error for a path.
pub fn candidate(work: CandidateWork) -> Program {
    let routine = work.routine;
    routine.program(move |zookeeper, _term| {
        let work = work.clone();
        async move { lead(&zookeeper, &work).await }
    })
}

async fn lead(zookeeper: &ZooKeeper, work: &CandidateWork) -> Result<(), AcquireError> {
    let election = LeaderElection::new(zookeeper.clone(), Arc::clone(&work.directory))
        .with_mutants(work.mutants);
    let campaign = async {
        match work.routine.patience {
            Some(patience) => election.campaign_timeout(b"here", patience).await,
            None => election.campaign(b"here").await,
        }
    };
    let Some(led) = work.routine.cancellable(zookeeper, campaign).await? else { return Ok(()) };
    let rule = async {
        if let Some(resource) = &work.resource {
            let term = Some(led.term().0);
            // The write is refused if another client has led since: this leader is a zombie.
            let _ = zookeeper.write_resource(resource, term, 0).await;
        }
        work.routine.stay(zookeeper).await;
    };
    // The leader stops its work when another client may lead.
    let _ = led.while_leading(rule).await;
    led.resign().await;
    Ok(())
}

/// Returns a program that follows the leaders of the election in this directory for `span`.
pub fn observer(directory: impl Into<Arc<str>>, span: Duration) -> Program {
    let directory = directory.into();
    program(move |zookeeper| {
        let directory = Arc::clone(&directory);
        async move {
            let observed = zookeeper.timeout(span, observe(&zookeeper, directory)).await;
            zookeeper.close().await;
            observed.unwrap_or(Ok(())).map_err(|error| error.to_string())
        }
    })
}

async fn observe(zookeeper: &ZooKeeper, directory: Arc<str>) -> Result<(), Error> {
    let election = LeaderElection::new(zookeeper.clone(), directory);
    let mut session = zookeeper.connect().await;
    loop {
        let mut observer = election.observe().await;
        let ended = loop {
            if let Err(error) = observer.next().await {
                break error;
            }
        };
        match ended {
            Error::SessionExpired => session = next_session(zookeeper, session).await,
            error => return Err(error),
        }
    }
}
