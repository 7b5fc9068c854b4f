//! A value that is changed atomically, with each change applied at most once.

use super::{Mutant, Mutants};
use crate::once::{Patient, create_persistent};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::op::Version;

/// The default number of changes whose ids are kept.
const KEPT: u8 = 32;

/// A shared value. See the module [`counter`](super) for its contract.
#[derive(Debug)]
pub struct AtomicValue {
    patient: Patient,
    path: Arc<str>,
    kept: usize,
    mutants: Mutants,
}

/// A value as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Current {
    /// The value.
    pub value: Vec<u8>,
    version: i32,
    /// The ids of the latest changes, the last one first.
    recent: Vec<Arc<str>>,
}

/// The result of a conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It was applied once.
    Set,
    /// It was not applied and never will be: another client has changed the value.
    Refused,
    /// It was applied once or not at all: too many other changes were made since.
    Unknown,
}

/// The result of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Changed {
    /// It was applied once.
    Applied,
    /// It was applied once or not at all: too many other changes were made since.
    Unknown,
}

impl AtomicValue {
    /// Opens the value in this znode, which the first read creates without data if it is missing. Waits for a session.
    pub async fn open(zookeeper: ZooKeeper, path: impl Into<Arc<str>>) -> AtomicValue {
        let patient = Patient::connect(zookeeper).await;
        AtomicValue { patient, path: path.into(), kept: KEPT.into(), mutants: Mutants::NONE }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> AtomicValue {
        AtomicValue { mutants, ..self }
    }

    /// Sets the number of changes whose ids are kept, at least one. All clients of a value should keep the same number.
    #[must_use]
    pub fn keeping(self, ids: u8) -> AtomicValue {
        AtomicValue { kept: ids.max(1).into(), ..self }
    }

    /// The handle.
    pub fn zookeeper(&self) -> &ZooKeeper {
        self.patient.zookeeper()
    }

    /// Returns the value at the server that answers.
    ///
    /// # Errors
    /// Fails if the server refuses to read it.
    pub async fn get(&mut self) -> Result<Current, Error> {
        loop {
            let path = &*self.path;
            let read = |zookeeper: ZooKeeper| async move { zookeeper.get_data(path).await };
            match self.patient.repeat(read).await {
                Ok((data, stat)) => return Ok(Current::decode(&data, stat.version)),
                Err(Error::NoNode) => create_persistent(&mut self.patient, path).await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Replaces the value unless it was changed since it was read.
    ///
    /// If the future is dropped, the write was applied once or not at all.
    ///
    /// # Errors
    /// Fails if the server refuses to write it.
    pub async fn compare_and_set(
        &mut self,
        current: &Current,
        value: &[u8],
    ) -> Result<Verdict, Error> {
        let id = self.fresh_id().await;
        self.compare_and_set_as(&id, current, value).await
    }

    /// Replaces the value by the result of `change`, whatever others do meanwhile. `change` may be called several
    /// times; one of its results is applied once.
    ///
    /// If the future is dropped, the change was applied once or not at all.
    ///
    /// # Errors
    /// Fails if the server refuses to read or write it.
    pub async fn update(&mut self, change: impl Fn(&[u8]) -> Vec<u8>) -> Result<Changed, Error> {
        let id = self.fresh_id().await;
        self.update_as(&id, change).await
    }

    pub(crate) async fn fresh_id(&self) -> Arc<str> {
        format!("{:016x}", self.zookeeper().random().await).into()
    }

    pub(crate) async fn compare_and_set_as(
        &mut self,
        id: &Arc<str>,
        current: &Current,
        value: &[u8],
    ) -> Result<Verdict, Error> {
        let mut lost = false;
        if self.write(&mut lost, id, current, value).await? {
            return Ok(Verdict::Set);
        }
        // Another client, or a copy of this write, has changed the version (recipe rule 2.15.3).
        if !lost || self.mutants.has(Mutant::CasFalseNegative) {
            return Ok(Verdict::Refused);
        }
        let now = self.get().await?;
        Ok(now.verdict(id, current, self.kept))
    }

    pub(crate) async fn update_as(
        &mut self,
        id: &Arc<str>,
        change: impl Fn(&[u8]) -> Vec<u8>,
    ) -> Result<Changed, Error> {
        let mut current = self.get().await?;
        loop {
            let mut lost = false;
            if self.write(&mut lost, id, &current, &change(&current.value)).await? {
                return Ok(Changed::Applied);
            }
            let now = self.get().await?;
            if lost && !self.mutants.has(Mutant::NonIdempotentCas) {
                match now.verdict(id, &current, self.kept) {
                    Verdict::Set => return Ok(Changed::Applied),
                    Verdict::Unknown => return Ok(Changed::Unknown),
                    Verdict::Refused => {}
                }
            }
            current = now;
        }
    }

    /// Writes with the version that was read until there is an answer. Returns true if this write was applied. All
    /// copies of the write have the same version, so at most one of them is applied (recipe rule 2.15.2).
    async fn write(
        &mut self,
        lost: &mut bool,
        id: &Arc<str>,
        current: &Current,
        value: &[u8],
    ) -> Result<bool, Error> {
        let version = match self.mutants.has(Mutant::NoVersion) {
            true => Version::Any,
            false => Version::Is(current.version),
        };
        let (path, data) = (&*self.path, &*current.encode_next(id, value, self.kept));
        let write =
            |zookeeper: ZooKeeper| async move { zookeeper.set_data(path, data, version).await };
        match self.patient.ask(lost, write).await {
            Ok(_) => Ok(true),
            Err(Error::BadVersion) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Current {
    /// Parses the data. The ids are in the last line, because an id contains no line break and the value may.
    pub(crate) fn decode(data: &[u8], version: i32) -> Current {
        let end = data.iter().rposition(|byte| *byte == b'\n');
        let (value, ids) = data.split_at(end.unwrap_or(data.len()));
        let ids = std::str::from_utf8(ids).unwrap_or_default();
        let recent = ids.split_ascii_whitespace().map(Arc::from).collect();
        Current { value: value.to_vec(), version, recent }
    }

    /// Returns the znode's version when it was read.
    pub(crate) fn version(&self) -> i32 {
        self.version
    }

    /// Returns the data after the next change (recipe rule 2.15.1).
    fn encode_next(&self, id: &Arc<str>, value: &[u8], kept: usize) -> Vec<u8> {
        let recent: Vec<&str> =
            std::iter::once(id).chain(&self.recent).take(kept).map(|id| &**id).collect();
        [value, b"\n", recent.join(" ").as_bytes()].concat()
    }

    /// Returns the result of a write with the version of `before`, derived from this later value.
    fn verdict(&self, id: &Arc<str>, before: &Current, kept: usize) -> Verdict {
        if self.recent.contains(id) {
            return Verdict::Set;
        }
        // If at most `kept` changes were made since then, the ids of all of them are present.
        let since = u32::try_from(self.version.wrapping_sub(before.version)).ok();
        match since.is_some_and(|since| since as usize <= kept) {
            true => Verdict::Refused,
            false => Verdict::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(version: i32, data: &[u8]) -> Current {
        Current::decode(data, version)
    }

    #[test]
    fn a_change_is_known_as_long_as_its_id_is_kept() {
        let id = |text: &str| -> Arc<str> { text.into() };
        let empty = at(0, b"");
        let first = at(1, &empty.encode_next(&id("a"), b"two\nlines", 2));
        assert_eq!((&*first.value, first.recent.len()), (&b"two\nlines"[..], 1));
        let second = at(2, &first.encode_next(&id("b"), b"", 2));
        let third = at(3, &second.encode_next(&id("c"), b"x", 2));
        assert_eq!(second.verdict(&id("a"), &empty, 2), Verdict::Set);
        assert_eq!(second.verdict(&id("z"), &empty, 2), Verdict::Refused);
        assert_eq!(third.verdict(&id("a"), &empty, 2), Verdict::Unknown);
        assert_eq!(third.verdict(&id("z"), &first, 2), Verdict::Refused);
    }
}
