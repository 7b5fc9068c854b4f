//! After a create whose reply was lost: did it make a znode? (recipes 2.8, first row of the table.)
//!
//! The create may have been applied, may never be, or may still be pending at the leader while the
//! session has moved to a server that lags behind. So a list alone proves nothing: `sync` first. It
//! is parked behind everything that the leader has proposed, which settles the fate of all earlier
//! writes of this session (recipes section 0, CL-p).

use super::attempt::{Attempt, Node};
use super::contender::{self, Contender};
use super::{AcquireError, Mutant};
use vivarium_model::error::Error;
use vivarium_model::op::Version;

/// What became of the create.
pub(super) enum Recovered {
    /// It made this znode; duplicates are deleted.
    Adopted(Node),
    /// It had no effect, and will have none.
    Nothing,
    /// There is a znode with the attempt's id, and it belongs to another session: never adopt it
    /// (CURATOR-498, museum row 3).
    NotOurs,
}

/// Finds out, however often the connection is lost meanwhile.
pub(super) async fn recover(attempt: &Attempt) -> Result<Recovered, AcquireError> {
    loop {
        match look(attempt).await {
            Ok(Some(recovered)) => return Ok(recovered),
            Ok(None) | Err(Error::ConnectionLoss) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Looks once; `None` when the znode vanished meanwhile.
async fn look(attempt: &Attempt) -> Result<Option<Recovered>, Error> {
    let zookeeper = &attempt.zookeeper;
    if !attempt.mutants.has(Mutant::RecoverWithoutSync) {
        zookeeper.sync(&attempt.lock).await?;
    }
    let names = match zookeeper.get_children(&attempt.lock).await {
        Err(Error::NoNode) => return Ok(Some(Recovered::Nothing)),
        listed => listed?.0,
    };
    let mut own = own(&names, &attempt.id);
    let Some(lowest) = first(&own) else { return Ok(Some(Recovered::Nothing)) };
    let path = contender::child(&attempt.lock, lowest.name());
    let Some(stat) = zookeeper.exists(&path).await? else { return Ok(None) };
    if stat.ephemeral_owner != Some(attempt.session) {
        return Ok(Some(Recovered::NotOurs));
    }
    own.retain(|other| *other != lowest);
    for duplicate in own {
        match zookeeper
            .delete(&contender::child(&attempt.lock, duplicate.name()), Version::Any)
            .await
        {
            Ok(()) | Err(Error::NoNode) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(Recovered::Adopted(Node { path: path.into(), czxid: stat.czxid })))
}

/// The children that carry an attempt's id.
pub(super) fn own<'a>(names: &'a [String], id: &str) -> Vec<Contender<'a>> {
    let contenders = names.iter().filter_map(|name| Contender::parse(name));
    contenders.filter(|contender| contender.attempt() == Some(id)).collect()
}

/// The one that nobody else is ahead of.
fn first<'a>(contenders: &[Contender<'a>]) -> Option<Contender<'a>> {
    let is_first = |mine: &&Contender<'a>| mine.predecessor(contenders).is_none();
    contenders.iter().find(is_first).copied()
}
