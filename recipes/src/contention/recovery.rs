//! Finds an attempt's znodes when the result of its create is unknown (recipe rule 2.8.6, for create and for attempts
//! that give up).
//!
//! The create may have been applied, may never be, or may still be pending at the leader (recipe rule 1.1.1) while the
//! session has moved to a lagging server. So a list alone proves nothing: [`settle`] must settle the earlier writes
//! first (recipe rules 1.1.2 and 1.1.3).
//!
//! If the session has moved from a learner to the leader, `sync` does not settle them under every setting. A leader
//! queues the syncs of its learners after its last proposal, but its own clients' syncs wait only for what the same
//! session has in its `CommitProcessor` (rules 4.5.6 and 4.5.7; recipe rule 1.1.4). A write settles them, even if it
//! fails: it takes a zxid after everything proposed, and is answered when the answering server has applied all of it
//! (rule 1.6.4; recipe rule 1.1.3). Every server that answers later has seen as much, because the client connects to no
//! server that lags behind what it has read (rule 2.1.2).

use super::contender::{self, Contender, Node};
use super::{AcquireError, Mutant, Mutants};
use crate::helpers::{ensure_deleted, settle, until_known};
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::id::SessionId;

/// The result of a create whose reply was lost.
pub(super) enum Recovered {
    /// It created this znode; duplicates are deleted.
    Adopted(Node),
    /// There is none and will be none: it had no effect, or others have deleted the znode.
    Nothing,
    /// No znode was seen, and nothing was settled: for a mutant.
    Unseen,
    /// There is a znode with the attempt's id that belongs to another session; it must never be adopted (CURATOR-498;
    /// `AdoptDeadSessionNode`).
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
    /// Determines the result, however often the connection is lost meanwhile.
    pub(super) async fn recover(&self) -> Result<Recovered, AcquireError> {
        let zookeeper = self.zookeeper;
        let mut none = Recovered::Unseen;
        if self.mutants.has(Mutant::RecoverBySync) {
            until_known(zookeeper, || zookeeper.sync(self.lock)).await?;
        } else if !self.mutants.has(Mutant::RecoverWithoutSync) {
            settle(zookeeper).await?;
            none = Recovered::Nothing;
        }
        loop {
            let names = list(zookeeper, self.lock).await?.unwrap_or_default();
            let own = own(&names, self.id);
            let Some(lowest) = Contender::first(own.iter().copied()) else {
                return Ok(none);
            };
            let path = contender::child(self.lock, lowest.name());
            let Some(stat) = until_known(zookeeper, || zookeeper.exists(&path)).await? else {
                // Another client deleted it meanwhile.
                continue;
            };
            let is_ours = stat.ephemeral_owner == Some(self.session);
            if !is_ours && !self.mutants.has(Mutant::AdoptDeadSessionNode) {
                return Ok(Recovered::NotOurs);
            }
            for duplicate in own.iter().filter(|other| **other != lowest) {
                ensure_deleted(zookeeper, &contender::child(self.lock, duplicate.name())).await?;
            }
            let path = match self.mutants.has(Mutant::RecoverWrongName) {
                true => lowest.name().into(),
                false => path.into(),
            };
            return Ok(Recovered::Adopted(Node { path, czxid: stat.czxid }));
        }
    }
}

/// Deletes every znode of an attempt, even one whose create is still in flight.
///
/// # Errors
/// Returns `SessionExpired`: the server deletes the rest.
pub(super) async fn sweep(zookeeper: &ZooKeeper, lock: &str, id: &str) -> Result<(), Error> {
    settle(zookeeper).await?;
    let names = list(zookeeper, lock).await?.unwrap_or_default();
    for contender in own(&names, id) {
        ensure_deleted(zookeeper, &contender::child(lock, contender.name())).await?;
    }
    Ok(())
}

/// Returns the children of the lock's directory; `None` if there is no directory and so no contender.
pub(super) async fn list(zookeeper: &ZooKeeper, lock: &str) -> Result<Option<Vec<String>>, Error> {
    match until_known(zookeeper, || zookeeper.get_children(lock)).await {
        Ok(names) => Ok(Some(names)),
        Err(Error::NoNode) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the children with an attempt's id.
fn own<'a>(names: &'a [String], id: &str) -> Vec<Contender<'a>> {
    let contenders = names.iter().filter_map(|name| Contender::parse(name));
    contenders.filter(|contender| contender.attempt() == Some(id)).collect()
}
