//! Programs that campaign and observe as the election's contract asks for, for scenarios and as examples.

use super::{LeaderElection, Mutants};
use crate::contention::AcquireError;
use crate::helpers::next_session;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, Round, ZooKeeper, program, rounds};
use vivarium_model::time::Duration;

/// What a [`candidate`] does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateWork {
    /// The election.
    pub directory: Arc<str>,
    /// How often to lead.
    pub terms: u32,
    /// A resource outside ZooKeeper, to which leaders write under their term; none to leave that out.
    pub resource: Option<Arc<str>>,
    /// How long to lead.
    pub lead: Duration,
    /// How long to campaign before it is given up; `None` for ever.
    pub patience: Option<Duration>,
    /// Whether campaigning may be cancelled by the engine.
    pub cancel: bool,
    /// How long to stay connected at the end, so that a leak can be seen.
    pub linger: Duration,
    /// Whether to close the session at the end.
    pub close: bool,
    /// The recipe's mutants.
    pub mutants: Mutants,
}

impl CandidateWork {
    /// The least that leads once.
    pub fn lean(directory: impl Into<Arc<str>>) -> CandidateWork {
        CandidateWork {
            directory: directory.into(),
            terms: 1,
            resource: None,
            lead: Duration::ZERO,
            patience: None,
            cancel: false,
            linger: Duration::ZERO,
            close: false,
            mutants: Mutants::NONE,
        }
    }
}

/// A program that leads some times, and resigns each time. A campaign whose session ends begins again; one that
/// is cancelled or takes too long is left out.
///
/// It returns the server's refusal of a path.
pub fn candidate(work: CandidateWork) -> Program {
    rounds(0_u32, move |zookeeper, term| {
        let work = work.clone();
        async move { next(&zookeeper, &work, term).await }
    })
}

async fn next(
    zookeeper: &ZooKeeper,
    work: &CandidateWork,
    term: u32,
) -> Result<Round<u32>, String> {
    if term >= work.terms {
        if !work.linger.is_zero() {
            zookeeper.sleep(work.linger).await;
        }
        if work.close {
            zookeeper.close().await;
        }
        return Ok(Round::Done);
    }
    match lead(zookeeper, work).await {
        Ok(()) | Err(AcquireError::TimedOut) => Ok(Round::Again(term + 1)),
        Err(AcquireError::SessionExpired) => Ok(Round::Again(term)),
        Err(refused) => Err(refused.to_string()),
    }
}

async fn lead(zookeeper: &ZooKeeper, work: &CandidateWork) -> Result<(), AcquireError> {
    let election =
        LeaderElection::new(zookeeper.clone(), Arc::clone(&work.directory), work.mutants);
    let campaign = async {
        match work.patience {
            Some(patience) => election.campaign_timeout(b"here", patience).await,
            None => election.campaign(b"here").await,
        }
    };
    let led = if work.cancel {
        match zookeeper.cancellable(campaign).await {
            Ok(led) => led?,
            Err(_cancelled) => return Ok(()),
        }
    } else {
        campaign.await?
    };
    let work = async {
        if let Some(resource) = &work.resource {
            let term = Some(led.term().0);
            // Refused where somebody has led since: this one is a zombie.
            let _ = zookeeper.write_resource(resource, term, 0).await;
        }
        if !work.lead.is_zero() {
            zookeeper.sleep(work.lead).await;
        }
    };
    // It stops where another may lead.
    let _ = led.while_leading(work).await;
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
    let election = LeaderElection::new(zookeeper.clone(), directory, Mutants::NONE);
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
