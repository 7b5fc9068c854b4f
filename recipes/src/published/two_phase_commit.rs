//! Two-phase commit as in ZooKeeper's recipes page and two translations.
//!
//! | text | read as | goes wrong at | property |
//! |---|---|---|---|
//! | [`Text::Rewritable`] | the page: a vote is written, and may be written again | step 4 | TP4 |
//! | [`Text::Ephemeral`] | the page's remedy for failing sites: each creates its own ephemeral znode | step 5 | TP1 |
//! | [`Text::Prefilled`] | an older translation: the contents are *defined* when the znodes are created | step 2 | TP2 |
//!
//! The steps of the page: (1) a coordinator creates a znode for the transaction, and a child for each site; (2) it
//! leaves their contents undefined; (3) each site, once it knows the transaction, reads each child and sets a watch;
//! (4) it votes by writing to its own child; (5) a site decides once it has all votes, and aborts as soon as it finds a
//! vote for abort.
//!
//! Gaps in the texts are read in their favour: requests whose reply was lost are repeated, a session that has ended is
//! followed by another, and a site waits until a child has content. The transaction's znode is `votes` below the
//! transaction here, where the monitors look for it. The coordinator is a site as well.

use crate::helpers::{ensure_path, in_sessions, until_known};
use crate::two_phase_commit::{CommitSeen, Decision, Why};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::op::{CreateMode, Version};
use vivarium_model::time::Duration;

/// The text that a program follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Text {
    /// The page, and both translations.
    Rewritable,
    /// The variant of the page and the translations for sites that may fail.
    Ephemeral,
    /// The older translation.
    Prefilled,
}

/// The parameters of a program that follows one of these texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedCommit {
    /// The text.
    pub text: Text,
    /// The transaction's path.
    pub transaction: Arc<str>,
    /// The names of all sites.
    pub sites: Vec<Arc<str>>,
    /// The name of this program's site.
    pub site: Arc<str>,
    /// True if this site is also the coordinator.
    pub coordinates: bool,
    /// How long a site waits for the votes before it changes its own; `None` for ever.
    pub patience: Option<Duration>,
    /// Tells whether the engine may end that wait early.
    pub cancel: bool,
    /// Tells whether to close the session at the end.
    pub close: bool,
}

impl PublishedCommit {
    fn votes(&self) -> String {
        format!("{}/votes", self.transaction)
    }

    fn child(&self, site: &str) -> String {
        format!("{}/{site}", self.votes())
    }
}

/// A program that takes part as `work` says.
///
/// It fails with the server's refusal of a path.
pub fn published_commit(work: PublishedCommit) -> Program {
    program(move |zookeeper| {
        let work = work.clone();
        async move {
            let taken = in_sessions(&zookeeper, |zookeeper, _| {
                let work = &work;
                async move { take_part(&zookeeper, work).await }
            });
            taken.await.map_err(|error| error.to_string())?;
            if work.close {
                zookeeper.close().await;
            }
            Ok(())
        }
    })
}

async fn take_part(zookeeper: &ZooKeeper, work: &PublishedCommit) -> Result<(), Error> {
    if work.coordinates {
        steps_1_and_2(zookeeper, work).await?;
    }
    step_4(zookeeper, work, Decision::Commit).await?;
    let decision = match work.text {
        Text::Ephemeral => steps_3_and_5_of_ephemerals(zookeeper, work).await?,
        Text::Rewritable | Text::Prefilled => {
            match patiently(zookeeper, work, steps_3_and_5(zookeeper, work)).await {
                Some(decision) => decision?,
                None => {
                    // The text does not say that a vote is final: the site votes again.
                    step_4(zookeeper, work, Decision::Abort).await?;
                    Decision::Abort
                }
            }
        }
    };
    let (transaction, who) = (Arc::clone(&work.transaction), Arc::clone(&work.site));
    zookeeper.observe(CommitSeen::Decided { transaction, who, decision });
    Ok(())
}

/// (1) The coordinator creates the transaction's znode and a child for each site; (2) it leaves their contents
/// undefined, or, in the older translation, defined.
async fn steps_1_and_2(zookeeper: &ZooKeeper, work: &PublishedCommit) -> Result<(), Error> {
    let transaction = Arc::clone(&work.transaction);
    zookeeper.observe(CommitSeen::Begins { transaction, sites: work.sites.clone() });
    ensure_path(zookeeper, &work.votes()).await?;
    if work.text == Text::Ephemeral {
        // The sites create their own.
        return Ok(());
    }
    let content: &[u8] = match work.text {
        Text::Prefilled => Decision::Commit.bytes(),
        Text::Rewritable | Text::Ephemeral => b"",
    };
    for site in &work.sites {
        let path = work.child(site);
        let create = || zookeeper.create(&path, content, CreateMode::Persistent);
        match until_known(zookeeper, create).await {
            Ok(_) | Err(Error::NodeExists) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// (4) The site votes by writing to its own child, or by creating it.
async fn step_4(
    zookeeper: &ZooKeeper,
    work: &PublishedCommit,
    vote: Decision,
) -> Result<(), Error> {
    let path = work.child(&work.site);
    let wait_for = match work.text {
        Text::Ephemeral => work.votes(),
        Text::Rewritable | Text::Prefilled => path.clone(),
    };
    exists(zookeeper, &wait_for).await?;
    let (transaction, site) = (Arc::clone(&work.transaction), Arc::clone(&work.site));
    zookeeper.observe(CommitSeen::Votes { transaction, site, vote });
    if work.text == Text::Ephemeral {
        let create = || zookeeper.create(&path, vote.bytes(), CreateMode::Ephemeral);
        return match until_known(zookeeper, create).await {
            Ok(_) | Err(Error::NodeExists) => Ok(()),
            Err(error) => Err(error),
        };
    }
    let write = || zookeeper.set_data(&path, vote.bytes(), Version::Any);
    until_known(zookeeper, write).await.map(drop)
}

/// (3) The site reads each child and sets a watch; (5) it decides once it has all votes, and aborts as soon as it finds
/// a vote for abort.
async fn steps_3_and_5(zookeeper: &ZooKeeper, work: &PublishedCommit) -> Result<Decision, Error> {
    for site in &work.sites {
        let path = work.child(site);
        loop {
            let read = || zookeeper.get_data_watch(&path);
            let (data, _, mut watch) = match until_known(zookeeper, read).await {
                Err(Error::NoNode) => {
                    exists(zookeeper, &path).await?;
                    continue;
                }
                known => known?,
            };
            match Decision::read(&data) {
                Some(Decision::Abort) => return Ok(Decision::Abort),
                Some(Decision::Commit) => break,
                None => drop(watch.changed().await?),
            }
        }
    }
    Ok(Decision::Commit)
}

/// Steps 3 and 5 with ephemeral votes: once all votes exist, the site reads each; a vote that is missing by then means
/// that its site has failed.
async fn steps_3_and_5_of_ephemerals(
    zookeeper: &ZooKeeper,
    work: &PublishedCommit,
) -> Result<Decision, Error> {
    let votes = work.votes();
    loop {
        let list = || zookeeper.get_children_watch(&votes);
        let (names, mut watch) = until_known(zookeeper, list).await?;
        if work.sites.iter().all(|site| names.iter().any(|name| *name == **site)) {
            break;
        }
        watch.changed().await?;
    }
    for site in &work.sites {
        let path = work.child(site);
        match until_known(zookeeper, || zookeeper.get_data(&path)).await {
            Ok((data, _)) if Decision::read(&data) == Some(Decision::Abort) => {
                return Ok(Decision::Abort);
            }
            Ok(_) => {}
            Err(Error::NoNode) => {
                let transaction = Arc::clone(&work.transaction);
                let why = Why::SiteGone(Arc::clone(site));
                zookeeper.observe(CommitSeen::AbortsByRule { transaction, why });
                return Ok(Decision::Abort);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Decision::Commit)
}

/// Waits until a znode exists.
async fn exists(zookeeper: &ZooKeeper, path: &str) -> Result<(), Error> {
    loop {
        let (stat, mut watch) = until_known(zookeeper, || zookeeper.exists_watch(path)).await?;
        if stat.is_some() {
            return Ok(());
        }
        watch.changed().await?;
    }
}

/// Waits with a limit; returns `None` if the patience ended first, or the engine cancelled.
async fn patiently(
    zookeeper: &ZooKeeper,
    work: &PublishedCommit,
    waiting: impl Future<Output = Result<Decision, Error>>,
) -> Option<Result<Decision, Error>> {
    let waiting = async {
        match work.patience {
            Some(patience) => zookeeper.timeout(patience, waiting).await.ok(),
            None => Some(waiting.await),
        }
    };
    match work.cancel {
        true => zookeeper.cancellable(waiting).await.ok().flatten(),
        false => waiting.await,
    }
}
