//! Where a generation is kept, and who is in it.

use super::{Mutant, Mutants};
use crate::helpers::{ensure_deleted, ensure_path, reconnected, until_known};
use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::op::{CreateMode, Op, Version};
use vivarium_model::zxid::Zxid;

/// The znodes of one generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The double barrier's own directory.
    pub(super) barrier: Arc<str>,
    /// The generation's.
    pub(super) directory: Arc<str>,
    /// The members'.
    pub(super) members: Arc<str>,
    /// The verdict's znode, beside the members' directory and not in it (recipe rule 2.3.1).
    pub(super) verdict: Arc<str>,
    /// Whether the last one out closes it.
    closes: bool,
}

/// What is decided about a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is open, by this transaction.
    Go(Zxid),
    /// It is aborted.
    Abort,
}

/// What the verdict's znode contains.
pub(super) const GO: &[u8] = b"go";
/// The other.
pub(super) const ABORT: &[u8] = b"abort";

/// How an attempt to close a generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// Nobody is in it, and nobody will be.
    Closed,
    /// Somebody is in it.
    Occupied,
}

impl Place {
    /// Of this generation.
    pub(super) fn new(barrier: &Arc<str>, generation: u64, mutants: Mutants) -> Place {
        // One place for all generations, whose verdict nobody takes away (`DbReadyLeftover`).
        let shared = mutants.has(Mutant::DbReadyLeftover);
        let generation = if shared { 0 } else { generation };
        let directory = format!("{barrier}/{generation}");
        let members = format!("{directory}/members");
        let verdict = if mutants.has(Mutant::DbReadyCounts) {
            format!("{members}/ready")
        } else {
            format!("{directory}/verdict")
        };
        Place {
            barrier: Arc::clone(barrier),
            directory: directory.into(),
            members: members.into(),
            verdict: verdict.into(),
            // Who comes late walks in behind the old verdict (`DbNeverCloses`).
            closes: !shared && !mutants.has(Mutant::DbNeverCloses),
        }
    }

    /// Begins the generation where nobody has: both directories at once, so that those of a generation that is
    /// closed are not made again (recipe rule 2.3.5).
    pub(super) async fn begin(&self, zookeeper: &ZooKeeper) -> Result<(), Error> {
        let create = |path: &Arc<str>| Op::create(Arc::clone(path), *b"", CreateMode::Persistent);
        loop {
            let mut events = zookeeper.session_events();
            let ops = vec![create(&self.directory), create(&self.members)];
            match zookeeper.multi(ops).await.map_err(|failed| failed.error) {
                Ok(_) | Err(Error::NodeExists) => return Ok(()),
                Err(Error::ConnectionLoss) => reconnected(&mut events).await?,
                Err(Error::NoNode) => ensure_path(zookeeper, &self.barrier).await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// The names of those who are registered, in their order; `None` when the generation is closed.
    pub(super) async fn list(&self, zookeeper: &ZooKeeper) -> Result<Option<Vec<String>>, Error> {
        match until_known(zookeeper, || zookeeper.get_children(&self.members)).await {
            Ok(mut names) => {
                names.sort_unstable();
                Ok(Some(names))
            }
            Err(Error::NoNode) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Decides, unless it is decided: the verdict that holds.
    pub(super) async fn decide(
        &self,
        zookeeper: &ZooKeeper,
        what: &[u8],
    ) -> Result<Verdict, Error> {
        loop {
            let create = || zookeeper.create(&self.verdict, what, CreateMode::Persistent);
            match until_known(zookeeper, create).await {
                Ok((_, stat)) => return Ok(Verdict::of(what, stat.czxid)),
                Err(Error::NodeExists) => {
                    if let Some(verdict) = self.decided(zookeeper).await? {
                        return Ok(verdict);
                    }
                }
                Err(Error::NoNode) => self.begin(zookeeper).await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// What the verdict's znode says, where it is there.
    pub(super) async fn decided(&self, zookeeper: &ZooKeeper) -> Result<Option<Verdict>, Error> {
        match until_known(zookeeper, || zookeeper.get_data(&self.verdict)).await {
            Ok((data, stat)) => Ok(Some(Verdict::of(&data, stat.czxid))),
            Err(Error::NoNode) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Closes the generation if nobody is in it: by a delete, which ZooKeeper refuses otherwise.
    pub(super) async fn close(&self, zookeeper: &ZooKeeper) -> Result<Closing, Error> {
        if !self.closes {
            return Ok(Closing::Closed);
        }
        let delete = || zookeeper.delete(&self.members, Version::Any);
        match until_known(zookeeper, delete).await {
            Ok(()) | Err(Error::NoNode) => Ok(Closing::Closed),
            Err(Error::NotEmpty) => Ok(Closing::Occupied),
            Err(error) => Err(error),
        }
    }

    /// The full path of a member's znode.
    pub(super) fn node(&self, name: &str) -> String {
        format!("{}/{name}", self.members)
    }
}

impl Verdict {
    fn of(data: &[u8], czxid: Zxid) -> Verdict {
        if data == ABORT { Verdict::Abort } else { Verdict::Go(czxid) }
    }
}

/// The name of a member's znode: the party's, and the attempt's id.
pub(super) fn name(party: &str, id: u64) -> String {
    format!("{party}-{id:016x}")
}

/// How many parties these are: one that was started anew may be there twice (recipe rule 2.3.2).
pub(super) fn count(names: &[String]) -> usize {
    let party =
        |name: &String| name.rsplit_once('-').map_or(name.clone(), |(party, _)| party.into());
    names.iter().map(party).collect::<BTreeSet<String>>().len()
}

/// Deletes a registration in the background, also one whose create is still in flight: the delete comes behind
/// it, and no other attempt has its name.
pub(super) fn withdraw(zookeeper: &ZooKeeper, node: String) {
    let background = zookeeper.clone();
    zookeeper.spawn(async move {
        // It fails only when the session is over, and with it the duty.
        let _ = ensure_deleted(&background, &node).await;
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_party_is_counted_once() {
        let names = [name("a", 1), name("b-x", 1), name("b-x", 7)];
        assert_eq!(count(&names), 2);
        assert_eq!(count(&[]), 0);
    }

    #[test]
    fn generations_have_places_of_their_own() {
        let barrier: Arc<str> = "/b".into();
        let [first, second] = [0, 1].map(|it| Place::new(&barrier, it, Mutants::NONE));
        assert_eq!((&*first.members, &*first.verdict), ("/b/0/members", "/b/0/verdict"));
        assert_eq!(&*second.directory, "/b/1");
    }

    #[cfg(feature = "checking")]
    #[test]
    fn a_mutant_has_generations_share_their_places() {
        let barrier: Arc<str> = "/b".into();
        let shared = [0, 1].map(|it| Place::new(&barrier, it, Mutant::DbReadyLeftover.into()));
        assert_eq!(shared[0], shared[1]);
    }
}
