//! The same run once more: of a sweep's first violation, and of any seed to see that it is one.

use super::determinism::{self, Difference, Way, compare};
use super::replay::ReplayIn;
use crate::run::pulse::Pulses;
use crate::run::record::{Closed, Keep};
use crate::run::subject::with_world;
use crate::run::{HostKind, RunOptions, RunReport};
use crate::scenario::Scenario;
use crate::scenario::drawn::Drawn;
use crate::seeded::simulate;
use crate::seeded::sweep::{self, SweepOptions, SweepReport, Totals};
use std::ops::ControlFlow;
use std::sync::Arc;

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
    let replayed = get(Way::Recording(host), Some(&first.report), keep.clone()).report;
    let run = match replayed.hash == first.report.hash {
        true => RunReport { trace: replayed.trace, story: replayed.story, ..first.report },
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
                let with = ReplayIn { drawn: &drawn, steps: &first.recorded, expected, keep };
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
