//! What all threads of a search share: the table, the counts, the best violation, the reason to stop.

use super::super::model::Model;
use super::super::outcome::Bound;
use super::super::progress::Progress;
use super::super::visited::{Id, Visited};
use super::renewal::Renewal;
use super::{Options, Strategy};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::Objection;

/// A violation, and where: in a state, or on the way out of it by one of its actions.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// World steps from the start, as far as the search knows.
    pub(super) cost: u32,
    /// The state, unless an initial state is objectionable itself.
    pub(super) state: Option<(Id, Fingerprint)>,
    /// The place of the action among the state's, or of the initial state among those.
    pub(super) action: Option<u32>,
    /// The steps of that action.
    pub(super) length: u32,
    /// What was objected to.
    pub(super) objection: Objection,
}

impl Found {
    /// Which of several violations to report does not depend on who came first. At equal cost an
    /// objectionable step goes before a stuck state: it is found one level earlier.
    fn key(&self) -> (u32, bool, Option<Fingerprint>, Option<u32>) {
        (self.cost, self.action.is_none(), self.state.map(|(_, print)| print), self.action)
    }
}

/// What a worker has counted since it last told.
#[derive(Default)]
pub(super) struct Counts {
    /// States generated.
    pub(super) generated: u64,
    /// New ones among them.
    pub(super) distinct: u64,
    /// Change of what waits.
    pub(super) frontier: i64,
    /// Change of the states held.
    pub(super) held: i64,
    /// Actions that led to a known state that is no deeper.
    pub(super) edges_back: u64,
    /// Actions that led to a state on the same way.
    pub(super) cycles: u64,
    /// The greatest depth.
    pub(super) depth: u32,
    /// Since the last flush.
    expansions: u32,
}

/// A worker tells its counts after so many expansions, or after each if it must stop at a number.
const EXPANSIONS_PER_FLUSH: u32 = 32;

/// What all threads of a search share.
pub(super) struct Shared<'a, M: Model> {
    pub(super) model: &'a M,
    pub(super) options: &'a Options,
    pub(super) visited: Visited,
    halted: AtomicBool,
    bound: Mutex<Option<Bound>>,
    found: Mutex<Option<Found>>,
    withheld: Mutex<BTreeSet<&'static str>>,
    withholding: AtomicU64,
    outside: AtomicU64,
    cut: AtomicI64,
    generated: AtomicU64,
    distinct: AtomicU64,
    frontier: AtomicI64,
    peak_frontier: AtomicI64,
    held: AtomicI64,
    peak_held: AtomicI64,
    edges_back: AtomicU64,
    cycles: AtomicU64,
    depth: AtomicU32,
    pub(super) renewal: Renewal<M>,
    /// Bytes held by sampled states, and how many were sampled.
    sampled: [AtomicU64; 2],
    /// What holds a state while it waits, in bytes.
    holder: AtomicU64,
}

impl<'a, M: Model> Shared<'a, M> {
    pub(super) fn new(model: &'a M, options: &'a Options) -> Shared<'a, M> {
        let breadth = options.strategy == Strategy::BreadthFirst;
        Shared {
            model,
            options,
            visited: Visited::new(breadth || options.max_depth.is_some()),
            halted: AtomicBool::new(false),
            bound: Mutex::default(),
            found: Mutex::default(),
            withheld: Mutex::default(),
            withholding: AtomicU64::new(0),
            outside: AtomicU64::new(0),
            cut: AtomicI64::new(0),
            generated: AtomicU64::new(0),
            distinct: AtomicU64::new(0),
            frontier: AtomicI64::new(0),
            peak_frontier: AtomicI64::new(0),
            held: AtomicI64::new(0),
            peak_held: AtomicI64::new(0),
            edges_back: AtomicU64::new(0),
            cycles: AtomicU64::new(0),
            depth: AtomicU32::new(0),
            renewal: Renewal::new(options),
            sampled: [AtomicU64::new(0), AtomicU64::new(0)],
            holder: AtomicU64::new(0),
        }
    }

    /// Whether this search can tell a cycle from another way to the same state: depth first in one
    /// thread, where the states on the current way are known.
    pub(super) fn has_colours(&self) -> bool {
        self.options.strategy == Strategy::DepthFirst && self.options.threads.get() == 1
    }

    /// The newest model; none as long as it is the one that the search was given.
    pub(super) fn newest(&self) -> Option<Arc<M>> {
        self.renewal.newest()
    }

    /// Makes the model anew if it has grown enough, see [`Renewal::renew_if_due`].
    pub(super) fn renew_if_due(
        &self,
        states: &mut dyn Iterator<Item = &mut M::State>,
    ) -> Option<Arc<M>> {
        if self.is_halted() {
            return None;
        }
        self.renewal.renew_if_due(self.model, self.options, states)
    }

    /// Whether to stop.
    pub(super) fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Relaxed)
    }

    /// Stops the search for a reason. The first counts.
    pub(super) fn halt(&self, bound: Bound) {
        lock(&self.bound).get_or_insert(bound);
        self.halted.store(true, Ordering::Relaxed);
    }

    /// Stops the search without one: it has found what it wanted.
    pub(super) fn stop(&self) {
        self.halted.store(true, Ordering::Relaxed);
    }

    /// A guard for a worker's thread: if it panics, which only an assertion of the search itself can
    /// cause, the others must not wait for it.
    pub(super) fn stop_on_panic(&self) -> StopOnPanic<'_> {
        StopOnPanic(&self.halted)
    }

    /// The reason to stop, if there was one.
    pub(super) fn bound(&self) -> Option<Bound> {
        lock(&self.bound).clone()
    }

    /// Keeps a violation if it is the best so far.
    pub(super) fn offer(&self, found: Found) {
        let mut best = lock(&self.found);
        if best.as_ref().is_none_or(|best| found.key() < best.key()) {
            *best = Some(found);
        }
    }

    /// The best violation so far.
    pub(super) fn found(&self) -> Option<Found> {
        lock(&self.found).clone()
    }

    /// Whether no violation that is found from states at this level on can beat the best.
    pub(super) fn is_settled(&self, level: u32) -> bool {
        lock(&self.found).as_ref().is_some_and(|best| best.cost <= level)
    }

    /// Notes that the model leaves something out in a state.
    pub(super) fn withhold(&self, reason: &'static str) {
        self.withholding.fetch_add(1, Ordering::Relaxed);
        lock(&self.withheld).insert(reason);
    }

    /// Notes that a state lies outside of the model's boundary.
    pub(super) fn leave_outside(&self) {
        self.outside.fetch_add(1, Ordering::Relaxed);
    }

    /// One more (or less) state that was not expanded because of its depth.
    pub(super) fn cut(&self, change: i64) {
        self.cut.fetch_add(change, Ordering::Relaxed);
    }

    /// What was left out of a search that ran to its end, and of how many states.
    pub(super) fn left_out(&self) -> Option<(Bound, u64)> {
        let cut = unsigned(self.cut.load(Ordering::Relaxed));
        let outside = self.outside.load(Ordering::Relaxed);
        let withheld = lock(&self.withheld).clone();
        match self.options.max_depth {
            Some(depth) if cut > 0 => Some((Bound::Depth(depth), cut)),
            _ if outside > 0 => Some((Bound::Boundary, outside)),
            _ if !withheld.is_empty() => {
                Some((Bound::Withheld(withheld), self.withholding.load(Ordering::Relaxed)))
            }
            _ => None,
        }
    }

    /// Adds up what a worker counted in an expansion.
    pub(super) fn count(&self, counts: &mut Counts) {
        counts.expansions += 1;
        if counts.expansions >= EXPANSIONS_PER_FLUSH || self.options.max_states.is_some() {
            self.flush(counts);
        }
    }

    /// Adds up what a worker counted.
    pub(super) fn flush(&self, counts: &mut Counts) {
        let counts = std::mem::take(counts);
        let order = Ordering::Relaxed;
        self.generated.fetch_add(counts.generated, order);
        let distinct = self.distinct.fetch_add(counts.distinct, order) + counts.distinct;
        let frontier = self.frontier.fetch_add(counts.frontier, order) + counts.frontier;
        self.peak_frontier.fetch_max(frontier, order);
        let held = self.held.fetch_add(counts.held, order) + counts.held;
        self.peak_held.fetch_max(held, order);
        self.edges_back.fetch_add(counts.edges_back, order);
        self.cycles.fetch_add(counts.cycles, order);
        self.depth.fetch_max(counts.depth, order);
        if let Some(max) = self.options.max_states.filter(|max| distinct > *max) {
            self.halt(Bound::States(max));
        }
    }

    /// Samples what a waiting state takes.
    pub(super) fn sample(&self, state: &M::State, holder: usize) {
        let bytes = self.model.heap_bytes(state) as u64;
        self.sampled[0].fetch_add(bytes, Ordering::Relaxed);
        self.sampled[1].fetch_add(1, Ordering::Relaxed);
        self.holder.store(holder as u64, Ordering::Relaxed);
    }

    /// How far the search has come.
    pub(super) fn progress(&self, elapsed: Duration) -> Progress {
        Progress {
            elapsed,
            generated: self.generated.load(Ordering::Relaxed),
            distinct: self.distinct.load(Ordering::Relaxed),
            frontier: unsigned(self.frontier.load(Ordering::Relaxed)),
            depth: self.depth.load(Ordering::Relaxed),
            visited_bytes: self.visited.bytes(),
            frontier_bytes: self.bytes(&self.held),
            pieces_bytes: self.renewal.pieces_bytes(self.model),
        }
    }

    /// The most that waited at once.
    pub(super) fn peak_frontier(&self) -> u64 {
        unsigned(self.peak_frontier.load(Ordering::Relaxed))
    }

    /// About what the states held took at most.
    pub(super) fn peak_bytes(&self) -> u64 {
        self.bytes(&self.peak_held)
    }

    /// Actions that closed a cycle, and actions that led to a known state that is no deeper.
    pub(super) fn cycles(&self) -> (u64, u64) {
        (self.cycles.load(Ordering::Relaxed), self.edges_back.load(Ordering::Relaxed))
    }

    fn bytes(&self, held: &AtomicI64) -> u64 {
        let [bytes, samples] = self.sampled.each_ref().map(|count| count.load(Ordering::Relaxed));
        let each = self.holder.load(Ordering::Relaxed) + bytes / samples.max(1);
        unsigned(held.load(Ordering::Relaxed)) * each
    }
}

/// Stops a search when its thread panics.
pub(super) struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// A count that workers change by differences: between two of their messages it can be below zero.
fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
