//! The detecting way: every participant has an ephemeral znode, so that its death is seen.
//!
//! A death decides nothing by itself. Whoever sees it proposes to abort, and obeys what stands: that the
//! dead one's vote is gone cannot make two participants decide differently, as it does where votes are
//! ephemeral (`TwoPcEphemeralVote`). Presence is never adopted from another session: an earlier incarnation's is
//! deleted, and counts as dead.

use super::tally::poll_watch;
use super::{Begun, CommitSeen, Decision, Mutant, TwoPhaseCommit, Why};
use crate::helpers::{ensure_deleted, until_known};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, Watch, race};
use vivarium_model::id::SessionId;
use vivarium_model::op::{CreateMode, Op};

/// A site whose vote is not known.
struct Open {
    site: Arc<str>,
    /// For its vote; `None` where that must be read (again).
    vote: Option<Watch>,
    /// For its coming or going; likewise.
    presence: Option<Watch>,
    /// Its presence was seen.
    joined: bool,
}

/// What is known of a site now.
enum Known {
    Voted(Decision),
    Gone,
    Nothing,
}

impl TwoPhaseCommit {
    /// As [`TwoPhaseCommit::coordinate`], and aborts when a site is gone before it has voted. `session` is the
    /// one that the handle is pinned to.
    ///
    /// The coordinator's presence is created with the transaction, and never again: once it is gone, with its
    /// session or its process, the transaction is only ever aborted, by whoever sees that first, a
    /// coordinator that comes back included.
    ///
    /// # Errors
    /// `SessionExpired`, or the server's refusal of a path.
    pub async fn coordinate_detecting(
        &self,
        sites: &[Arc<str>],
        session: SessionId,
    ) -> Result<Decision, Error> {
        let begun = self.begin_detecting(sites).await?;
        if begun == Begun::Before && !self.is_own(&self.coordinator(), session).await? {
            // Of an earlier session: it is gone, or goes.
            return self.abort(Why::CameBack).await;
        }
        self.count_present(sites).await
    }

    /// As [`TwoPhaseCommit::begin`], with the coordinator's presence and a place for that of sites.
    ///
    /// # Errors
    /// As [`TwoPhaseCommit::begin`].
    pub async fn begin_detecting(&self, sites: &[Arc<str>]) -> Result<Begun, Error> {
        let presence = vec![
            Op::create(self.present(), &b""[..], CreateMode::Persistent),
            Op::create(self.coordinator(), &b""[..], CreateMode::Ephemeral),
        ];
        self.begin_with(sites, presence).await
    }

    /// As [`TwoPhaseCommit::obey`], and aborts when the coordinator is gone before it has decided. `session` is
    /// the one that the handle is pinned to.
    ///
    /// # Errors
    /// `SessionExpired`; `NoNode` where the transaction has no such site.
    pub async fn obey_detecting(
        &self,
        vote: Decision,
        session: SessionId,
    ) -> Result<Decision, Error> {
        self.sites().await?;
        self.join(session).await?;
        if self.vote(vote).await? == Decision::Abort {
            return self.decide(Decision::Abort).await;
        }
        let (zookeeper, coordinator) = (&self.zookeeper, self.coordinator());
        loop {
            let Some(mut decided) = self.watch_decision().await? else {
                return self.read_decision().await;
            };
            let exists = || zookeeper.exists_watch(&coordinator);
            let (stat, mut gone) = until_known(zookeeper, exists).await?;
            if stat.is_none() {
                // It may have decided before, so that has to be asked.
                if self.mutants.has(Mutant::TwoPcUnilateralAbort) {
                    let transaction = Arc::clone(&self.transaction);
                    let why = Why::CoordinatorGone;
                    zookeeper.observe(CommitSeen::AbortsByRule { transaction, why });
                    return Ok(self.conclude(Decision::Abort));
                }
                return self.abort(Why::CoordinatorGone).await;
            }
            match race(decided.changed(), gone.changed()).await {
                Either::Left(changed) | Either::Right(changed) => drop(changed?),
            }
        }
    }

    /// Makes this site's presence known in this session.
    async fn join(&self, session: SessionId) -> Result<(), Error> {
        let (zookeeper, own) = (&self.zookeeper, self.presence_of(&self.who));
        loop {
            let create = || zookeeper.create(&own, b"", CreateMode::Ephemeral);
            match until_known(zookeeper, create).await {
                Ok(_) => return Ok(()),
                Err(Error::NodeExists) if self.is_own(&own, session).await? => return Ok(()),
                // An earlier incarnation's, which would go with that one's session.
                Err(Error::NodeExists) => ensure_deleted(zookeeper, &own).await?,
                Err(error) => return Err(error),
            }
        }
    }

    async fn is_own(&self, path: &str, session: SessionId) -> Result<bool, Error> {
        let stat = until_known(&self.zookeeper, || self.zookeeper.exists(path)).await?;
        Ok(stat.is_some_and(|stat| stat.ephemeral_owner == Some(session)))
    }

    /// Counts the votes of sites that may die.
    async fn count_present(&self, sites: &[Arc<str>]) -> Result<Decision, Error> {
        let Some(mut decided) = self.watch_decision().await? else {
            return self.read_decision().await;
        };
        let new = |site: &Arc<str>| {
            let site = Arc::clone(site);
            Open { site, vote: None, presence: None, joined: false }
        };
        let mut open: Vec<Open> = sites.iter().map(new).collect();
        loop {
            let mut waiting = Vec::new();
            for mut one in open {
                match self.look(&mut one).await? {
                    Known::Voted(Decision::Commit) => {}
                    Known::Voted(Decision::Abort) => return self.decide(Decision::Abort).await,
                    Known::Gone => return self.abort(Why::SiteGone(one.site)).await,
                    Known::Nothing => waiting.push(one),
                }
            }
            if waiting.is_empty() {
                return self.decide(Decision::Commit).await;
            }
            open = waiting;
            match race(decided.changed(), any_changed(&mut open)).await {
                Either::Left(changed) => {
                    changed?;
                    return self.read_decision().await;
                }
                Either::Right(changed) => changed?,
            }
        }
    }

    /// Reads what is not watched of a site, its presence first: of one that has voted it does not matter.
    async fn look(&self, one: &mut Open) -> Result<Known, Error> {
        let mut gone = false;
        if one.presence.is_none() {
            let (zookeeper, path) = (&self.zookeeper, self.presence_of(&one.site));
            let (stat, watch) = until_known(zookeeper, || zookeeper.exists_watch(&path)).await?;
            gone = stat.is_none() && one.joined;
            one.joined |= stat.is_some();
            one.presence = Some(watch);
        }
        if gone || one.vote.is_none() {
            match self.watch_vote(&one.site).await? {
                Ok(vote) => return Ok(Known::Voted(vote)),
                Err(watch) => one.vote = Some(watch),
            }
        }
        Ok(if gone { Known::Gone } else { Known::Nothing })
    }

    /// Where sites show their presence.
    fn present(&self) -> String {
        format!("{}/present", self.transaction)
    }

    fn presence_of(&self, site: &str) -> String {
        format!("{}/{site}", self.present())
    }

    /// Where the coordinator shows its presence.
    fn coordinator(&self) -> String {
        format!("{}/coordinator", self.transaction)
    }
}

/// Waits until one of the watches fires, and takes it away.
async fn any_changed(open: &mut [Open]) -> Result<(), Error> {
    poll_fn(|context| {
        let slots = open.iter_mut().flat_map(|one| [&mut one.vote, &mut one.presence]);
        let mut polled = slots.map(|slot| poll_watch(slot, context));
        polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
    })
    .await
}
