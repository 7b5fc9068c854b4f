//! The data that all threads of a search share: the table, the counts, the best violation, the reason to stop.

use super::super::estimate::Estimate;
use super::super::model::Model;
use super::super::outcome::Bound;
use super::super::progress::Progress;
use super::super::visited::Visited;
use super::checkpoint::{Checkpoint, Counted, Header};
use super::found::Found;
use super::renewal::Renewal;
use super::{Options, Strategy};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use vivarium_model::fingerprint::Fingerprint;

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
    /// Actions that may be part of a cycle, see [`may_close`](super::step::may_close).
    pub(super) may_close: u64,
    /// Actions that led to a state on the current path.
    pub(super) cycles: u64,
    pub(super) depth: u32,
    /// Expansions since the last flush.
    expansions: u32,
}

/// A worker flushes its counts after this many expansions, or after each if the number of states is bounded.
const EXPANSIONS_PER_FLUSH: u32 = 32;

/// What one process of a cluster has counted, or several have together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Totals {
    pub(super) counted: Counted,
    pub(super) frontier: i64,
    /// The names of the bounds that withheld steps.
    pub(super) withheld: BTreeSet<String>,
    /// The bytes of visited states, and of the models' pieces.
    pub(super) visited_bytes: u64,
    pub(super) pieces_bytes: u64,
}

#[cfg(feature = "cluster")]
impl Totals {
    /// Adds what another process has counted.
    pub(super) fn add(&mut self, other: Totals) {
        let Totals { counted, frontier, withheld, visited_bytes, pieces_bytes } = other;
        self.counted.add(counted);
        self.frontier += frontier;
        self.withheld.extend(withheld);
        self.visited_bytes += visited_bytes;
        self.pieces_bytes += pieces_bytes;
    }
}

/// How a search in several processes ended.
struct Settled {
    bound: Option<Bound>,
    /// The way to the violation, backwards: each state, and the index of the action that led to it.
    links: Vec<(Fingerprint, usize)>,
}

pub(super) struct Shared<'a, M: Model> {
    pub(super) model: &'a M,
    pub(super) options: &'a Options,
    pub(super) started: Instant,
    pub(super) visited: Visited,
    halted: AtomicBool,
    /// True if the workers are to stop between two states, so that a checkpoint can be written.
    paused: AtomicBool,
    bound: Mutex<Option<Bound>>,
    /// What the other processes of a cluster have counted.
    elsewhere: Mutex<Totals>,
    /// The bytes of the tables of a cluster's workers.
    tables: AtomicI64,
    /// The process of a cluster for which this one waits.
    missing: Mutex<Option<String>>,
    /// What all processes of a cluster have agreed on at the end.
    settled: OnceLock<Settled>,
    found: Mutex<Option<Found>>,
    withheld: Mutex<BTreeSet<&'static str>>,
    /// Why no checkpoint could be written.
    unwritten: Mutex<Option<String>>,
    /// How long the search took before its checkpoint was resumed.
    earlier: OnceLock<Duration>,
    /// The visited states of the checkpoint that was resumed, and its depth.
    resumed_at: OnceLock<(u64, u32)>,
    withholding: AtomicU64,
    outside: AtomicU64,
    cut: AtomicI64,
    generated: AtomicU64,
    distinct: AtomicU64,
    frontier: AtomicI64,
    peak_frontier: AtomicI64,
    held: AtomicI64,
    peak_held: AtomicI64,
    may_close: AtomicU64,
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
            earlier: OnceLock::new(),
            resumed_at: OnceLock::new(),
            bound: Mutex::default(),
            elsewhere: Mutex::default(),
            tables: AtomicI64::new(0),
            missing: Mutex::default(),
            settled: OnceLock::new(),
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
            may_close: AtomicU64::new(0),
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
    pub(super) fn resume(&self, header: &Header) {
        let Counted { generated, distinct, may_close, withholding, outside, cut, depth, .. } =
            header.counted;
        let Counted { peak_frontier, peak_held, .. } = header.counted;
        let order = Ordering::Relaxed;
        let _ = self.earlier.set(header.elapsed);
        self.generated.store(generated, order);
        self.distinct.store(distinct, order);
        self.may_close.store(may_close, order);
        self.outside.store(outside, order);
        self.withholding.store(withholding, order);
        self.cut.store(cut, order);
        self.depth.store(depth, order);
        self.peak_frontier.store(peak_frontier, order);
        self.peak_held.store(peak_held, order);
        lock(&self.found).clone_from(&header.found);
        lock(&self.withheld).extend(leaked(header.withheld.iter()));
    }

    /// Returns what this process has counted.
    pub(super) fn counted(&self) -> Counted {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counted {
            generated: load(&self.generated),
            distinct: load(&self.distinct),
            may_close: load(&self.may_close),
            withholding: load(&self.withholding),
            outside: load(&self.outside),
            cut: self.cut.load(Ordering::Relaxed),
            depth: self.depth.load(Ordering::Relaxed),
            peak_frontier: self.peak_frontier.load(Ordering::Relaxed),
            peak_held: self.peak_held.load(Ordering::Relaxed),
        }
    }

    /// Returns how long the search took before its checkpoint was resumed.
    fn earlier(&self) -> Duration {
        self.earlier.get().copied().unwrap_or_default()
    }

    /// Records that the search goes on from a checkpoint with this number of visited states.
    pub(super) fn goes_on_from(&self, states: u64, depth: u32) {
        let _ = self.resumed_at.set((states, depth));
    }

    /// Returns the visited states of the checkpoint from which the search goes on, and its depth.
    pub(super) fn resumed_at(&self) -> Option<(u64, u32)> {
        self.resumed_at.get().copied()
    }

    /// Returns the header of a checkpoint, without what the states are.
    pub(super) fn header(&self, elapsed: Duration) -> Header {
        let counted = self.counted();
        let withheld = lock(&self.withheld).iter().map(ToString::to_string).collect();
        let found = lock(&self.found).clone();
        Header { elapsed: self.earlier() + elapsed, counted, withheld, found, ..Header::default() }
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
        match self.settled.get() {
            Some(settled) => settled.bound.clone(),
            None => lock(&self.bound).clone(),
        }
    }

    /// Ends the search if its time is over.
    pub(super) fn halt_when_late(&self) {
        let since = self.options.since.unwrap_or(self.started);
        if let Some(time) = self.options.max_time.filter(|time| since.elapsed() >= *time) {
            self.halt(Bound::Time(time));
        }
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
        let elsewhere = lock(&self.elsewhere);
        let Counted { cut, outside, withholding, .. } = elsewhere.counted;
        let cut = unsigned(self.cut.load(Ordering::Relaxed) + cut);
        let outside = self.outside.load(Ordering::Relaxed) + outside;
        let withholding = self.withholding.load(Ordering::Relaxed) + withholding;
        let mut withheld = lock(&self.withheld).clone();
        withheld
            .extend(leaked(elsewhere.withheld.iter().filter(|name| !withheld.contains(&***name))));
        match self.options.max_depth {
            Some(depth) if cut > 0 => Some((Bound::Depth(depth), cut)),
            _ if outside > 0 => Some((Bound::Boundary, outside)),
            _ if !withheld.is_empty() => Some((Bound::Withheld(withheld), withholding)),
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
        self.may_close.fetch_add(counts.may_close, order);
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
        let elsewhere = lock(&self.elsewhere);
        let Counted { generated, distinct, depth, .. } = elsewhere.counted;
        let distinct = self.distinct.load(Ordering::Relaxed) + distinct;
        let frontier = unsigned(self.frontier.load(Ordering::Relaxed) + elsewhere.frontier);
        Progress {
            elapsed: self.earlier() + elapsed,
            generated: self.generated.load(Ordering::Relaxed) + generated,
            distinct,
            frontier,
            estimate: self
                .ends_with_the_last_state()
                .then(|| Estimate::of(distinct, frontier, self.peak_frontier())),
            depth: self.depth.load(Ordering::Relaxed).max(depth),
            visited_bytes: self.visited.bytes() + unsigned(self.tables.load(Ordering::Relaxed)),
            frontier_bytes: self.bytes(&self.held),
            pieces_bytes: self.renewal.pieces_bytes(self.model),
        }
    }

    /// Returns true if the search goes on until no state waits.
    fn ends_with_the_last_state(&self) -> bool {
        let breadth = self.options.strategy == Strategy::BreadthFirst;
        breadth && self.options.max_depth.is_none() && lock(&self.found).is_none()
    }

    /// Returns the greatest number of waiting states or actions.
    pub(super) fn peak_frontier(&self) -> u64 {
        unsigned(self.peak_frontier.load(Ordering::Relaxed))
    }

    /// Estimates the greatest size of the states held, in bytes.
    pub(super) fn peak_bytes(&self) -> u64 {
        self.bytes(&self.peak_held)
    }

    /// Returns the bytes of visited states and of pieces in the other processes of a cluster.
    pub(super) fn bytes_elsewhere(&self) -> (u64, u64) {
        let elsewhere = lock(&self.elsewhere);
        (elsewhere.visited_bytes, elsewhere.pieces_bytes)
    }

    /// Returns true if the way to a violation can be known: not in several processes that were parted before the end.
    pub(super) fn has_ways(&self) -> bool {
        #[cfg(feature = "cluster")]
        if self.options.cluster.is_some() && self.options.strategy == Strategy::BreadthFirst {
            return self.settled.get().is_some();
        }
        true
    }

    /// Returns the way to a state, backwards: each state, and the index of the action that led to it.
    pub(super) fn links(&self, to: Fingerprint) -> Vec<(Fingerprint, usize)> {
        if let Some(settled) = self.settled.get() {
            return settled.links.clone();
        }
        let mut links = Vec::new();
        let mut next = self.visited.find(to);
        assert!(next.is_some(), "a state with a violation was visited");
        while let Some(id) = next {
            let (fingerprint, arrival) = self.visited.arrival(id);
            links.push((fingerprint, arrival.action as usize));
            next = arrival.from;
        }
        links
    }

    /// Returns the process of a cluster for which this one waits or waited.
    pub(super) fn missing(&self) -> Option<String> {
        lock(&self.missing).clone()
    }

    /// Returns the number of actions that closed a cycle, and of actions that led to a known state that is no deeper.
    pub(super) fn cycles(&self) -> (u64, u64) {
        let elsewhere = lock(&self.elsewhere).counted.may_close;
        (self.cycles.load(Ordering::Relaxed), self.may_close.load(Ordering::Relaxed) + elsewhere)
    }

    fn bytes(&self, held: &AtomicI64) -> u64 {
        let [bytes, samples] = self.sampled.each_ref().map(|count| count.load(Ordering::Relaxed));
        let each = self.holder.load(Ordering::Relaxed) + bytes / samples.max(1);
        unsigned(held.load(Ordering::Relaxed)) * each
    }
}

/// What only a search in several processes needs.
#[cfg(feature = "cluster")]
impl<M: Model> Shared<'_, M> {
    /// Returns what this process tells the others of its counts.
    pub(super) fn totals(&self) -> Totals {
        Totals {
            counted: self.counted(),
            frontier: self.frontier.load(Ordering::Relaxed),
            withheld: lock(&self.withheld).iter().map(ToString::to_string).collect(),
            visited_bytes: unsigned(self.tables.load(Ordering::Relaxed)),
            pieces_bytes: self.renewal.peak_pieces_bytes(self.model),
        }
    }

    /// Takes over what the other processes have counted.
    pub(super) fn elsewhere(&self, elsewhere: Totals) {
        let frontier = self.frontier.load(Ordering::Relaxed) + elsewhere.frontier;
        self.peak_frontier.fetch_max(frontier, Ordering::Relaxed);
        *lock(&self.elsewhere) = elsewhere;
    }

    /// Records the process for which this one waits.
    pub(super) fn waits_for(&self, missing: String) {
        *lock(&self.missing) = Some(missing);
    }

    /// Returns a number that no other run of the search has.
    pub(super) fn number(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanoseconds = since.unwrap_or_default().as_nanos();
        Fingerprint::of(&(nanoseconds, std::process::id())).0 as u64
    }

    /// Changes the size of the tables of this process's workers.
    pub(super) fn tables(&self, bytes: i64) {
        self.tables.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Ends the search as all processes have agreed. Nothing changes that afterwards.
    pub(super) fn settle(&self, bound: Option<Bound>, links: Vec<(Fingerprint, usize)>) {
        let _ = self.settled.set(Settled { bound, links });
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

/// Makes constants of names. A model names its bounds by constants, so there are only a few.
fn leaked<'a>(names: impl Iterator<Item = &'a String>) -> BTreeSet<&'static str> {
    names.map(|name| &*name.clone().leak()).collect()
}

/// Converts a count that workers change by differences. Between the flushes of two workers it can be negative.
fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
