//! A program that takes part in transactions, one after the other, for scenarios and as an example.

use super::{Decision, Mutant, Mutants, TwoPhaseCommit, ephemeral_votes};
use crate::helpers::in_sessions;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
use vivarium_model::id::SessionId;
use vivarium_model::time::Duration;

/// The participants that look at the votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// Every site.
    AllToAll,
    /// The coordinator.
    Coordinator,
    /// The coordinator; in addition, deaths are detected.
    Detecting,
}

/// The part that a [`commit_worker`] plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Begins the transactions and decides them.
    Coordinator,
    /// Begins the transactions and is also this site, with these votes by transaction; for [`Way::AllToAll`].
    First(Arc<str>, Vec<Decision>),
    /// Is this site, with these votes by transaction.
    Site(Arc<str>, Vec<Decision>),
}

impl Part {
    fn name(&self) -> Arc<str> {
        match self {
            Part::Coordinator => Arc::from("coordinator"),
            Part::First(site, _) | Part::Site(site, _) => Arc::clone(site),
        }
    }

    /// Returns the vote in the transaction of this number; the last vote is used for all later transactions.
    fn vote(&self, number: u32) -> Option<Decision> {
        let (Part::First(_, votes) | Part::Site(_, votes)) = self else { return None };
        Some(votes.get(number as usize).or(votes.last()).copied().unwrap_or(Decision::Commit))
    }

    fn begins(&self) -> bool {
        !matches!(self, Part::Site(..))
    }
}

/// Configures a [`commit_worker`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitWork {
    /// The parent of the transactions, which are named by their numbers from 0.
    pub directory: Arc<str>,
    /// The names of all sites.
    pub sites: Vec<Arc<str>>,
    /// The part of this program.
    pub part: Part,
    /// The participants that look at the votes.
    pub way: Way,
    /// How many transactions to take part in.
    pub transactions: u32,
    /// How long to wait for a decision before giving up; `None` for no limit.
    pub patience: Option<Duration>,
    /// Whether the engine may cancel waiting; the program then gives up too.
    pub cancel: bool,
    /// Whether to close the session at the end.
    pub close: bool,
    /// The mutants.
    pub mutants: Mutants,
}

impl CommitWork {
    /// One transaction without a time limit, and nothing else.
    pub fn lean(
        directory: impl Into<Arc<str>>,
        sites: Vec<Arc<str>>,
        part: Part,
        way: Way,
    ) -> CommitWork {
        CommitWork {
            directory: directory.into(),
            sites,
            part,
            way,
            transactions: 1,
            patience: None,
            cancel: false,
            close: false,
            mutants: Mutants::NONE,
        }
    }
}

/// Returns a program that takes part in one transaction after the other. The next session or process repeats what a
/// session or process has left undone.
///
/// The program fails with the server's error for a path.
pub fn commit_worker(work: CommitWork) -> Program {
    rounds(0u32, move |zookeeper, number| {
        let work = work.clone();
        async move {
            if number < work.transactions {
                transact(&zookeeper, &work, number).await.map_err(|error| error.to_string())?;
                return Ok(Round::Again(number + 1));
            }
            if work.close {
                zookeeper.close().await;
            }
            Ok(Round::Done)
        }
    })
}

/// Takes part in one transaction until it is decided.
async fn transact(
    zookeeper: &ZooKeeper,
    work: &CommitWork,
    number: u32,
) -> Result<Decision, Error> {
    let path: Arc<str> = format!("{}/{number}", work.directory).into();
    in_sessions(zookeeper, |zookeeper, session| {
        let commit = TwoPhaseCommit::new(zookeeper.clone(), Arc::clone(&path), work.part.name())
            .with_mutants(work.mutants);
        async move {
            let part = take_part(&commit, work, number, session);
            match patiently(&zookeeper, work, part).await {
                Some(decision) => decision,
                None => give_up(&commit, work).await,
            }
        }
    })
    .await
}

/// Takes part with a limit. Returns `None` if the patience ended first, or the engine cancelled.
async fn patiently(
    zookeeper: &ZooKeeper,
    work: &CommitWork,
    part: impl Future<Output = Result<Decision, Error>>,
) -> Option<Result<Decision, Error>> {
    let part = async {
        match work.patience {
            Some(patience) => zookeeper.timeout(patience, part).await.ok(),
            None => Some(part.await),
        }
    };
    match work.cancel {
        true => zookeeper.cancellable(part).await.ok().flatten(),
        false => part.await,
    }
}

/// Gives the transaction up. Only a transaction that has begun can be aborted: a participant that may begin it does
/// so first, and the others wait for its beginning.
async fn give_up(commit: &TwoPhaseCommit, work: &CommitWork) -> Result<Decision, Error> {
    match (work.part.begins(), work.way) {
        (true, Way::Detecting) => drop(commit.begin_detecting(&work.sites).await?),
        (true, _) => drop(commit.begin(&work.sites).await?),
        (false, _) => drop(commit.sites().await?),
    }
    commit.give_up().await
}

async fn take_part(
    commit: &TwoPhaseCommit,
    work: &CommitWork,
    number: u32,
    session: SessionId,
) -> Result<Decision, Error> {
    let vote = work.part.vote(number);
    if work.mutants.has(Mutant::TwoPcEphemeralVote) {
        return ephemeral_votes(commit, &work.sites, vote).await;
    }
    match (work.way, vote) {
        (Way::AllToAll, Some(vote)) => {
            if work.part.begins() {
                commit.begin(&work.sites).await?;
            }
            commit.all_to_all(vote).await
        }
        (Way::Coordinator, Some(vote)) => commit.obey(vote).await,
        (Way::Detecting, Some(vote)) => commit.obey_detecting(vote, session).await,
        (Way::Detecting, None) => commit.coordinate_detecting(&work.sites, session).await,
        (Way::AllToAll | Way::Coordinator, None) => commit.coordinate(&work.sites).await,
    }
}
