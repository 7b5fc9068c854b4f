//! Replaces the model of a search from time to time by one without the entries that are no longer needed.
//!
//! A model may store the pieces of its states, and results computed for them, in tables of its own; states are then
//! numbers in these tables. For a visited state, the search keeps only the fingerprint and the action that led to it,
//! so the tables need to hold only what the waiting states refer to. Between two levels of a breadth-first search, only
//! the frontier holds states. A model that has grown to several times its initial size is then asked for a successor
//! ([`Model::renewed`](super::super::model::Model::renewed)). The path to a violation is rebuilt by the model that the
//! search was given, which starts from its own initial states.

use super::super::model::Model;
use super::Options;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// A model that holds fewer bytes than this is not replaced.
const LEAST: u64 = 1 << 30;

/// The factor by which a model may grow after its creation. A smaller factor would save memory but cost time, because
/// forgotten results are computed again.
const GROWTH: u64 = 5;

/// Returns the limit in bytes for a model that held `held` bytes at its creation. With a memory bound, the limit is
/// lower, but at least twice `held`, because an earlier replacement would not help.
fn limit(options: &Options, held: u64) -> u64 {
    let enough = (GROWTH * held).max(LEAST);
    options.max_memory.map_or(enough, |most| enough.min((most / 3).max(2 * held)))
}

/// The newest model, and the limit at which it is replaced.
pub(super) struct Renewal<M> {
    /// `None` as long as it is the model that the search was given.
    newest: RwLock<Option<Arc<M>>>,
    /// The model is replaced above this many bytes.
    limit: AtomicU64,
    peak: AtomicU64,
    count: AtomicU64,
}

impl<M> Renewal<M> {
    pub(super) fn new(options: &Options) -> Renewal<M> {
        Renewal {
            newest: RwLock::new(None),
            limit: AtomicU64::new(limit(options, 0)),
            peak: AtomicU64::new(0),
            count: AtomicU64::new(0),
        }
    }
}

impl<M: Model> Renewal<M> {
    /// Returns the newest model; `None` as long as it is the one that the search was given.
    pub(super) fn newest(&self) -> Option<Arc<M>> {
        self.newest.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the model if it has grown above its limit. `first` is the model that the search was given, and `states`
    /// are all waiting states. Returns the replaced model.
    pub(super) fn renew_if_due(
        &self,
        first: &M,
        options: &Options,
        states: &mut dyn Iterator<Item = &mut M::State>,
    ) -> Option<Arc<M>> {
        let newest = self.newest();
        let model = newest.as_deref().unwrap_or(first);
        let bytes = model.pieces_bytes();
        self.peak.fetch_max(self.pieces_bytes(first), Ordering::Relaxed);
        if bytes <= self.limit.load(Ordering::Relaxed) {
            return None;
        }
        let successor = model.renewed(states)?;
        self.limit.store(limit(options, successor.pieces_bytes()), Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut place = self.newest.write().unwrap_or_else(PoisonError::into_inner);
        place.replace(Arc::new(successor))
    }

    /// Estimates what the models hold, in bytes.
    pub(super) fn pieces_bytes(&self, first: &M) -> u64 {
        first.pieces_bytes() + self.newest().map_or(0, |model| model.pieces_bytes())
    }

    /// Estimates the most that the models held, in bytes.
    pub(super) fn peak_pieces_bytes(&self, first: &M) -> u64 {
        self.peak.load(Ordering::Relaxed).max(self.pieces_bytes(first))
    }

    /// Returns how often the model was replaced.
    pub(super) fn renewals(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}
