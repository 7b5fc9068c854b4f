//! Counts the votes until one is abort, all are commit, or another participant has decided.

use super::{Decision, TwoPhaseCommit};
use crate::helpers::until_known;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, Watch, race};

/// A site whose vote is not known.
struct Open {
    site: Arc<str>,
    /// Watches its vote; `None` if the vote must be read (again).
    watch: Option<Watch>,
}

impl TwoPhaseCommit {
    /// Takes part as a site that counts the votes itself, as all others do: waits until the transaction has begun,
    /// votes, and returns the decision.
    ///
    /// A vote wakes every site that waits for it; the decision wakes those that still wait for a vote.
    ///
    /// # Errors
    /// `SessionExpired`; `NoNode` if the transaction has no such site.
    pub async fn all_to_all(&self, vote: Decision) -> Result<Decision, Error> {
        let sites = self.sites().await?;
        match self.vote(vote).await? {
            // Its own vote suffices to abort.
            Decision::Abort => self.decide(Decision::Abort).await,
            Decision::Commit => {
                let others = sites.into_iter().filter(|site| *site != self.who);
                self.count(others.collect()).await
            }
        }
    }

    /// Waits for the votes of these sites and decides by them, unless another participant decides first (recipe rule
    /// 2.12.4).
    pub(super) async fn count(&self, sites: Vec<Arc<str>>) -> Result<Decision, Error> {
        let Some(mut decided) = self.watch_decision().await? else {
            return self.read_decision().await;
        };
        let mut open: Vec<Open> =
            sites.into_iter().map(|site| Open { site, watch: None }).collect();
        loop {
            if self.read_votes(&mut open).await? == Some(Decision::Abort) {
                return self.decide(Decision::Abort).await;
            }
            if open.is_empty() {
                return self.decide(Decision::Commit).await;
            }
            match race(decided.changed(), any_voted(&mut open)).await {
                Either::Left(changed) => {
                    changed?;
                    return self.read_decision().await;
                }
                Either::Right(voted) => voted?,
            }
        }
    }

    /// Reads the votes that are not watched, and removes the sites that voted commit. Returns `Abort` if a site voted
    /// abort.
    async fn read_votes(&self, open: &mut Vec<Open>) -> Result<Option<Decision>, Error> {
        for one in open.iter_mut().filter(|one| one.watch.is_none()) {
            match self.watch_vote(&one.site).await? {
                Ok(Decision::Abort) => return Ok(Some(Decision::Abort)),
                Ok(Decision::Commit) => {}
                Err(watch) => one.watch = Some(watch),
            }
        }
        open.retain(|one| one.watch.is_some());
        Ok(None)
    }

    /// Returns a site's vote, or a watch for it.
    pub(super) async fn watch_vote(&self, site: &str) -> Result<Result<Decision, Watch>, Error> {
        let (zookeeper, path) = (&self.zookeeper, self.vote_of(site));
        let (data, _, watch) = until_known(zookeeper, || zookeeper.get_data_watch(&path)).await?;
        Ok(Decision::read(&data).ok_or(watch))
    }
}

/// Waits until one of the watches fires, and removes it.
async fn any_voted(open: &mut [Open]) -> Result<(), Error> {
    poll_fn(|context| {
        let mut polled = open.iter_mut().map(|one| poll_watch(&mut one.watch, context));
        polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
    })
    .await
}

/// Polls the watch, if there is one, and removes it once it has fired.
pub(super) fn poll_watch(
    slot: &mut Option<Watch>,
    context: &mut Context<'_>,
) -> Poll<Result<(), Error>> {
    let Some(watch) = slot else { return Poll::Pending };
    let polled = pin!(watch.changed()).poll(context);
    polled.map(|changed| {
        *slot = None;
        changed.map(drop)
    })
}
