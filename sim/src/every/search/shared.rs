//! The data that all threads of a search share: the table, the counts, the best violation, the reason to stop.

use super::super::model::Model;
use super::super::outcome::Bound;
use super::super::progress::Progress;
use super::super::visited::Visited;
use super::checkpoint::{Checkpoint, Counted, Header};
use super::found::Found;
use super::renewal::Renewal;
use super::{Options, Strategy};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

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
    pub(super) started: Instant,
    pub(super) visited: Visited,
    halted: AtomicBool,
    /// True if the workers are to stop between two states, so that a checkpoint can be written.
    paused: AtomicBool,
    bound: Mutex<Option<Bound>>,
    found: Mutex<Option<Found>>,
    withheld: Mutex<BTreeSet<&'static str>>,
    /// Why no checkpoint could be written.
    unwritten: Mutex<Option<String>>,
    /// How long the search took before its checkpoint was resumed.
    pub(super) earlier: Duration,
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
            started: Instant::now(),
            visited: Visited::new(breadth || options.max_depth.is_some()),
            halted: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            unwritten: Mutex::default(),
            earlier: Duration::ZERO,
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

    /// Returns the checkpoint with which the search begins.
    pub(super) fn resumed(&self) -> Option<&'a Checkpoint> {
        let breadth = self.options.strategy == Strategy::BreadthFirst;
        self.options
            .resume
            .as_ref()
            .filter(|checkpoint| breadth && checkpoint.of() == self.options.of)
    }

    /// Takes over the counts of a search whose checkpoint is resumed.
    pub(super) fn resume(&mut self, header: &Header) {
        let Counted { generated, distinct, edges_back, withholding, outside, cut, depth, .. } =
            header.counted;
        let whole = |count: u64| AtomicU64::new(count);
        self.earlier = header.elapsed;
        (self.generated, self.distinct) = (whole(generated), whole(distinct));
        (self.edges_back, self.outside) = (whole(edges_back), whole(outside));
        (self.withholding, self.cut) = (whole(withholding), AtomicI64::new(cut));
        self.depth = AtomicU32::new(depth);
        self.peak_frontier = AtomicI64::new(header.counted.peak_frontier);
        self.peak_held = AtomicI64::new(header.counted.peak_held);
        lock(&self.found).clone_from(&header.found);
        // A model names its bounds by constants. These few strings live as long as the process, as constants do.
        let names = header.withheld.iter().map(|name| &*name.clone().leak());
        lock(&self.withheld).extend(names);
    }

    /// Returns the header of a checkpoint, without what the states are.
    pub(super) fn header(&self, elapsed: Duration) -> Header {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counted = Counted {
            generated: load(&self.generated),
            distinct: load(&self.distinct),
            edges_back: load(&self.edges_back),
            withholding: load(&self.withholding),
            outside: load(&self.outside),
            cut: self.cut.load(Ordering::Relaxed),
            depth: self.depth.load(Ordering::Relaxed),
            peak_frontier: self.peak_frontier.load(Ordering::Relaxed),
            peak_held: self.peak_held.load(Ordering::Relaxed),
        };
        let withheld = lock(&self.withheld).iter().map(ToString::to_string).collect();
        let found = lock(&self.found).clone();
        Header { elapsed: self.earlier + elapsed, counted, withheld, found, ..Header::default() }
    }

    /// Counts states that wait again.
    pub(super) fn wait_again(&self, states: usize) {
        self.frontier.store(states as i64, Ordering::Relaxed);
        self.held.store(states as i64, Ordering::Relaxed);
    }

    /// Asks the workers to stop between two states, or to go on.
    pub(super) fn pause(&self, paused: bool) {
        self.paused.store(paused, Ordering::Relaxed);
    }

    /// Returns true if the workers are to stop between two states.
    pub(super) fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed)
    }

    /// Records why no checkpoint could be written, or that one was.
    pub(super) fn wrote(&self, result: Result<(), String>) {
        *lock(&self.unwritten) = result.err();
    }

    /// Returns why the last checkpoint could not be written.
    pub(super) fn unwritten(&self) -> Option<String> {
        lock(&self.unwritten).clone()
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
            elapsed: self.earlier + elapsed,
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
