//! The mutant `TwoPcEphemeralVote`: the complete algorithm of the recipes page for sites that may fail.
//!
//! A vote is its site's own ephemeral znode. Each participant waits until all votes exist, reads them, and decides on
//! its own; a vote that is missing when it is read counts as abort. Nothing ensures that two participants read the same
//! votes.

use super::{CommitSeen, Decision, TwoPhaseCommit, Why};
use crate::helpers::{ensure_path, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::op::{CreateMode, Op};
use vivarium_model::path;

/// Takes part with an ephemeral vote; the coordinator has no vote, and begins the transaction.
///
/// # Errors
/// `SessionExpired`, or the server's refusal of a path.
pub async fn ephemeral_votes(
    commit: &TwoPhaseCommit,
    sites: &[Arc<str>],
    vote: Option<Decision>,
) -> Result<Decision, Error> {
    match vote {
        None => begin(commit, sites).await?,
        Some(vote) => cast(commit, vote).await?,
    }
    wait_for_all(commit, sites).await?;
    let zookeeper = &commit.zookeeper;
    for site in sites {
        let path = commit.vote_of(site);
        match until_known(zookeeper, || zookeeper.get_data(&path)).await {
            Ok((data, _)) if Decision::read(&data) == Some(Decision::Abort) => {
                return Ok(commit.conclude(Decision::Abort));
            }
            Ok(_) => {}
            Err(Error::NoNode) => {
                let transaction = Arc::clone(&commit.transaction);
                let why = Why::SiteGone(Arc::clone(site));
                zookeeper.observe(CommitSeen::AbortsByRule { transaction, why });
                return Ok(commit.conclude(Decision::Abort));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(commit.conclude(Decision::Commit))
}

/// Creates the transaction without any site.
async fn begin(commit: &TwoPhaseCommit, sites: &[Arc<str>]) -> Result<(), Error> {
    let zookeeper = &commit.zookeeper;
    let transaction = Arc::clone(&commit.transaction);
    zookeeper.observe(CommitSeen::Begins { transaction, sites: sites.to_vec() });
    let create = |path: String, data: &[u8]| Op::create(path, data, CreateMode::Persistent);
    let list = sites.join("\n").into_bytes();
    let ops = vec![create(commit.transaction.to_string(), &list), create(commit.votes(), b"")];
    if let Some(parent) = path::parent(&commit.transaction) {
        ensure_path(zookeeper, parent).await?;
    }
    let multi = || async { zookeeper.multi(ops.clone()).await.map(drop).map_err(Error::from) };
    match until_known(zookeeper, multi).await {
        Ok(()) | Err(Error::NodeExists) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Creates the site's vote once the transaction exists.
async fn cast(commit: &TwoPhaseCommit, vote: Decision) -> Result<(), Error> {
    commit.exists(&commit.transaction).await?;
    let (transaction, site) = (Arc::clone(&commit.transaction), Arc::clone(&commit.who));
    commit.zookeeper.observe(CommitSeen::Votes { transaction, site, vote });
    let path = commit.vote_of(&commit.who);
    let create = || commit.zookeeper.create(&path, vote.bytes(), CreateMode::Ephemeral);
    match until_known(&commit.zookeeper, create).await {
        Ok(_) | Err(Error::NodeExists) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Waits until every site's vote exists.
async fn wait_for_all(commit: &TwoPhaseCommit, sites: &[Arc<str>]) -> Result<(), Error> {
    let (zookeeper, votes) = (&commit.zookeeper, commit.votes());
    loop {
        let list = || zookeeper.get_children_watch(&votes);
        let (names, mut watch) = until_known(zookeeper, list).await?;
        if sites.iter().all(|site| names.iter().any(|name| *name == **site)) {
            return Ok(());
        }
        watch.changed().await?;
    }
}
