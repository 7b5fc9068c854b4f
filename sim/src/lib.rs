//! What can happen: virtual time, latencies, faults, seeds, hosts, sweeps and replays.
//!
//! A [`scenario::Scenario`] says which world to build and what may go wrong; a seed draws one run
//! of it ([`options::Drawn`]); the driver takes its steps until everything is done or something is
//! violated. [`run()`] is one seed, [`sweep()`] many, [`replay()`] takes recorded steps again, and
//! [`check_determinism`] makes sure that a seed means one run and no other.

pub mod bounds;
mod determinism;
mod driver;
pub mod embed;
#[cfg(feature = "explore")]
pub mod every;
mod faults;
mod heap;
pub mod host;
pub mod latency;
#[cfg(test)]
mod mock;
pub mod options;
pub mod pace;
pub mod plan;
mod programs;
mod pulse;
pub mod random;
mod record;
mod replay;
mod run;
pub mod scenario;
pub mod servers;
pub mod service;
mod settings;
mod standstill;
mod subject;
mod sweep;
mod timers;

pub use determinism::{Caused, Difference, Side, Way};
pub use faults::{Fault, FaultSet, Rate};
pub use options::{Drawn, Search};
pub use pulse::{Beat, Pulses};
pub use replay::Replay;
pub use run::{HostKind, RunOptions, RunReport};
pub use scenario::{Choice, Explored, Limits, Scenario, Servers};
pub use settings::{ClientOptions, Settings};
pub use standstill::Stopped;
pub use sweep::{SweepOptions, SweepReport, Totals, on_fresh_thread};

use determinism::compare;
use record::{Closed, Keep};
use replay::retake;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use subject::{Subject, WithSubject, with_timed_world, with_world};
use vivarium_model::case::Case;
use vivarium_model::property::Objection;
use vivarium_model::step::Step;
use vivarium_model::time::{Duration, Time};

/// Runs one seed of a scenario.
///
/// The run is a function of the scenario and the seed; the options decide what is kept of it. Call
/// it on a fresh thread (as [`sweep()`] does) where programs use the standard library's hash maps.
///
/// # Panics
/// If this build has no such host ([`HostKind::is_available`]).
pub fn run(scenario: &Scenario, seed: u64, options: &RunOptions) -> RunReport {
    let drawn = Drawn::draw(scenario, seed);
    simulate(scenario, &drawn, options.host, Keep::from(*options)).report
}

/// Runs one seed and says how much real time the host of the programs took: for benches.
///
/// # Panics
/// If this build has no such host.
pub fn run_timed(scenario: &Scenario, seed: u64, host: HostKind) -> (RunReport, Duration) {
    let spent = Rc::new(Cell::new(Duration::ZERO));
    let drawn = Drawn::draw(scenario, seed);
    let keep = Keep::from(RunOptions { host, ..RunOptions::default() });
    let with = Simulate { drawn: &drawn, keep };
    let closed = with_timed_world(scenario, &drawn, host, Some(Rc::clone(&spent)), with);
    (closed.report, spent.get())
}

/// Takes the steps of a recorded run again.
///
/// # Errors
/// One sentence about what is wrong with the case.
///
/// # Panics
/// If this build has no such host.
pub fn replay(scenario: &Scenario, case: &Case, options: &RunOptions) -> Result<Replay, String> {
    let drawn = replay::drawn(scenario, case)?;
    let expected = case.violation.as_ref();
    let keep = Keep::from(*options);
    let with = Retake { drawn: &drawn, steps: &case.steps, expected, keep };
    let (closed, skipped) = with_world(scenario, &drawn, options.host, with);
    let same = skipped.is_empty() && closed.report.hash == case.hash;
    Ok(Replay { report: closed.report, skipped, same })
}

/// Runs many seeds of a scenario on several threads, each run on a fresh thread of its own.
///
/// The result is the same for any number of jobs. `progress` is called on the calling thread, in
/// the order of seeds, after each run that counts; it can end the sweep. The run of the first
/// violation is run once more for its trace, as long as `options` asks for; its steps are always
/// kept. If that is another run, the first one counts all the same, and the report says where they
/// differ.
///
/// # Panics
/// If this build has no such host.
pub fn sweep(
    scenario: &Scenario,
    seeds: &SweepOptions,
    options: &RunOptions,
    progress: &mut dyn FnMut(&Totals) -> ControlFlow<()>,
) -> SweepReport {
    sweep_watched(scenario, seeds, options, &Arc::default(), progress)
}

/// The same, and others can see where its runs stand.
///
/// # Panics
/// If this build has no such host.
pub fn sweep_watched(
    scenario: &Scenario,
    seeds: &SweepOptions,
    options: &RunOptions,
    pulses: &Arc<Pulses>,
    progress: &mut dyn FnMut(&Totals) -> ControlFlow<()>,
) -> SweepReport {
    let pulses = Some(Arc::clone(pulses));
    let keep = || Keep { steps: true, hashes: true, pulses: pulses.clone(), ..Keep::default() };
    let once = |seed| simulate(scenario, &Drawn::draw(scenario, seed), options.host, keep());
    let (mut report, first) = sweep::sweep_with(seeds, &once, progress);
    if let Some(first) = first {
        let keep = Keep { trace_last: options.trace_last, ..keep() };
        let (run, unrepeated) = once_more(scenario, first, options.host, &keep);
        (report.first_violation, report.unrepeated) = (Some(run), unrepeated);
    }
    report
}

/// The violating run with everything kept; and where the same seed, once more, gave another one.
fn once_more(
    scenario: &Scenario,
    first: Closed,
    host: HostKind,
    keep: &Keep,
) -> (RunReport, Option<Box<Difference>>) {
    let seed = first.report.seed;
    let get = |way: Way, first: Option<&RunReport>, keep| go(scenario, seed, way, first, keep);
    let again = get(Way::Seed { host, time: 2 }, None, keep.clone());
    let Err(difference) = determinism::repeated(&first, &again, host, &get) else {
        return (again.report, None);
    };
    // Its steps are known. Taken once more, they may come to the same.
    let retaken = get(Way::Recording(host), Some(&first.report), keep.clone()).report;
    let run = match retaken.hash == first.report.hash {
        true => RunReport { trace: retaken.trace, story: retaken.story, ..first.report },
        false => first.report,
    };
    (run, Some(difference))
}

/// Goes one way to a run of this seed, on a fresh thread. `first` is the run that a recording is of.
fn go(scenario: &Scenario, seed: u64, way: Way, first: Option<&RunReport>, keep: Keep) -> Closed {
    sweep::on_fresh_thread(|| {
        // Drawn anew: drawing the options is a part of what must be deterministic.
        let drawn = Drawn::draw(scenario, seed);
        match way {
            Way::Seed { host, .. } => simulate(scenario, &drawn, host, keep),
            Way::Recording(host) => {
                let first = first.expect("a run to replay");
                let expected = first.violation.as_ref().map(|violation| &violation.objection);
                let with = Retake { drawn: &drawn, steps: &first.recorded, expected, keep };
                with_world(scenario, &drawn, host, with).0
            }
        }
    })
}

/// Runs a seed twice under the first host, once under each other one, and once more from its own
/// recording, each on a fresh thread, and compares them step for step.
///
/// # Errors
/// The first step that differs, with both sides' text.
///
/// # Panics
/// If `hosts` is empty or this build lacks one of them.
pub fn check_determinism(
    scenario: &Scenario,
    seed: u64,
    hosts: &[HostKind],
) -> Result<RunReport, Box<Difference>> {
    let get = |way: Way, first: Option<&RunReport>, keep| go(scenario, seed, way, first, keep);
    compare(seed, hosts, &get).map(|closed| closed.report)
}

fn simulate(scenario: &Scenario, drawn: &Drawn, host: HostKind, keep: Keep) -> Closed {
    with_world(scenario, drawn, host, Simulate { drawn, keep })
}

/// [`driver::simulate`], for a world under any host.
struct Simulate<'a> {
    drawn: &'a Drawn,
    keep: Keep,
}

impl WithSubject for Simulate<'_> {
    type Result = Closed;

    fn run<S: Subject>(self, subject: S) -> Closed {
        driver::simulate(subject, self.drawn, self.keep)
    }
}

/// [`replay::retake`], for a world under any host.
struct Retake<'a> {
    drawn: &'a Drawn,
    steps: &'a [(Time, Step)],
    expected: Option<&'a Objection>,
    keep: Keep,
}

impl WithSubject for Retake<'_> {
    type Result = (Closed, Vec<(u64, Time, Step)>);

    fn run<S: Subject>(self, subject: S) -> Self::Result {
        retake(subject, self.drawn, self.steps, self.expected, self.keep)
    }
}
