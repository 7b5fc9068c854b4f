//! Repeating a run: for the first violation of a sweep, for one seed in fifty of a sweep, and for any seed to check
//! that it determines its run.
//!
//! A program that depends on a clock, on the order of a hash table or on state left by another run need not fail
//! because of it. So a sweep runs some of its seeds twice although they violated nothing. In the second run monitors
//! receive all events, not only those that concern them: a monitor whose state differs at the end, or that objects,
//! has too narrow a `concerns`.

use crate::recorded::determinism::{self, compare};
use crate::recorded::replay::{ReplayIn, Timers};
use crate::run::difference::{Difference, Way};
use crate::run::heartbeat::Heartbeats;
use crate::run::record::{Closed, Keep};
use crate::run::subject::with_world;
use crate::run::{HostKind, RunOptions, RunReport};
use crate::scenario::Scenario;
use crate::seeded::drawn::Drawn;
use crate::seeded::simulate;
use crate::sweep::{self, SweepOptions, SweepReport, Totals};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use vivarium_model::host::FUNCTION_OF_ITS_INPUTS;
use vivarium_model::property::{OF_ITSELF, Objection, Telling};
use vivarium_model::time::Time;
use vivarium_model::verdict::Violation;

/// A sweep runs its first seed twice, and then one seed in this many.
const REPEATED: u64 = 50;

/// Runs many seeds of a scenario on several threads, each run on a fresh thread of its own.
///
/// The result is the same for any number of jobs. `progress` is called on the calling thread, in the order of seeds,
/// after each run that counts; it can end the sweep. The run of the first violation is repeated for its trace, which
/// is as long as `options` asks; its steps are always kept. If the repetition is a different run, the first one
/// counts nevertheless, and the report shows where they differ.
///
/// # Panics
/// If this build does not have the host.
pub fn sweep(
    scenario: &Scenario,
    seeds: &SweepOptions,
    options: &RunOptions,
    progress: &mut dyn FnMut(&Totals) -> ControlFlow<()>,
) -> SweepReport {
    sweep_watched(scenario, seeds, options, &Arc::default(), progress)
}

/// Like [`sweep`]; other threads can observe the state of its runs in `pulses`.
///
/// # Panics
/// If this build does not have the host.
pub fn sweep_watched(
    scenario: &Scenario,
    seeds: &SweepOptions,
    options: &RunOptions,
    pulses: &Arc<Heartbeats>,
    progress: &mut dyn FnMut(&Totals) -> ControlFlow<()>,
) -> SweepReport {
    let pulses = Some(Arc::clone(pulses));
    let keep = || Keep { steps: true, hashes: true, pulses: pulses.clone(), ..Keep::default() };
    let shown: Mutex<BTreeMap<u64, Twice>> = Mutex::default();
    let once = |seed: u64| {
        let is_repeated = (seed - seeds.seeds.start).is_multiple_of(REPEATED);
        let keep = Keep { monitors: is_repeated, ..keep() };
        let first = simulate(scenario, &Drawn::draw(scenario, seed), options.host, keep.clone());
        if !is_repeated || first.report.violation.is_some() {
            return first;
        }
        let (run, twice) = twice(scenario, first, options.host, &keep);
        if let Some(twice) = twice {
            shown.lock().unwrap_or_else(PoisonError::into_inner).insert(seed, twice);
        }
        run
    };
    let (mut report, first) = sweep::sweep_with(seeds, &once, progress);
    if let Some(first) = first {
        let keep = Keep { trace_last: options.trace_last, ..keep() };
        let shown = shown.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (run, unrepeated) = match shown.get(&first.report.seed) {
            Some(Twice { difference }) => {
                (with_trace(scenario, first, options.host, keep), difference.clone())
            }
            None => once_more(scenario, first, options.host, &keep),
        };
        (report.first_violation, report.unrepeated) = (Some(run), unrepeated);
    }
    report
}

/// Repeats the violating run with everything kept. Returns the difference as well if the same seed gave a different
/// run.
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
    (with_trace(scenario, first, host, keep.clone()), Some(difference))
}

/// Adds the trace to a run, by a replay of its steps, if that gives the same run.
fn with_trace(scenario: &Scenario, first: Closed, host: HostKind, keep: Keep) -> RunReport {
    let seed = first.report.seed;
    let replayed = go(scenario, seed, Way::Recording(host), Some(&first.report), keep).report;
    match replayed.hash == first.report.hash {
        true => RunReport { trace: replayed.trace, story: replayed.story, ..first.report },
        false => first.report,
    }
}

/// The result of running a seed without a violation twice.
struct Twice {
    /// Where the two runs differ, if they do.
    difference: Option<Box<Difference>>,
}

/// Repeats a seed without a violation. Returns the first run, or the violation that the second one shows.
fn twice(
    scenario: &Scenario,
    first: Closed,
    host: HostKind,
    keep: &Keep,
) -> (Closed, Option<Twice>) {
    let seed = first.report.seed;
    let get = |way: Way, first: Option<&RunReport>, keep| go(scenario, seed, way, first, keep);
    let telling =
        |time, telling| get(Way::Seed { host, time }, None, Keep { telling, ..keep.clone() });
    let second = telling(2, Telling::Everyone);
    let is_same = second.report.hash == first.report.hash
        && second.report.violation.is_none()
        && second.monitors == first.monitors;
    if is_same {
        return (first, None);
    }
    // Find the event that changes a monitor it does not concern.
    let third = telling(3, Telling::Copies);
    let about = third.report.violation.as_ref().map(|violation| &*violation.objection.property);
    if about == Some(OF_ITSELF) {
        return (third, Some(Twice { difference: None }));
    }
    let Err(difference) = determinism::repeated(&first, &second, host, &get) else {
        let mut states = first.monitors.iter().zip(&second.monitors);
        let name = states.find(|(one, other)| one != other).map_or("a property", |(one, _)| &one.0);
        let saw = format!(
            "seed {seed}, run twice, gave the same run, but the state of `{name}` differs at the end: this property \
             depends on something other than its events"
        );
        let step = first.report.steps;
        return (violating(first, OF_ITSELF, saw, step), Some(Twice { difference: None }));
    };
    let step = difference.step;
    let saw = format!(
        "seed {seed}, run twice, gave two different runs: they differ first at step {step}"
    );
    let run = match second.report.violation.is_some() {
        // Its objection is valid, whatever the first run shows.
        true => second,
        false => violating(first, FUNCTION_OF_ITS_INPUTS, saw, step),
    };
    (run, Some(Twice { difference: Some(difference) }))
}

/// Adds a violation that running the seed twice has shown.
fn violating(mut run: Closed, property: &str, saw: String, step: u64) -> Closed {
    let report = &run.report;
    let recorded = report.recorded.get(step.saturating_sub(1) as usize);
    run.report.violation = Some(Violation {
        objection: Objection::new(property, saw),
        seed: Some(report.seed),
        at: recorded.map_or(Time::ZERO + report.simulated, |(at, _)| *at),
        step,
        hash: report.hash,
    });
    run
}

/// Makes a run of this seed in the given way, on a fresh thread. `first` is the run whose recording is replayed.
fn go(scenario: &Scenario, seed: u64, way: Way, first: Option<&RunReport>, keep: Keep) -> Closed {
    sweep::on_fresh_thread(|| {
        // Drawn again: drawing the options must be deterministic as well.
        let drawn = Drawn::draw(scenario, seed);
        match way {
            Way::Seed { host, .. } => simulate(scenario, &drawn, host, keep),
            Way::Recording(host) => {
                let first = first.expect("a run to replay");
                let options_text = drawn.to_string();
                let expected = first.violation.as_ref().map(|violation| &violation.objection);
                let with = ReplayIn {
                    run: &drawn.run,
                    options_text,
                    steps: &first.recorded,
                    expected,
                    timers: Timers::AsRecorded,
                    keep,
                };
                with_world(scenario, &drawn.run, host, with).closed
            }
        }
    })
}

/// Runs a seed twice under the first host, once under each other one, and once more from its own recording, each on a
/// fresh thread, and compares the runs step by step.
///
/// # Errors
/// The first step that differs, with both versions.
///
/// # Panics
/// If `hosts` is empty or this build does not have one of them.
pub fn check_determinism(
    scenario: &Scenario,
    seed: u64,
    hosts: &[HostKind],
) -> Result<RunReport, Box<Difference>> {
    let get = |way: Way, first: Option<&RunReport>, keep| go(scenario, seed, way, first, keep);
    compare(seed, hosts, &get).map(|closed| closed.report)
}
