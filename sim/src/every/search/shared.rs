//! The data that all threads of a search share: the table, the counts, the best violation, the reason to stop.

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

/// A violation, found in a state or in one of the state's actions.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The number of world steps from the start, as far as the search knows.
    pub(super) cost: u32,
    /// The state; `None` if an initial state itself is objectionable.
    pub(super) state: Option<(Id, Fingerprint)>,
    /// The index of the action, or that of the objectionable initial state.
    pub(super) action: Option<u32>,
    /// The number of world steps in the action.
    pub(super) length: u32,
    pub(super) objection: Objection,
}

impl Found {
    /// Orders violations so that the choice does not depend on which thread came first. At equal cost, an objectionable
    /// step comes before a stuck state, because it is found one level earlier.
    fn key(&self) -> (u32, bool, Option<Fingerprint>, Option<u32>) {
        (self.cost, self.action.is_none(), self.state.map(|(_, print)| print), self.action)
    }
}

/// The counts of a worker since its last flush.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) generated: u64,
    /// New states among the generated ones.
    pub(super) distinct: u64,
    /// The change in the number of waiting states or actions.
    pub(super) frontier: i64,
    /// The change in the number of states held.
    pub(super) held: i64,
    /// Actions that led to a known state that is no deeper.
    pub(super) edges_back: u64,
    /// Actions that led to a state on the current path.
    pub(super) cycles: u64,
    pub(super) depth: u32,
    /// Expansions since the last flush.
    expansions: u32,
}

/// A worker flushes its counts after this many expansions, or after each if the number of states is bounded.
const EXPANSIONS_PER_FLUSH: u32 = 32;

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
    /// The heap bytes of sampled states, and the number of samples.
    sampled: [AtomicU64; 2],
    /// The size of the structure that holds a waiting state, in bytes.
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

    /// Returns true if this search can distinguish a cycle from another path to the same state: depth first in one
    /// thread, where the states on the current path are known.
    pub(super) fn has_colours(&self) -> bool {
        self.options.strategy == Strategy::DepthFirst && self.options.threads.get() == 1
    }

    /// Returns the newest model; `None` as long as it is the one that the search was given.
    pub(super) fn newest(&self) -> Option<Arc<M>> {
        self.renewal.newest()
    }

    /// Replaces the model if it has grown above its limit, see [`Renewal::renew_if_due`].
    pub(super) fn renew_if_due(
        &self,
        states: &mut dyn Iterator<Item = &mut M::State>,
    ) -> Option<Arc<M>> {
        if self.is_halted() {
            return None;
        }
        self.renewal.renew_if_due(self.model, self.options, states)
    }

    /// Returns true if the search must stop.
    pub(super) fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Relaxed)
    }

    /// Stops the search for a reason. The first reason is kept.
    pub(super) fn halt(&self, bound: Bound) {
        lock(&self.bound).get_or_insert(bound);
        self.halted.store(true, Ordering::Relaxed);
    }

    /// Stops the search without a reason, after a violation.
    pub(super) fn stop(&self) {
        self.halted.store(true, Ordering::Relaxed);
    }

    /// Returns a guard that stops the search if the worker's thread panics. Only an assertion of the search itself can
    /// cause this, and the other threads must not wait for the worker.
    pub(super) fn stop_on_panic(&self) -> StopOnPanic<'_> {
        StopOnPanic(&self.halted)
    }

    /// Returns the reason to stop, if there was one.
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

    pub(super) fn found(&self) -> Option<Found> {
        lock(&self.found).clone()
    }

    /// Returns true if no violation found from states of this level on can be better than the best one.
    pub(super) fn is_settled(&self, level: u32) -> bool {
        lock(&self.found).as_ref().is_some_and(|best| best.cost <= level)
    }

    /// Records that the model withholds a step of a state.
    pub(super) fn withhold(&self, reason: &'static str) {
        self.withholding.fetch_add(1, Ordering::Relaxed);
        lock(&self.withheld).insert(reason);
    }

    /// Records that a state lies outside of the model's boundary.
    pub(super) fn leave_outside(&self) {
        self.outside.fetch_add(1, Ordering::Relaxed);
    }

    /// Adjusts the number of states that were not expanded because of their depth.
    pub(super) fn cut(&self, change: i64) {
        self.cut.fetch_add(change, Ordering::Relaxed);
    }

    /// Returns what a search that ran to its end left out, and in how many states.
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

    /// Counts an expansion, and flushes a worker's counts when they are due.
    pub(super) fn count(&self, counts: &mut Counts) {
        counts.expansions += 1;
        if counts.expansions >= EXPANSIONS_PER_FLUSH || self.options.max_states.is_some() {
            self.flush(counts);
        }
    }

    /// Adds a worker's counts to the totals.
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

    /// Samples the size of a waiting state.
    pub(super) fn sample(&self, state: &M::State, holder: usize) {
        let bytes = self.model.heap_bytes(state) as u64;
        self.sampled[0].fetch_add(bytes, Ordering::Relaxed);
        self.sampled[1].fetch_add(1, Ordering::Relaxed);
        self.holder.store(holder as u64, Ordering::Relaxed);
    }

    /// Returns the progress of the search.
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

    /// Returns the greatest number of waiting states or actions.
    pub(super) fn peak_frontier(&self) -> u64 {
        unsigned(self.peak_frontier.load(Ordering::Relaxed))
    }

    /// Estimates the greatest size of the states held, in bytes.
    pub(super) fn peak_bytes(&self) -> u64 {
        self.bytes(&self.peak_held)
    }

    /// Returns the number of actions that closed a cycle, and of actions that led to a known state that is no deeper.
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

/// Converts a count that workers change by differences. Between the flushes of two workers it can be negative.
fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
