//! Programs that campaign and observe as the election's contract asks for, for scenarios and as examples.

use super::{LeaderElection, Mutants};
use crate::contention::{AcquireError, Routine};
use crate::helpers::next_session;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::time::Duration;

/// What a [`candidate`] does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateWork {
    /// The election.
    pub directory: Arc<str>,
    /// A resource outside ZooKeeper, to which leaders write under their term; none to leave that out.
    pub resource: Option<Arc<str>>,
    /// How it goes about it: a round is a term.
    pub routine: Routine,
    /// The recipe's mutants.
    pub mutants: Mutants,
}

/// A program that leads some times, and resigns each time.
///
/// It returns the server's refusal of a path.
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
            // Refused where somebody has led since: this one is a zombie.
            let _ = zookeeper.write_resource(resource, term, 0).await;
        }
        work.routine.stay(zookeeper).await;
    };
    // It stops where another may lead.
    let _ = led.while_leading(rule).await;
    led.resign().await;
    Ok(())
}

/// A program that follows the leaders of the election in this directory for a while.
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
