//! Many seeds, on several threads, with a result that does not depend on the threads.
//!
//! Workers take the next seed from a counter. Each run gets a fresh thread, because the hash maps
//! of the standard library take their keys from the thread, and no run may depend on what ran
//! before it. Results are added up in the order of seeds; after a violation (unless the sweep is to
//! go on) no later seed counts, whoever ran it already. So counts, hash and first violation are the
//! same for any number of jobs.
//!
//! The first seed and then one in fifty is run twice (`recorded/repeat.rs`).

use crate::run::RunReport;
use crate::run::difference::Difference;
use crate::run::record::Closed;
use crate::seeded::faults::Fault;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::host::THREAD;
use vivarium_model::mark::{Disruption, Mark};
use vivarium_model::property::Measure;
use vivarium_model::time::Duration;

/// What to sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepOptions {
    /// The seeds.
    pub seeds: Range<u64>,
    /// How many runs at once; at least one.
    pub jobs: usize,
    /// Whether to go on after a violation, to count them.
    pub keep_going: bool,
}

/// The sum of the runs so far, in the order of seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many seeds ran.
    pub seeds: u64,
    /// How many steps they took.
    pub steps: u64,
    /// How much virtual time went by in all of them.
    pub simulated: Duration,
    /// How many steps were disruptions, by kind.
    pub disruptions: BTreeMap<Disruption, u64>,
    /// How often each fault of the plans struck.
    pub struck: BTreeMap<Fault, u64>,
    /// How often each mark was reached.
    pub marks: BTreeMap<Mark, u64>,
    /// How many requests programs made.
    pub requests: u64,
    /// How often programs made an observation of each name.
    pub observed: BTreeMap<Arc<str>, u64>,
    /// What monitors measured.
    pub measured: Vec<Measure>,
    /// The sum of the runs' hashes: two sweeps with the same one saw the same runs.
    pub hash: Fingerprint,
    /// The seeds with a violation, and which property each violates.
    pub violating: BTreeMap<u64, String>,
}

impl Totals {
    fn add(&mut self, report: &RunReport) {
        self.seeds += 1;
        self.steps += report.steps;
        self.simulated += report.simulated;
        add_counts(&mut self.disruptions, &report.disruptions);
        add_counts(&mut self.struck, &report.struck);
        add_counts(&mut self.marks, &report.marks);
        self.requests += report.requests;
        add_counts(&mut self.observed, &report.observed);
        Measure::add_all(&mut self.measured, &report.measured);
        self.hash.add(report.hash);
        if let Some(violation) = &report.violation {
            self.violating.insert(report.seed, violation.objection.property.clone());
        }
    }
}

fn add_counts<K: Ord + Clone>(sum: &mut BTreeMap<K, u64>, counts: &BTreeMap<K, u64>) {
    for (key, count) in counts {
        *sum.entry(key.clone()).or_default() += count;
    }
}

/// What a sweep saw.
#[derive(Clone, Debug)]
pub struct SweepReport {
    /// The sum of the runs.
    pub totals: Totals,
    /// The run with the lowest violating seed.
    pub first_violation: Option<RunReport>,
    /// Where that run, once more, was another one: the first step that differs. What it saw it has seen
    /// all the same.
    pub unrepeated: Option<Box<Difference>>,
    /// Whether the caller ended the sweep before all seeds had run.
    pub stopped: bool,
}

/// Sweeps `run` over the seeds. `progress` is called on this thread after each run that counts. Returns the
/// first violating run too, as it was.
pub(crate) fn sweep_with(
    options: &SweepOptions,
    run: &(dyn Fn(u64) -> Closed + Sync),
    progress: &mut dyn FnMut(&Totals) -> ControlFlow<()>,
) -> (SweepReport, Option<Closed>) {
    let next = AtomicU64::new(options.seeds.start);
    // No seed from here on counts.
    let end = AtomicU64::new(options.seeds.end);
    let (sender, results) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            let sender = sender.clone();
            scope.spawn(|| work(&next, &end, run, sender));
        }
        drop(sender);
        let mut sum = Sum::new(options);
        for closed in results {
            if sum.add(closed, progress).is_break() {
                end.store(0, Ordering::Relaxed);
                break;
            }
            if let (false, Some(first)) = (options.keep_going, sum.lowest_violating) {
                end.fetch_min(first + 1, Ordering::Relaxed);
            }
        }
        (sum.report, sum.first)
    })
}

/// Runs one seed after the other until there are no more that count.
fn work(
    next: &AtomicU64,
    end: &AtomicU64,
    run: &(dyn Fn(u64) -> Closed + Sync),
    results: mpsc::Sender<Closed>,
) {
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end.load(Ordering::Relaxed) {
            return;
        }
        let mut closed = on_fresh_thread(|| run(seed));
        if closed.report.violation.is_none() {
            closed.forget_steps();
        }
        if results.send(closed).is_err() {
            return;
        }
    }
}

/// Runs on a thread of its own, so that nothing of an earlier run is left in the thread: the standard
/// library's hash maps take their keys from it.
pub fn on_fresh_thread<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    let named = thread::Builder::new().name(THREAD.to_string());
    let ended = thread::scope(|scope| {
        named.spawn_scoped(scope, run).expect("there can be one thread more").join()
    });
    ended.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Adds up reports in the order of their seeds, in whatever order they come.
struct Sum {
    report: SweepReport,
    keep_going: bool,
    next: u64,
    early: BTreeMap<u64, Closed>,
    first: Option<Closed>,
    /// Of all that came in, whether it is its turn or not.
    lowest_violating: Option<u64>,
}

impl Sum {
    fn new(options: &SweepOptions) -> Sum {
        Sum {
            report: SweepReport {
                totals: Totals::default(),
                first_violation: None,
                unrepeated: None,
                stopped: false,
            },
            keep_going: options.keep_going,
            next: options.seeds.start,
            early: BTreeMap::new(),
            first: None,
            lowest_violating: None,
        }
    }

    fn add(
        &mut self,
        closed: Closed,
        progress: &mut dyn FnMut(&Totals) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let report = &closed.report;
        if report.violation.is_some() {
            let lowest = self.lowest_violating.unwrap_or(report.seed);
            self.lowest_violating = Some(lowest.min(report.seed));
        }
        self.early.insert(report.seed, closed);
        while let Some(closed) = self.early.remove(&self.next) {
            self.next += 1;
            self.report.totals.add(&closed.report);
            if progress(&self.report.totals).is_break() {
                self.report.stopped = true;
            }
            if closed.report.violation.is_some() && self.first.is_none() {
                self.report.first_violation = Some(closed.report.clone());
                self.first = Some(closed);
                if !self.keep_going {
                    return ControlFlow::Break(());
                }
            }
            if self.report.stopped {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;
