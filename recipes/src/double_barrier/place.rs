//! The znodes of a generation.

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
    /// The generation's directory.
    pub(super) directory: Arc<str>,
    /// The directory of members.
    pub(super) members: Arc<str>,
    /// The verdict's znode, beside the members' directory and not in it (recipe rule 2.3.1).
    pub(super) verdict: Arc<str>,
    /// Whether the last member closes the generation.
    closes: bool,
}

/// The decision about a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The generation was opened by this transaction.
    Go(Zxid),
    /// The generation is aborted.
    Abort,
}

/// The content of the znode of a verdict that opens.
pub(super) const GO: &[u8] = b"go";
/// The content of the znode of a verdict that aborts.
pub(super) const ABORT: &[u8] = b"abort";

/// The result of an attempt to close a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// No party is inside, and none will be.
    Closed,
    /// A party is inside.
    Occupied,
}

impl Place {
    /// Returns the znodes of this generation.
    pub(super) fn new(barrier: &Arc<str>, generation: u64, mutants: Mutants) -> Place {
        // The mutant uses one place for all generations, whose verdict is never removed (`DbReadyLeftover`).
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
            // A late party enters by the old verdict (`DbNeverCloses`).
            closes: !shared && !mutants.has(Mutant::DbNeverCloses),
        }
    }

    /// Begins the generation unless it has begun: both directories in one transaction, so that those of a closed
    /// generation are not created again (recipe rule 2.3.5).
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

    /// Returns the names of the registered members, in order; `None` if the generation is closed.
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

    /// Decides the generation unless it is decided. Returns the valid verdict.
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

    /// Returns the verdict if it exists.
    pub(super) async fn decided(&self, zookeeper: &ZooKeeper) -> Result<Option<Verdict>, Error> {
        match until_known(zookeeper, || zookeeper.get_data(&self.verdict)).await {
            Ok((data, stat)) => Ok(Some(Verdict::of(&data, stat.czxid))),
            Err(Error::NoNode) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Closes the generation if it has no members, by a delete that ZooKeeper refuses otherwise.
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

    /// Returns the full path of a member's znode.
    pub(super) fn node(&self, name: &str) -> String {
        format!("{}/{name}", self.members)
    }
}

impl Verdict {
    fn of(data: &[u8], czxid: Zxid) -> Verdict {
        if data == ABORT { Verdict::Abort } else { Verdict::Go(czxid) }
    }
}

/// Returns the name of a member's znode: the party's name and the attempt's id.
pub(super) fn name(party: &str, id: u64) -> String {
    format!("{party}-{id:016x}")
}

/// Counts the parties; a restarted party may have two znodes (recipe rule 2.3.2).
pub(super) fn count(names: &[String]) -> usize {
    let party =
        |name: &String| name.rsplit_once('-').map_or(name.clone(), |(party, _)| party.into());
    names.iter().map(party).collect::<BTreeSet<String>>().len()
}

/// Deletes a registration in the background, even one whose create is still in flight: the delete comes after the
/// create, and no other attempt uses the name.
pub(super) fn withdraw(zookeeper: &ZooKeeper, node: String) {
    let background = zookeeper.clone();
    zookeeper.spawn(async move {
        // Fails only when the session is over, and then the servers delete the znode.
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
