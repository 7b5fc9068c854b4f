//! Finding an attempt's znodes when nobody knows what has become of its create (recipes 2.8, table
//! of errors, first and last row).
//!
//! The create may have been applied, may never be, or may still be pending at the leader while the
//! session has moved to a server that lags behind. So a list alone proves nothing: the fate of the
//! earlier writes must be settled first (recipes section 0, CL-p): by [`settle`].
//!
//! `sync` does not settle it where the session has moved from a learner to the leader: a leader parks
//! the syncs of its learners behind its last proposal, but answers those of its own clients at once
//! (semantics 4.5 iv; `ProposalRequestProcessor` passes them on, and the leader's `CommitProcessor`
//! is built not to match syncs). A write does settle it, also one that fails: it takes a zxid behind
//! everything proposed, and is answered when the answering server has applied all of it (semantics
//! 1.6). Whatever server answers later has seen as much, for the client goes to none that is behind
//! what it has read.

use super::contender::{self, Contender, Node};
use super::{AcquireError, Mutant, Mutants};
use crate::helpers::{ensure_deleted, settle, until_known};
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::id::SessionId;

/// What became of a create whose reply was lost.
pub(super) enum Recovered {
    /// It made this znode; duplicates are deleted.
    Adopted(Node),
    /// It had no effect, and will have none.
    Nothing,
    /// There is a znode with the attempt's id, and it belongs to another session: never adopt it
    /// (CURATOR-498, museum row 3).
    NotOurs,
}

/// A create of an attempt whose reply was lost.
pub(super) struct Lost<'a> {
    /// Pinned to the attempt's session.
    pub(super) zookeeper: &'a ZooKeeper,
    pub(super) session: SessionId,
    pub(super) lock: &'a str,
    /// The attempt's id.
    pub(super) id: &'a str,
    pub(super) mutants: &'a Mutants,
}

impl Lost<'_> {
    /// Finds out what became of it, however often the connection is lost meanwhile.
    pub(super) async fn recover(&self) -> Result<Recovered, AcquireError> {
        let zookeeper = self.zookeeper;
        if !self.mutants.has(Mutant::RecoverWithoutSync) {
            match self.mutants.has(Mutant::RecoverBySync) {
                true => until_known(zookeeper, || zookeeper.sync(self.lock)).await?,
                false => settle(zookeeper).await?,
            }
        }
        loop {
            let names = list(zookeeper, self.lock).await?.unwrap_or_default();
            let own = own(&names, self.id);
            let Some(lowest) = first(&own) else { return Ok(Recovered::Nothing) };
            let path = contender::child(self.lock, lowest.name());
            let Some(stat) = until_known(zookeeper, || zookeeper.exists(&path)).await? else {
                // Somebody deleted it meanwhile.
                continue;
            };
            if stat.ephemeral_owner != Some(self.session) {
                return Ok(Recovered::NotOurs);
            }
            for duplicate in own.iter().filter(|other| **other != lowest) {
                ensure_deleted(zookeeper, &contender::child(self.lock, duplicate.name())).await?;
            }
            return Ok(Recovered::Adopted(Node { path: path.into(), czxid: stat.czxid }));
        }
    }
}

/// Deletes every znode of an attempt, also one whose create is still in flight.
///
/// # Errors
/// `SessionExpired`: the server does the rest.
pub(super) async fn sweep(zookeeper: &ZooKeeper, lock: &str, id: &str) -> Result<(), Error> {
    settle(zookeeper).await?;
    let names = list(zookeeper, lock).await?.unwrap_or_default();
    for contender in own(&names, id) {
        ensure_deleted(zookeeper, &contender::child(lock, contender.name())).await?;
    }
    Ok(())
}

/// The children of the lock's directory; `None` where there is no directory, and so nothing of
/// anybody's in it.
pub(super) async fn list(zookeeper: &ZooKeeper, lock: &str) -> Result<Option<Vec<String>>, Error> {
    match until_known(zookeeper, || zookeeper.get_children(lock)).await {
        Ok(names) => Ok(Some(names)),
        Err(Error::NoNode) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The children that carry an attempt's id.
fn own<'a>(names: &'a [String], id: &str) -> Vec<Contender<'a>> {
    let contenders = names.iter().filter_map(|name| Contender::parse(name));
    contenders.filter(|contender| contender.attempt() == Some(id)).collect()
}

/// The one that nobody else is ahead of.
fn first<'a>(contenders: &[Contender<'a>]) -> Option<Contender<'a>> {
    let is_first = |mine: &&Contender<'a>| mine.predecessor(contenders).is_none();
    contenders.iter().find(is_first).copied()
}
