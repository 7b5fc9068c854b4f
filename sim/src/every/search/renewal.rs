//! The model of a search, replaced from time to time by one that has forgotten what nobody needs.
//!
//! A model may keep what its states are made of, and what it has worked out about them, in tables of
//! its own, in which states are numbers. Of a visited state only its fingerprint and how it was come
//! to are kept, so the tables need hold no more than what the states that wait refer to. Between two
//! levels of a search breadth first nobody but the frontier has states, and that is when a model that
//! has grown to several times what it was is asked for its successor
//! ([`Model::renewed`](super::super::model::Model::renewed)). The path to a violation is rebuilt by
//! the model that the search was given, which starts from its own initial states.

use super::super::model::Model;
use super::Options;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// A model that holds less than this, in bytes, is left as it is.
const LEAST: u64 = 1 << 30;

/// It may grow to so many times what it held when it was made. Less would save memory, and cost time:
/// what is forgotten is worked out again.
const GROWTH: u64 = 5;

/// Up to how many bytes a model may grow that held so many when it was made. Where memory is short it
/// is made anew earlier, as long as that can be expected to help.
fn limit(options: &Options, held: u64) -> u64 {
    let enough = (GROWTH * held).max(LEAST);
    options.max_memory.map_or(enough, |most| enough.min((most / 3).max(2 * held)))
}

/// The newest model and when it is due to be replaced.
pub(super) struct Renewal<M> {
    /// None: still the one that the search was given.
    newest: RwLock<Option<Arc<M>>>,
    /// Due above so many bytes.
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
    /// The newest model; none as long as it is the one that the search was given.
    pub(super) fn newest(&self) -> Option<Arc<M>> {
        self.newest.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes the model anew if it has grown enough; `first` is the one that the search was given, and these
    /// are all states that wait. Answers with the model that nobody needs any more.
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

    /// About what the models hold.
    pub(super) fn pieces_bytes(&self, first: &M) -> u64 {
        first.pieces_bytes() + self.newest().map_or(0, |model| model.pieces_bytes())
    }

    /// About what the models held at most.
    pub(super) fn peak_pieces_bytes(&self, first: &M) -> u64 {
        self.peak.load(Ordering::Relaxed).max(self.pieces_bytes(first))
    }

    /// How often the model was made anew.
    pub(super) fn renewals(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}
