//! The search: its options, its threads, and its ending.
//!
//! The strategies ([`breadth`], [`depth`]) work in threads of their own. The thread that called the search watches the
//! bounds and reports to the observer.

mod breadth;
mod checkpoint;
#[cfg(feature = "cluster")]
mod cluster;
mod depth;
mod found;
mod renewal;
mod replay;
mod resume;
mod shared;
mod step;

pub use checkpoint::{Checkpoint, Checkpoints};
#[cfg(feature = "cluster")]
pub use cluster::{Cluster, addresses, free};

use super::model::Model;
use super::outcome::{Bound, Counterexample, Cycles, Ending, Outcome, Statistics};
use super::progress::Observer;
use shared::Shared;
use std::num::NonZeroUsize;
#[cfg(feature = "cluster")]
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Scope;
use std::time::{Duration, Instant};
use vivarium_model::host::THREAD;

/// The interval at which the bounds are checked, and the number of checks between two reports to the observer.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS_PER_REPORT: u32 = 10;

/// The order in which states are expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// In the order of world steps: the violation found is the shortest.
    BreadthFirst,
    /// The newest first: needs little memory beyond the table of visited states.
    DepthFirst,
}

/// The options and bounds of a search.
#[derive(Clone, Debug)]
pub struct Options {
    /// The order of expansion.
    pub strategy: Strategy,
    /// The number of threads that expand states.
    pub threads: NonZeroUsize,
    /// Stop at more distinct states than this.
    pub max_states: Option<u64>,
    /// Stop when the process takes more bytes than this.
    pub max_memory: Option<u64>,
    /// Stop after this time.
    pub max_time: Option<Duration>,
    /// The instant from which `max_time` counts, for several searches that share it. The default is the start of the
    /// search.
    pub since: Option<Instant>,
    /// Expand no state at this many world steps or more.
    pub max_depth: Option<u32>,
    /// Stop when this is set to true.
    pub stop: Option<Arc<AtomicBool>>,
    /// What the search is of, in words. Only a search of the same can resume its checkpoints.
    pub of: String,
    /// Breadth first: write checkpoints.
    pub checkpoints: Option<Checkpoints>,
    /// Breadth first: go on from this checkpoint, if it is one of this search ([`Options::of`]).
    pub resume: Option<Checkpoint>,
    /// Breadth first: search together with other processes. Then the file of each worker is named by the checkpoint's, and
    /// the worker's number.
    #[cfg(feature = "cluster")]
    pub cluster: Option<Arc<Cluster>>,
    /// In several processes: go on from the last checkpoint that is there in all parts, if it is one of this search.
    #[cfg(feature = "cluster")]
    pub resume_together: Option<PathBuf>,
}

impl Options {
    /// Returns the instant at which a search that begins now reaches its time bound.
    pub fn until(&self) -> Option<Instant> {
        self.max_time.and_then(|time| self.since.unwrap_or_else(Instant::now).checked_add(time))
    }

    /// Creates options with one thread and no bounds.
    pub fn new(strategy: Strategy) -> Options {
        Options {
            strategy,
            threads: NonZeroUsize::MIN,
            max_states: None,
            max_memory: None,
            max_time: None,
            since: None,
            max_depth: None,
            stop: None,
            of: String::new(),
            checkpoints: None,
            resume: None,
            #[cfg(feature = "cluster")]
            cluster: None,
            #[cfg(feature = "cluster")]
            resume_together: None,
        }
    }
}

/// Spawns a scoped thread with the name of the threads that run programs.
fn in_thread<'scope>(scope: &'scope Scope<'scope, '_>, what: impl FnOnce() + Send + 'scope) {
    let named = std::thread::Builder::new().name(THREAD.to_string());
    named.spawn_scoped(scope, what).expect("there can be one thread more");
}

/// Searches the states of a model.
///
/// Breadth first, the ending does not depend on the number of threads, unless a bound of time, memory or states, or an
/// interrupt, ends the search. Depth first, it does: one thread always finds the same violation, several threads find
/// the one that a thread reaches first.
///
/// # Panics
/// Panics if the model has no initial state, or if the same actions lead to another state when taken again.
pub fn search<M: Model>(
    model: &M,
    options: &Options,
    observer: &dyn Observer,
) -> Outcome<M::Action> {
    let started = Instant::now();
    let shared = Shared::new(model, options);
    if let Some(checkpoint) = shared.resumed() {
        shared.resume(checkpoint.header());
        shared.goes_on_from(checkpoint.states(), checkpoint.depth());
    }
    let mut keeping = Keeping { last: started, reported: None, missing: None, resumed: false };
    keeping.report(&shared, observer);
    std::thread::scope(|scope| {
        let (done, ended) = channel::<()>();
        let shared = &shared;
        let search = move || {
            // Dropped at the end, even by a panic: the receiver then sees the channel close.
            let _done = done;
            match options.strategy {
                Strategy::BreadthFirst => breadth_first(shared),
                Strategy::DepthFirst => depth::search(shared),
            }
        };
        in_thread(scope, search);
        let mut looks = 0;
        look_after(shared);
        while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            look_after(shared);
            keeping.pause_if_due(shared);
            looks += 1;
            if looks % LOOKS_PER_REPORT == 0 {
                observer.progress(&shared.progress(started.elapsed()));
                keeping.report(shared, observer);
            }
        }
    });
    // A model may have skipped checks because the time was over. The search must then end with the time bound, although
    // all states were expanded.
    shared.halt_when_late();
    let progress = shared.progress(started.elapsed());
    observer.progress(&progress);
    keeping.report(&shared, observer);
    let ending = ending(&shared);
    let (visited_elsewhere, pieces_elsewhere) = shared.bytes_elsewhere();
    let statistics = Statistics {
        generated: progress.generated,
        distinct: progress.distinct,
        depth: progress.depth,
        elapsed: progress.elapsed,
        estimate: progress.estimate.filter(|_| shared.bound().is_some()),
        peak_frontier: shared.peak_frontier(),
        peak_frontier_bytes: shared.peak_bytes(),
        visited_bytes: progress.visited_bytes + visited_elsewhere,
        peak_pieces_bytes: shared.renewal.peak_pieces_bytes(model) + pieces_elsewhere,
        renewals: shared.renewal.renewals(),
        cycles: cycles(&shared, &ending),
        resumed_at: shared.resumed_at().map(|(states, _)| states),
    };
    Outcome { ending, statistics }
}

/// Searches breadth first, in one process or in several.
fn breadth_first<M: Model>(shared: &Shared<'_, M>) {
    #[cfg(feature = "cluster")]
    if let Some(cluster) = &shared.options.cluster {
        return cluster::search(shared, cluster);
    }
    breadth::search(shared);
}

/// When the last checkpoint was asked for.
struct Keeping {
    last: Instant,
    /// The last report that none could be written.
    reported: Option<String>,
    /// The last process for which this one was reported to wait.
    missing: Option<String>,
    /// True when it was reported that the search goes on from a checkpoint.
    resumed: bool,
}

impl Keeping {
    /// Reports, once each, that the search goes on from a checkpoint, that it waits for another process, and that a
    /// checkpoint could not be written.
    fn report<M: Model>(&mut self, shared: &Shared<'_, M>, observer: &dyn Observer) {
        if let Some((states, depth)) = shared.resumed_at().filter(|_| !self.resumed) {
            observer.resumed(states, depth);
            self.resumed = true;
        }
        let missing = shared.missing();
        if let Some(missing) = missing.as_ref().filter(|_| missing != self.missing) {
            observer.waits_for(missing);
        }
        self.missing = missing;
        let unwritten = shared.unwritten();
        if let Some(sentence) = unwritten.as_ref().filter(|_| unwritten != self.reported) {
            observer.unwritten(sentence);
        }
        self.reported = unwritten;
    }

    /// Asks the workers to stop for a checkpoint, if it is time for one.
    fn pause_if_due<M: Model>(&mut self, shared: &Shared<'_, M>) {
        let due = |checkpoints: &Checkpoints| self.last.elapsed() >= checkpoints.every;
        if shared.options.checkpoints.as_ref().is_some_and(due) && !shared.is_halted() {
            self.last = Instant::now();
            shared.pause(true);
        }
    }
}

/// Ends the search if a bound of time or memory is reached, or if it was interrupted.
fn look_after<M: Model>(shared: &Shared<'_, M>) {
    let options = shared.options;
    if options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
        shared.halt(Bound::Interrupted);
    }
    shared.halt_when_late();
    if let Some(memory) = options.max_memory {
        let progress = shared.progress(shared.started.elapsed());
        if progress.bytes().max(resident().unwrap_or(0)) > memory {
            shared.halt(Bound::Memory(memory));
        }
    }
}

/// Returns the resident memory of the process in bytes, if the system reports it.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

fn ending<M: Model>(shared: &Shared<'_, M>) -> Ending<M::Action> {
    let progress = shared.progress(Duration::ZERO);
    let states = progress.distinct;
    let bound = shared.bound();
    if let Some(found) = shared.found().filter(|_| shared.has_ways()) {
        // A state beyond the greatest depth is at least one step further away than that depth.
        let within = |depth: u32| found.cost <= depth.saturating_add(1);
        let shortest = shared.options.strategy == Strategy::BreadthFirst
            && bound.is_none()
            && shared.options.max_depth.is_none_or(within);
        let replayed = replay::replay(shared, &found);
        return Ending::Violated(Box::new(Counterexample {
            objection: found.objection,
            initial: replayed.initial,
            path: replayed.path,
            length: replayed.length,
            shortest,
        }));
    }
    if let Some(by) = bound {
        return Ending::Bounded { by, states, frontier: progress.frontier };
    }
    match shared.left_out() {
        Some((by, frontier)) => Ending::Bounded { by, states, frontier },
        None => Ending::Exhausted { states, depth: progress.depth },
    }
}

/// Returns what is known about cycles. Only a search that visited everything can prove that there are none.
fn cycles<M: Model>(shared: &Shared<'_, M>, ending: &Ending<M::Action>) -> Cycles {
    let (closed, may_close) = shared.cycles();
    let complete = matches!(ending, Ending::Exhausted { .. });
    match closed {
        _ if closed > 0 => Cycles::Found { count: closed },
        _ if complete && (may_close == 0 || shared.has_colours()) => Cycles::None,
        _ => Cycles::NotExamined { may_close },
    }
}
