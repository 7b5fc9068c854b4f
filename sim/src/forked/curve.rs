//! How inevitable a violation was, step by step.

use super::Recording;
use crate::run::{HostKind, RunOptions, RunReport};
use crate::sweep::on_fresh_thread;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use vivarium_model::property::Objection;

/// How a curve is made.
#[derive(Clone, Copy)]
pub struct How<'a> {
    /// The host of the programs.
    pub host: HostKind,
    /// How many threads to use; at least one.
    pub jobs: usize,
    /// The number of forks after each step that is examined; at least one.
    pub forks: u32,
    /// The number of steps, evenly spaced, that are examined first; at least two.
    pub points: usize,
    /// Is called with the number of forks that have run.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// How many of the forks after a step violate the property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// How many steps were taken as recorded.
    pub taken: usize,
    /// The number of forks.
    pub forks: u32,
    /// How many of them violate the property.
    pub violating: u32,
}

impl Point {
    /// Returns the share of violating forks.
    pub fn share(self) -> f64 {
        f64::from(self.violating) / f64::from(self.forks.max(1))
    }
}

/// The shares over the steps, and where they rise the most.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The points, in the order of steps.
    pub points: Vec<Point>,
    /// The point before the greatest rise and the one after it, which are neighbouring steps if the rise is one step's.
    pub jump: (Point, Point),
    /// From the point before the jump: a fork that violates the property and one that does not, if there are both. They
    /// have all their trace lines, and the same first steps for as long as two such forks have.
    pub pair: Option<(RunReport, RunReport)>,
}

/// Examines steps of a recorded run: some evenly spaced ones, then those between the two where the share rises the most,
/// by bisection.
pub fn curve(recording: &Recording<'_>, objection: &Objection, how: How<'_>) -> Curve {
    let examined = Examined { recording, objection, how, done: AtomicUsize::new(0) };
    let last = recording.len();
    let count = how.points.max(2).min(last + 1);
    let steps = (0..count).map(|at| at * last / (count - 1).max(1));
    let mut points: BTreeMap<usize, Point> =
        steps.map(|taken| (taken, examined.point(taken))).collect();
    let mut jump = steepest(&points);
    while jump.1.taken - jump.0.taken > 1 {
        let middle = usize::midpoint(jump.0.taken, jump.1.taken);
        let point = examined.point(middle);
        points.insert(middle, point);
        let first = point.share() - jump.0.share();
        let second = jump.1.share() - point.share();
        jump = if first >= second { (jump.0, point) } else { (point, jump.1) };
    }
    let pair = examined.pair(jump.0);
    Curve { points: points.into_values().collect(), jump, pair }
}

/// Returns the neighbouring points with the greatest rise.
fn steepest(points: &BTreeMap<usize, Point>) -> (Point, Point) {
    let neighbours = points.values().zip(points.values().skip(1));
    let rise = |(before, after): &(&Point, &Point)| after.share() - before.share();
    let steepest = neighbours.max_by(|one, other| rise(one).total_cmp(&rise(other)));
    let (before, after) = steepest.expect("there are at least two points");
    (*before, *after)
}

struct Examined<'a, 'b> {
    recording: &'a Recording<'b>,
    objection: &'a Objection,
    how: How<'a>,
    done: AtomicUsize,
}

impl Examined<'_, '_> {
    /// Runs the forks after this step, on all threads.
    fn point(&self, taken: usize) -> Point {
        let forks = self.how.forks.max(1);
        let violating = self.violating(taken).len() as u32;
        Point { taken, forks, violating }
    }

    /// Returns the seeds of the forks that violate the property.
    fn violating(&self, taken: usize) -> Vec<u64> {
        let options = RunOptions { host: self.how.host, ..RunOptions::default() };
        let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed) as u64;
                if seed >= u64::from(self.how.forks.max(1)) {
                    return;
                }
                let run = on_fresh_thread(|| self.recording.fork(taken, seed, &options));
                if self.is_same(&run) {
                    found.lock().expect("no thread panics while it holds the lock").push(seed);
                }
                (self.how.progress)(self.done.fetch_add(1, Ordering::Relaxed) as u64 + 1);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.how.jobs.max(1) {
                scope.spawn(work);
            }
        });
        let mut found = found.into_inner().expect("no thread panics while it holds the lock");
        found.sort_unstable();
        found
    }

    fn is_same(&self, run: &RunReport) -> bool {
        run.violation.as_ref().is_some_and(|violation| {
            let found = &violation.objection;
            found.property == self.objection.property && found.failure == self.objection.failure
        })
    }

    /// Returns a violating fork and one that does not, those that part the latest.
    fn pair(&self, from: Point) -> Option<(RunReport, RunReport)> {
        let violating = self.violating(from.taken);
        let passing: Vec<u64> =
            (0..u64::from(from.forks)).filter(|seed| !violating.contains(seed)).collect();
        let host = self.how.host;
        let options = RunOptions { host, keep_steps: true, trace_last: usize::MAX };
        let run = |seed: &u64| on_fresh_thread(|| self.recording.fork(from.taken, *seed, &options));
        // A few of each are enough for two that are alike.
        let violating: Vec<RunReport> = violating.iter().take(SOME).map(run).collect();
        let passing: Vec<RunReport> = passing.iter().take(SOME).map(run).collect();
        let pairs = violating.iter().flat_map(|bad| passing.iter().map(move |good| (bad, good)));
        let alike = pairs.max_by_key(|(bad, good)| common(bad, good));
        alike.map(|(bad, good)| (bad.clone(), good.clone()))
    }
}

/// How many forks of each kind are compared.
const SOME: usize = 8;

/// Returns the number of first steps that two runs have in common, whatever their times.
pub fn common(one: &RunReport, other: &RunReport) -> usize {
    let pairs = one.recorded.iter().zip(&other.recorded);
    pairs.take_while(|((_, one), (_, other))| one == other).count()
}
