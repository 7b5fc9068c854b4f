//! Commit with failure detection: every participant has an ephemeral znode, its presence, so that others notice its
//! death.
//!
//! A death decides nothing by itself. A participant that notices it proposes to abort, and obeys the decision that
//! stands: a missing vote cannot make two participants decide differently, as it does if votes are ephemeral
//! (`TwoPcEphemeralVote`). A presence is never adopted from another session: that of an earlier incarnation is deleted,
//! and counts as dead.

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
    /// Watches its vote; `None` if the vote must be read (again).
    vote: Option<Watch>,
    /// Watches its presence; `None` if that must be read (again).
    presence: Option<Watch>,
    /// True once its presence was seen.
    joined: bool,
}

/// The result of looking at a site.
enum Known {
    Voted(Decision),
    Gone,
    Nothing,
}

impl TwoPhaseCommit {
    /// Like [`TwoPhaseCommit::coordinate`], and aborts if a site is gone before it has voted. The handle is pinned to
    /// `session`.
    ///
    /// The coordinator's presence is created with the transaction, and never again: once it is gone, with its session
    /// or its process, the transaction can only be aborted, by the first participant that notices, which may be the
    /// restarted coordinator.
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
            // The coordinator's presence is of an earlier session, so it is gone or will be.
            return self.abort(Why::CameBack).await;
        }
        self.count_present(sites).await
    }

    /// Like [`TwoPhaseCommit::begin`], and creates the coordinator's presence and the parent of the sites' presences.
    ///
    /// # Errors
    /// Fails like [`TwoPhaseCommit::begin`].
    pub async fn begin_detecting(&self, sites: &[Arc<str>]) -> Result<Begun, Error> {
        let presence = vec![
            Op::create(self.present(), &b""[..], CreateMode::Persistent),
            Op::create(self.coordinator(), &b""[..], CreateMode::Ephemeral),
        ];
        self.begin_with(sites, presence).await
    }

    /// Like [`TwoPhaseCommit::obey`], and aborts if the coordinator is gone before it has decided. The handle is pinned
    /// to `session`.
    ///
    /// # Errors
    /// `SessionExpired`; `NoNode` if the transaction has no such site.
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
                // The coordinator may have decided before, so the site must read the decision.
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

    /// Creates this site's presence in this session.
    async fn join(&self, session: SessionId) -> Result<(), Error> {
        let (zookeeper, own) = (&self.zookeeper, self.presence_of(&self.who));
        loop {
            let create = || zookeeper.create(&own, b"", CreateMode::Ephemeral);
            match until_known(zookeeper, create).await {
                Ok(_) => return Ok(()),
                Err(Error::NodeExists) if self.is_own(&own, session).await? => return Ok(()),
                // The presence of an earlier incarnation would be deleted with that one's session.
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

    /// Reads what is not watched of a site. It reads the presence first and, if that is gone, the vote after it: a site
    /// that has voted may leave.
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

    /// The parent of the sites' presences.
    fn present(&self) -> String {
        format!("{}/present", self.transaction)
    }

    fn presence_of(&self, site: &str) -> String {
        format!("{}/{site}", self.present())
    }

    /// The coordinator's presence.
    fn coordinator(&self) -> String {
        format!("{}/coordinator", self.transaction)
    }
}

/// Waits until one of the watches fires, and removes it.
async fn any_changed(open: &mut [Open]) -> Result<(), Error> {
    poll_fn(|context| {
        let slots = open.iter_mut().flat_map(|one| [&mut one.vote, &mut one.presence]);
        let mut polled = slots.map(|slot| poll_watch(slot, context));
        polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
    })
    .await
}
