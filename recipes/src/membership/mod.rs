//! Group membership (recipe rule 2.1.3): the members are the ephemeral children of one znode.
//!
//! # Contract
//!
//! A group is a directory. A member is an ephemeral child of it, named by the member's id, which no other process uses.
//! So the children are the members whose session is open, at every zxid.
//!
//! *Joining* ([`Group::join`]) is pinned to one session. The znode's content begins with a number that is unique to the
//! attempt, so a create whose reply was lost is recognised. A znode of the same id that belongs to another session is
//! an earlier incarnation's: it is replaced in one transaction, and never adopted, because it would vanish with that
//! session (zkconfig #26). If it belongs to the same session, it is about to be deleted, and the attempt waits for
//! that.
//!
//! *Staying* is the purpose of [`Group::while_member`]: it joins again in each session, and restarts the work. That is
//! the default way to be a member.
//!
//! *A belief ends* when the [`Membership`] is dropped or left, or when [`Membership::lost`] resolves: at the end of the
//! session, or when the znode is seen to be deleted. Others may see the member gone before that. The token
//! ([`Membership::token`]) is the znode's czxid.
//!
//! *A view* ([`Group::view`]) is the set of children as it was at some zxid, not as it is now, and contains only
//! existing members, which need not include the viewer itself. When nothing changes any more, the view becomes current.
//! Every join and leave wakes all clients with a view: that is inherent in full views. A new connection wakes them too,
//! because a watch that is set again misses some joins (recipe rule 1.2.7).
//!
//! *Cancelling is safe.* Dropping [`Group::join`] or a [`Membership`] at any await point starts a background task that
//! deletes the znode, even one whose create is in flight.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/membership.md")]

mod guard;
mod janitor;
mod mutant;
#[cfg(feature = "checking")]
pub mod properties;
mod seen;
mod view;
#[cfg(feature = "checking")]
pub mod worker;

pub use guard::Membership;
pub use janitor::Leave;
#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
#[cfg(feature = "checking")]
pub use properties::monitors;
pub use seen::MembershipSeen;
pub use view::GroupView;
#[cfg(feature = "checking")]
pub use worker::{MemberWork, member_worker};

use crate::helpers::{ensure_path, in_sessions, reconnected, until_known};
use guard::Attempt;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, ZooKeeper, race};
use vivarium_model::id::SessionId;
use vivarium_model::op::{CreateMode, Op, OpResult, Version};
use vivarium_model::time::Duration;
use vivarium_model::zxid::Zxid;

/// A group. See the module for its contract.
#[derive(Clone, Debug)]
pub struct Group {
    zookeeper: ZooKeeper,
    directory: Arc<str>,
    mutants: Mutants,
}

impl Group {
    /// Creates a handle of the group in `directory`, which the first join creates if it is missing.
    pub fn new(zookeeper: ZooKeeper, directory: impl Into<Arc<str>>) -> Group {
        Group { zookeeper, directory: directory.into(), mutants: Mutants::NONE }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> Group {
        Group { mutants, ..self }
    }

    /// Joins in this session.
    ///
    /// Cancel-safe: dropping the future leaves no znode behind.
    ///
    /// # Errors
    /// Returns `SessionExpired` or the server's refusal of a path; `BadArguments` if the id is not the name of a single
    /// znode.
    pub async fn join(&self, session: SessionId, id: &str) -> Result<Membership, Error> {
        if id.is_empty() || id.contains('/') {
            return Err(Error::BadArguments);
        }
        let zookeeper = self.zookeeper.scope(session);
        let nonce: Arc<str> = format!("{:016x}", zookeeper.random().await).into();
        let path: Arc<str> = format!("{}/{id}", self.directory).into();
        let group = Group { zookeeper, ..self.clone() };
        let mut attempt = Attempt::new(&group, path, nonce, session);
        let token = loop {
            if let Some(token) = group.enter(&mut attempt).await? {
                break token;
            }
        };
        Ok(attempt.joined(token))
    }

    /// Like [`Group::join`], but waits no longer than `patience`; returns `None` after that time.
    ///
    /// Cancel-safe like [`Group::join`].
    ///
    /// # Errors
    /// Fails like [`Group::join`].
    pub async fn join_timeout(
        &self,
        session: SessionId,
        id: &str,
        patience: Duration,
    ) -> Result<Option<Membership>, Error> {
        match self.zookeeper.timeout(patience, self.join(session, id)).await {
            Ok(joined) => joined.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Is a member while `work` runs, across sessions: when the session ends, or another client deletes the member's
    /// znode, `work` is dropped, and restarted after the member has joined again.
    ///
    /// # Errors
    /// Returns the errors of `work`, except `SessionExpired`; and the server's refusal of a path.
    pub async fn while_member<T, F>(&self, id: &str, work: impl Fn(Group) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut has_joined = false;
        in_sessions(&self.zookeeper, |zookeeper, session| {
            let group = Group { zookeeper, ..self.clone() };
            let stays_out = has_joined && self.mutants.has(Mutant::GroupDoesNotRejoin);
            has_joined = true;
            let work = &work;
            async move {
                if stays_out {
                    return work(group).await;
                }
                group.member_in(session, id, work).await
            }
        })
        .await
    }

    async fn member_in<T, F>(
        &self,
        session: SessionId,
        id: &str,
        work: &impl Fn(Group) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        loop {
            let membership = self.join(session, id).await?;
            let ended = match race(membership.lost(), work(self.clone())).await {
                Either::Left(Ok(())) => None,
                Either::Left(Err(error)) => Some(Err(error)),
                Either::Right(result) => Some(result),
            };
            if matches!(ended, Some(Err(Error::SessionExpired)))
                && self.mutants.has(Mutant::GroupDoesNotRejoin)
            {
                std::mem::forget(membership);
                return Err(Error::SessionExpired);
            }
            membership.leave().await;
            if let Some(result) = ended {
                return result;
            }
        }
    }

    /// Tries once to create the znode; returns `None` if it must be tried again.
    async fn enter(&self, attempt: &mut Attempt) -> Result<Option<Zxid>, Error> {
        let zookeeper = &self.zookeeper;
        let path = Arc::clone(&attempt.path);
        let mut events = zookeeper.session_events();
        attempt.sent();
        match zookeeper.create(&path, attempt.content(), CreateMode::Ephemeral).await {
            Ok((_, stat)) => Ok(Some(stat.czxid)),
            Err(Error::ConnectionLoss) => {
                reconnected(&mut events).await?;
                Ok(None)
            }
            Err(Error::NodeExists) => self.met(attempt).await,
            Err(Error::NoNode) => {
                ensure_path(zookeeper, &self.directory).await?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Processes an existing znode of this id (recipe rule 2.1.4).
    async fn met(&self, attempt: &Attempt) -> Result<Option<Zxid>, Error> {
        let (zookeeper, path) = (&self.zookeeper, &attempt.path);
        let (data, stat, mut watch) =
            match until_known(zookeeper, || zookeeper.get_data_watch(path)).await {
                Err(Error::NoNode) => return Ok(None),
                known => known?,
            };
        if stat.ephemeral_owner == Some(attempt.session) {
            if *data == *attempt.content() {
                return Ok(Some(stat.czxid));
            }
            // It belongs to an earlier membership, and is being deleted in the background.
            watch.changed().await?;
            return Ok(None);
        }
        if self.mutants.has(Mutant::GroupAdoptsOtherSession) {
            return Ok(Some(stat.czxid));
        }
        self.replace(attempt, stat.version).await
    }

    /// Replaces the znode of an earlier incarnation, whose session may take long to end.
    async fn replace(&self, attempt: &Attempt, version: i32) -> Result<Option<Zxid>, Error> {
        let ops = vec![
            Op::delete(Arc::clone(&attempt.path), Version::Is(version)),
            Op::create(Arc::clone(&attempt.path), attempt.content(), CreateMode::Ephemeral),
        ];
        let mut events = self.zookeeper.session_events();
        match self.zookeeper.multi(ops).await {
            Ok(results) => match results.last() {
                // Older servers leave the Stat out: the next try reads it.
                Some(OpResult::Created(_, stat)) => Ok(stat.known_czxid()),
                _ => Ok(None),
            },
            Err(failed) => match failed.error {
                Error::ConnectionLoss => reconnected(&mut events).await.map(|()| None),
                Error::NoNode | Error::BadVersion | Error::NodeExists => Ok(None),
                error => Err(error),
            },
        }
    }
}
