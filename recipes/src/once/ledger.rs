//! A ledger, which lets each multi be applied only once.

use super::Patient;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{MultiError, ZooKeeper};
use vivarium_model::op::{CreateMode, Op, OpResult, Version};
use vivarium_model::path;

/// The ledger of one writer: a persistent znode of its own, in which each of the writer's multis writes its number,
/// with the znode's present version.
///
/// Once a multi is applied, that version has changed, and no copy of the multi can be applied again. So a multi whose
/// reply was lost is repeated. If it is refused for another of its operations, it has not been applied. If it is
/// refused for the version, either it has been applied, or an earlier multi of the same writer that was not awaited;
/// the number tells which (recipe rule 2.4.3).
///
/// A ledger costs one operation in each multi, and one znode for each writer, which remains when the writer dies. It
/// outlives its writer's sessions, so it must not be ephemeral.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ledger {
    path: Arc<str>,
    /// Unique to the writer.
    id: u64,
    /// The last known version of the znode.
    version: i32,
    entries: u32,
    /// True if the znode exists. The first entry creates it.
    is_open: bool,
}

/// The result of a multi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It was applied once.
    Applied,
    /// It was not applied and never will be: this one of its operations (from 0) was refused.
    Refused {
        /// The index of the operation.
        index: usize,
        /// The error of the operation.
        error: Error,
    },
}

impl Ledger {
    /// Creates a ledger in `directory`. Its first entry creates the znode, and the directory if it is missing.
    pub async fn new(patient: &Patient, directory: &str) -> Ledger {
        let id = patient.zookeeper().random().await;
        let path = format!("{directory}/{id:016x}").into();
        Ledger { path, id, version: 0, entries: 0, is_open: false }
    }

    /// Returns a number for the next multi.
    pub fn entry(&mut self) -> u32 {
        self.entries += 1;
        self.entries
    }

    /// Returns a name that is unique among the entries of all ledgers.
    pub fn name(&self, entry: u32) -> String {
        format!("{:016x}.{entry}", self.id)
    }

    /// Applies `ops` (at least one operation) as one multi, at most once, as the entry of this number.
    ///
    /// If the future is dropped, the multi may be applied or not: the same call with the same number continues where it
    /// was dropped. Later entries are safe even without that call.
    ///
    /// # Errors
    /// Fails if the request as a whole is refused: another client has deleted the ledger, or a path is invalid.
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

    /// Deletes the ledger. An entry that is still under way is refused from then on.
    ///
    /// # Errors
    /// Fails if the server refuses the path.
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

/// Returns the version that the first operation, a setData, has left.
fn version_of(results: &[OpResult]) -> Option<i32> {
    match results.first() {
        Some(OpResult::Set(stat)) => Some(stat.version),
        _ => None,
    }
}

/// Creates a persistent znode and its parents if they are missing.
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
