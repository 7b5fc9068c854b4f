//! Sweeps: many seeds on several threads, with a result that does not depend on the threads.
//!
//! Workers take the next seed from a counter. Each run gets a fresh thread, because the standard library's hash maps
//! take their keys from the thread, and a run must not depend on earlier ones. Results are added in the order of
//! seeds. After a violation (unless the sweep is to continue) no later seed counts, even if it was already run. So
//! counts, hash and first violation are the same for any number of jobs.
//!
//! The first seed and then one in fifty is run twice (`sweep/repeat.rs`).

pub(crate) mod repeat;

use crate::run::RunReport;
use crate::run::difference::Difference;
use crate::run::record::Closed;
use crate::scenario::faults::Fault;
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

/// The options of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepOptions {
    /// The seeds.
    pub seeds: Range<u64>,
    /// Number of concurrent runs; at least one.
    pub jobs: usize,
    /// Whether to continue after a violation, to count the violations.
    pub keep_going: bool,
}

/// The sum of the runs so far, in the order of seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of seeds that ran.
    pub seeds: u64,
    /// Number of steps.
    pub steps: u64,
    /// Virtual time of all runs.
    pub simulated: Duration,
    /// Number of disruptions, by kind.
    pub disruptions: BTreeMap<Disruption, u64>,
    /// How often each fault of the plans struck.
    pub struck: BTreeMap<Fault, u64>,
    /// How often each rule of the scenario's script applied.
    pub scripted: Vec<u64>,
    /// How often each mark was reached.
    pub marks: BTreeMap<Mark, u64>,
    /// Number of requests that programs made.
    pub requests: u64,
    /// Number of observations with each name.
    pub observed: BTreeMap<Arc<str>, u64>,
    /// The monitors' measurements.
    pub measured: Vec<Measure>,
    /// The sum of the runs' hashes: sweeps with equal sums had the same runs.
    pub hash: Fingerprint,
    /// The seeds with a violation, each with the violated property.
    pub violating: BTreeMap<u64, String>,
}

impl Totals {
    fn add(&mut self, report: &RunReport) {
        self.seeds += 1;
        self.steps += report.steps;
        self.simulated += report.simulated;
        add_counts(&mut self.disruptions, &report.disruptions);
        add_counts(&mut self.struck, &report.struck);
        self.scripted.resize(self.scripted.len().max(report.scripted.len()), 0);
        self.scripted.iter_mut().zip(&report.scripted).for_each(|(sum, count)| *sum += count);
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

/// The result of a sweep.
#[derive(Clone, Debug)]
pub struct SweepReport {
    /// The sum of the runs.
    pub totals: Totals,
    /// The run with the lowest violating seed.
    pub first_violation: Option<RunReport>,
    /// If repeating that run gave a different one, the first step that differs. The violation is valid nevertheless.
    pub unrepeated: Option<Box<Difference>>,
    /// Whether the caller ended the sweep before all seeds had run.
    pub stopped: bool,
}

/// Sweeps `run` over the seeds. `progress` is called on this thread after each run that counts. Also returns the
/// first violating run as it was.
pub(crate) fn sweep_with(
    options: &SweepOptions,
    run: &(dyn Fn(u64) -> Closed + Sync),
    progress: &mut dyn FnMut(&Totals) -> ControlFlow<()>,
) -> (SweepReport, Option<Closed>) {
    let next = AtomicU64::new(options.seeds.start);
    // Seeds from here on do not count.
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

/// Runs one seed after the other until no further seed counts.
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

/// Runs a function on a new thread, so that nothing of an earlier run is left in the thread: the standard library's
/// hash maps take their keys from it.
pub fn on_fresh_thread<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    let named = thread::Builder::new().name(THREAD.to_string());
    let ended = thread::scope(|scope| {
        named.spawn_scoped(scope, run).expect("there can be one thread more").join()
    });
    ended.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Adds reports in the order of their seeds, whatever the order of their arrival.
struct Sum {
    report: SweepReport,
    keep_going: bool,
    next: u64,
    early: BTreeMap<u64, Closed>,
    first: Option<Closed>,
    /// The smallest violating seed of all reports that have arrived, added or not.
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
