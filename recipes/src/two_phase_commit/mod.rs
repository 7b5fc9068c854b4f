//! Two-phase commit (recipe rule 2.12): sites vote on a transaction, and all of them obey one decision.
//!
//! # Contract
//!
//! A transaction is a directory. The participant that begins it creates, in one multi, its znode with the list of the
//! sites and one empty znode per site. A site votes by writing its own znode from version 0 to version 1: a vote cannot
//! be changed, and a vote that is sent twice is one vote. The decision is one more znode, created once. The participant
//! that creates it has decided; all others read the decision and obey.
//!
//! *Guarantees of a decision.* All calls of this module's methods that return a decision return the same one. It is
//! [`Decision::Commit`] only if every listed site has voted commit. It is [`Decision::Abort`] only if a site has voted
//! abort, or a participant has given a reason to abort without such a vote ([`Why`]).
//!
//! *Three ways to take part.* They differ in which participants read the votes:
//!
//! | | who looks at the votes | woken per vote | blocks while |
//! |---|---|---|---|
//! | [`all_to_all`](TwoPhaseCommit::all_to_all) | every site | each site that waits for it | a listed site has not voted |
//! | [`coordinate`](TwoPhaseCommit::coordinate), [`obey`](TwoPhaseCommit::obey) | the coordinator | one | the same, or the coordinator is dead |
//! | [`coordinate_detecting`](TwoPhaseCommit::coordinate_detecting), [`obey_detecting`](TwoPhaseCommit::obey_detecting) | the coordinator, who also sees sites die, as they see it | one | a listed site has never joined |
//!
//! A decision wakes every participant that waits for it, in all three. A participant that does not want to block gives
//! up ([`give_up`](TwoPhaseCommit::give_up)): it proposes to abort, and obeys the decision that stands, which may be a
//! commit.
//!
//! *Sessions.* Votes, list and decision are persistent and idempotent: what is lost with a session or a process is
//! repeated under the same names ([`in_sessions`](crate::helpers::in_sessions)). Only the presence of [the detecting
//! way](TwoPhaseCommit::obey_detecting) is ephemeral; it decides nothing by itself, but lets others propose to abort.
//! It is deleted with its session.
//!
//! *Cancelling is safe.* Any future of this module may be dropped at any await point. A vote or a decision that was
//! sent may then stand or not; a repeated call returns which.
//!
//! *Not guaranteed.* Nothing need be decided while a participant is silent, except as the table says. A decision does
//! not mean that a site has *carried it out*: the site must do that, and can repeat it from the decision. The recipe
//! never deletes the transaction; a client that knows that all sites have obeyed may delete it.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/two-phase-commit.md")]
#![doc = include_str!("../../explored/two-phase-commit-coordinator.md")]
#![doc = include_str!("../../explored/two-phase-commit-detection.md")]

mod coordinator;
mod detection;
mod mutant;
#[cfg(feature = "checking")]
pub mod properties;
mod seen;
mod tally;
#[cfg(feature = "checking")]
mod variant;
#[cfg(feature = "checking")]
pub mod worker;

#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
#[cfg(feature = "checking")]
pub use properties::monitors;
pub use seen::{CommitSeen, Decision, Why};
#[cfg(feature = "checking")]
pub use variant::ephemeral_votes;
#[cfg(feature = "checking")]
pub use worker::{CommitWork, Part, Way, commit_worker};

use crate::helpers::{ensure_path, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Watch, ZooKeeper};
use vivarium_model::op::{CreateMode, Op, Version};
use vivarium_model::path;

/// One participant's handle of one transaction. See the module for its contract.
#[derive(Clone, Debug)]
pub struct TwoPhaseCommit {
    zookeeper: ZooKeeper,
    transaction: Arc<str>,
    /// The participant: a site, or the coordinator.
    who: Arc<str>,
    mutants: Mutants,
}

/// Tells which call has begun a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Begun {
    /// This call, or an earlier one whose reply was lost.
    Here,
    /// Another participant, or an earlier process or session of this one.
    Before,
}

impl TwoPhaseCommit {
    /// Creates the handle of `who` (a site, or a coordinator) for the transaction at this path.
    pub fn new(
        zookeeper: ZooKeeper,
        transaction: impl Into<Arc<str>>,
        who: impl Into<Arc<str>>,
    ) -> TwoPhaseCommit {
        TwoPhaseCommit {
            zookeeper,
            transaction: transaction.into(),
            who: who.into(),
            mutants: Mutants::NONE,
        }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> TwoPhaseCommit {
        TwoPhaseCommit { mutants, ..self }
    }

    /// Begins the transaction of these sites; leaves one that was begun before as it is.
    ///
    /// Creates the parent if it is missing.
    ///
    /// # Errors
    /// `SessionExpired`, or the server's refusal of a path.
    pub async fn begin(&self, sites: &[Arc<str>]) -> Result<Begun, Error> {
        self.begin_with(sites, Vec::new()).await
    }

    /// Creates everything in one multi, so that no client ever sees a part of the list (recipe rule 2.12.1).
    async fn begin_with(&self, sites: &[Arc<str>], more: Vec<Op>) -> Result<Begun, Error> {
        let transaction = Arc::clone(&self.transaction);
        self.zookeeper.observe(CommitSeen::Begins { transaction, sites: sites.to_vec() });
        // The znode of a site that has not voted is empty (mutant `TwoPcPrefilledVote`).
        let unknown: &[u8] = match self.mutants.has(Mutant::TwoPcPrefilledVote) {
            true => Decision::Commit.bytes(),
            false => b"",
        };
        let list = sites.join("\n").into_bytes();
        let create = |path: String, data: &[u8]| Op::create(path, data, CreateMode::Persistent);
        let mut ops = vec![create(self.transaction.to_string(), &list), create(self.votes(), b"")];
        ops.extend(sites.iter().map(|site| create(self.vote_of(site), unknown)));
        ops.extend(more);
        loop {
            let all = if self.in_one() {
                until_known(&self.zookeeper, || async {
                    self.zookeeper.multi(ops.clone()).await.map(drop).map_err(Error::from)
                })
                .await
            } else {
                self.one_by_one(&ops).await
            };
            match all {
                Ok(()) => return Ok(Begun::Here),
                Err(Error::NodeExists) => return Ok(Begun::Before),
                Err(Error::NoNode) => match path::parent(&self.transaction) {
                    Some(parent) => ensure_path(&self.zookeeper, parent).await?,
                    None => return Err(Error::NoNode),
                },
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until the transaction has begun, and returns its sites.
    ///
    /// # Errors
    /// `SessionExpired`, or the server's refusal of the path.
    pub async fn sites(&self) -> Result<Vec<Arc<str>>, Error> {
        let zookeeper = &self.zookeeper;
        loop {
            if !self.in_one() {
                return self.found().await;
            }
            match until_known(zookeeper, || zookeeper.get_data(&self.transaction)).await {
                Ok((list, _)) => return Ok(listed(&list)),
                Err(Error::NoNode) => self.exists(&self.transaction).await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Votes as this participant's site. Returns the vote that stands: this one, or one that an earlier process of the
    /// same site has cast (recipe rule 2.12.2).
    ///
    /// # Errors
    /// `SessionExpired`; `NoNode` if the transaction has no such site.
    pub async fn vote(&self, vote: Decision) -> Result<Decision, Error> {
        let (zookeeper, path) = (&self.zookeeper, self.vote_of(&self.who));
        let (transaction, site) = (Arc::clone(&self.transaction), Arc::clone(&self.who));
        zookeeper.observe(CommitSeen::Votes { transaction, site, vote });
        loop {
            let set = || zookeeper.set_data(&path, vote.bytes(), Version::Is(0));
            match until_known(zookeeper, set).await {
                Ok(_) => return Ok(vote),
                // The vote that stands was cast by an earlier attempt, or by an earlier process of this site.
                Err(Error::BadVersion) => {}
                Err(error) => return Err(error),
            }
            let (data, _) = until_known(zookeeper, || zookeeper.get_data(&path)).await?;
            if let Some(standing) = Decision::read(&data) {
                return Ok(standing);
            }
        }
    }

    /// Proposes a decision, and returns the one that stands (recipe rule 2.12.3).
    ///
    /// # Errors
    /// `SessionExpired`; `NoNode` if the transaction was never begun.
    pub async fn decide(&self, decision: Decision) -> Result<Decision, Error> {
        let (zookeeper, path) = (&self.zookeeper, self.decision());
        let create = || zookeeper.create(&path, decision.bytes(), CreateMode::Persistent);
        // A decision whose reply was lost may stand, so the create is repeated.
        let created = match self.mutants.has(Mutant::TwoPcLostReplyIsAbort) {
            true => match create().await {
                Err(Error::ConnectionLoss) => return Ok(self.conclude(Decision::Abort)),
                known => known,
            },
            false => until_known(zookeeper, create).await,
        };
        match created {
            Ok(_) => Ok(self.conclude(decision)),
            Err(Error::NodeExists) => self.outvoted(decision).await,
            Err(error) => Err(error),
        }
    }

    /// Aborts the transaction unless it is already decided: for a participant that does not want to wait any longer
    /// (recipe rule 2.12.5). The decision that stands may be a commit.
    ///
    /// # Errors
    /// Fails like [`TwoPhaseCommit::decide`].
    pub async fn give_up(&self) -> Result<Decision, Error> {
        if self.mutants.has(Mutant::TwoPcMutableVote) {
            let (zookeeper, vote) = (&self.zookeeper, self.vote_of(&self.who));
            let bytes = Decision::Abort.bytes();
            let take_back = || zookeeper.set_data(&vote, bytes, Version::Any);
            match until_known(zookeeper, take_back).await {
                Ok(_) | Err(Error::NoNode) => {}
                Err(error) => return Err(error),
            }
        }
        self.abort(Why::GaveUp).await
    }

    /// Waits for the decision of another participant.
    ///
    /// # Errors
    /// `SessionExpired`, or the server's refusal of the path.
    pub async fn decided(&self) -> Result<Decision, Error> {
        self.exists(&self.decision()).await?;
        self.read_decision().await
    }

    /// Aborts for a reason that is not a vote.
    async fn abort(&self, why: Why) -> Result<Decision, Error> {
        let transaction = Arc::clone(&self.transaction);
        self.zookeeper.observe(CommitSeen::AbortsByRule { transaction, why });
        self.decide(Decision::Abort).await
    }

    /// Returns the decision of another participant, which came first and stands.
    async fn outvoted(&self, own: Decision) -> Result<Decision, Error> {
        if self.mutants.has(Mutant::TwoPcDecisionIgnored) {
            return Ok(self.conclude(own));
        }
        if self.mutants.has(Mutant::TwoPcDecisionOverwritten) {
            let (zookeeper, path) = (&self.zookeeper, self.decision());
            until_known(zookeeper, || zookeeper.set_data(&path, own.bytes(), Version::Any)).await?;
        }
        self.read_decision().await
    }

    /// Reads the decision, which is known to exist. After a watch event that announced it, the server of the next
    /// connection may lag and not have it yet, because a client's view only advances with the replies that it has read,
    /// not with events (recipe rule 2.12.6).
    async fn read_decision(&self) -> Result<Decision, Error> {
        let (zookeeper, path) = (&self.zookeeper, self.decision());
        loop {
            match until_known(zookeeper, || zookeeper.get_data(&path)).await {
                Err(Error::NoNode) => self.exists(&path).await?,
                Err(error) => return Err(error),
                Ok((data, _)) => {
                    let decision = Decision::read(&data).ok_or(Error::BadArguments)?;
                    return Ok(self.conclude(decision));
                }
            }
        }
    }

    /// Returns `None` if there is a decision, otherwise a watch for it.
    async fn watch_decision(&self) -> Result<Option<Watch>, Error> {
        let (zookeeper, path) = (&self.zookeeper, self.decision());
        let (stat, watch) = until_known(zookeeper, || zookeeper.exists_watch(&path)).await?;
        Ok(if stat.is_some() { None } else { Some(watch) })
    }

    /// Waits until a znode exists.
    async fn exists(&self, path: &str) -> Result<(), Error> {
        let zookeeper = &self.zookeeper;
        if self.mutants.has(Mutant::TwoPcWatchAfterRead)
            && until_known(zookeeper, || zookeeper.exists(path)).await?.is_none()
        {
            // The mutant ignores the result of the second read.
            let (_, mut watch) = until_known(zookeeper, || zookeeper.exists_watch(path)).await?;
            return watch.changed().await.map(drop);
        }
        loop {
            let (stat, mut watch) = until_known(zookeeper, || zookeeper.exists_watch(path)).await?;
            if stat.is_some() {
                return Ok(());
            }
            watch.changed().await?;
        }
    }

    /// Reports the decision as final.
    fn conclude(&self, decision: Decision) -> Decision {
        let (transaction, who) = (Arc::clone(&self.transaction), Arc::clone(&self.who));
        self.zookeeper.observe(CommitSeen::Decided { transaction, who, decision });
        decision
    }

    /// Returns true unless the mutant creates the transaction child by child: then the list of sites is not read from
    /// the transaction's znode.
    fn in_one(&self) -> bool {
        !self.mutants.has(Mutant::TwoPcChildByChild)
    }

    /// Creates the znodes one by one, visible to other clients meanwhile (`TwoPcChildByChild`).
    async fn one_by_one(&self, ops: &[Op]) -> Result<(), Error> {
        for op in ops {
            let single = || async { self.zookeeper.multi(vec![op.clone()]).await.map(drop) };
            let created =
                until_known(&self.zookeeper, || async { single().await.map_err(Error::from) });
            match created.await {
                Ok(()) | Err(Error::NodeExists) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes the children for the list of sites once this site is one of them (`TwoPcChildByChild`).
    async fn found(&self) -> Result<Vec<Arc<str>>, Error> {
        let (zookeeper, votes) = (&self.zookeeper, self.votes());
        self.exists(&self.vote_of(&self.who)).await?;
        let names = until_known(zookeeper, || zookeeper.get_children(&votes)).await?;
        Ok(names.into_iter().map(Arc::from).collect())
    }

    fn votes(&self) -> String {
        format!("{}/votes", self.transaction)
    }

    fn vote_of(&self, site: &str) -> String {
        format!("{}/{site}", self.votes())
    }

    fn decision(&self) -> String {
        format!("{}/decision", self.transaction)
    }
}

/// The sites as listed in the transaction's znode.
fn listed(data: &[u8]) -> Vec<Arc<str>> {
    let text = String::from_utf8_lossy(data);
    text.lines().map(Arc::from).collect()
}
