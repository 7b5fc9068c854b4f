//! A multi that is applied once.

use super::Patient;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{MultiError, ZooKeeper};
use vivarium_model::op::{CreateMode, Op, OpResult, Version};
use vivarium_model::path;

/// The ledger of one writer: a persistent znode of its own, in which each of its multis writes its number
/// under the version that the znode has had so far.
///
/// Once a multi is applied that version is gone, and no copy of it can be applied again. So a multi whose
/// reply was lost is repeated. Refused for another of its operations, it has not been applied; refused for
/// the version, either it has been, or an earlier one of the same writer that nobody waited for: which, the
/// number tells (recipe rule 2.4.3).
///
/// It costs one operation in each multi, and one znode for each writer, which stays behind when its writer
/// dies. It outlives its writer's sessions, so it must not be ephemeral.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ledger {
    path: Arc<str>,
    /// Fresh for the writer.
    id: u64,
    /// The version that the znode is thought to have.
    version: i32,
    entries: u32,
    /// The znode is there. The first entry makes it.
    is_open: bool,
}

/// What became of a multi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It was applied, once.
    Applied,
    /// It was not, and never will be: this one of its operations (from 0) was refused.
    Refused {
        /// Which.
        index: usize,
        /// With what.
        error: Error,
    },
}

impl Ledger {
    /// A new one in `directory`. Its first entry makes the znode, and the directory where it is missing.
    pub async fn new(patient: &Patient, directory: &str) -> Ledger {
        let id = patient.zookeeper().random().await;
        let path = format!("{directory}/{id:016x}").into();
        Ledger { path, id, version: 0, entries: 0, is_open: false }
    }

    /// A number for the next multi.
    pub fn entry(&mut self) -> u32 {
        self.entries += 1;
        self.entries
    }

    /// What no other entry of any ledger is called.
    pub fn name(&self, entry: u32) -> String {
        format!("{:016x}.{entry}", self.id)
    }

    /// Applies `ops`, at least one, together, once, as the entry of this number.
    ///
    /// Dropped half-way, it may be applied or not: the same call, with the same number, goes on where it
    /// was dropped, and so nobody has to know. Without it, a later entry is safe all the same.
    ///
    /// # Errors
    /// The request as a whole is refused: somebody has deleted the ledger, or a path is no path.
    pub async fn apply(
        &mut self,
        patient: &mut Patient,
        entry: u32,
        ops: &[Op],
    ) -> Result<Fate, Error> {
        if !self.is_open {
            create_persistent(patient, &self.path).await?;
            self.is_open = true;
        }
        let own = entry.to_string();
        loop {
            let version = Version::Is(self.version);
            let path = Arc::clone(&self.path);
            let note = Op::SetData { path, data: own.as_bytes().into(), version };
            let all: Vec<Op> = std::iter::once(note).chain(ops.iter().cloned()).collect();
            match patient.repeat(|zookeeper| multi(zookeeper, all.clone())).await {
                Ok(results) => {
                    self.version = version_of(&results).unwrap_or(self.version);
                    return Ok(Fate::Applied);
                }
                Err(MultiError { index: Some(0), error: Error::BadVersion }) => {
                    let path = &*self.path;
                    let read =
                        patient.repeat(|zookeeper| async move { zookeeper.get_data(path).await });
                    let (last, stat) = read.await?;
                    self.version = stat.version;
                    if *last == *own.as_bytes() {
                        return Ok(Fate::Applied);
                    }
                }
                Err(MultiError { index: Some(index), error }) if index > 0 => {
                    return Ok(Fate::Refused { index: index - 1, error });
                }
                Err(failed) => return Err(failed.error),
            }
        }
    }

    /// Deletes it. An entry that is still under way is refused from then on.
    ///
    /// # Errors
    /// The server refuses the path.
    pub async fn close(self, patient: &mut Patient) -> Result<(), Error> {
        if !self.is_open {
            return Ok(());
        }
        let path = &*self.path;
        let delete =
            |zookeeper: ZooKeeper| async move { zookeeper.delete(path, Version::Any).await };
        match patient.repeat(delete).await {
            Err(Error::NoNode) => Ok(()),
            other => other,
        }
    }
}

async fn multi(zookeeper: ZooKeeper, ops: Vec<Op>) -> Result<Vec<OpResult>, MultiError> {
    zookeeper.multi(ops).await
}

/// The version that the first operation, a setData, has left.
fn version_of(results: &[OpResult]) -> Option<i32> {
    match results.first() {
        Some(OpResult::Set(stat)) => Some(stat.version),
        _ => None,
    }
}

/// Creates a persistent znode and its parents, where they are missing.
pub(crate) async fn create_persistent(patient: &mut Patient, path: &str) -> Result<(), Error> {
    let mut missing = vec![path];
    while let Some(path) = missing.last().copied() {
        let create = |zookeeper: ZooKeeper| async move {
            zookeeper.create(path, b"", CreateMode::Persistent).await
        };
        match patient.repeat(create).await {
            Ok(_) | Err(Error::NodeExists) => drop(missing.pop()),
            Err(Error::NoNode) => {
                missing.push(path::parent(path).ok_or(Error::NoNode)?);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
