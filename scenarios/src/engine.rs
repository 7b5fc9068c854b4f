//! From the simulator's results to the reports' data: the only place that knows both.

use crate::seeds::SeedRange;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use vivarium_model::case::Case;
use vivarium_model::verdict::{Verdict, Violation};
use vivarium_reports::summary::{Count, Finding, ScenarioReport};
use vivarium_sim::{HostKind, RunOptions, RunReport, Scenario, SweepOptions, SweepReport, Totals};

/// How many steps of a violating run are shown.
pub(crate) const LAST_STEPS: usize = 40;

/// One thread per core.
pub(crate) fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs the seeds up to the first violation, whose run is kept in full, and measures the time.
pub(crate) fn sweep(
    scenario: &Scenario,
    seeds: &SeedRange,
    jobs: usize,
    host: HostKind,
    mut progress: impl FnMut(&Totals),
) -> (SweepReport, Duration) {
    let begun = Instant::now();
    let which = SweepOptions { seeds: seeds.range(), jobs, keep_going: false };
    let options = RunOptions { host, keep_steps: true, trace_last: LAST_STEPS };
    let swept = vivarium_sim::sweep(scenario, &which, &options, &mut |totals| {
        progress(totals);
        ControlFlow::Continue(())
    });
    (swept, begun.elapsed())
}

/// Does something on a thread of its own, as a sweep does with each run: the standard library's
/// hash maps take their keys from the thread.
pub(crate) fn on_fresh_thread<T: Send>(what: impl FnOnce() -> T + Send) -> T {
    let joined = std::thread::scope(|scope| scope.spawn(what).join());
    joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The hosts of this build, the default one first.
pub(crate) fn available_hosts() -> Vec<HostKind> {
    let hosts = [HostKind::Madsim, HostKind::Direct];
    hosts.into_iter().filter(|host| host.is_available()).collect()
}

/// The recorded run as a case.
pub(crate) fn case(scenario: &Scenario, bugs: &[String], run: &RunReport) -> Case {
    Case {
        version: Case::VERSION,
        scenario: scenario.name.clone(),
        parameters: run.parameters.clone(),
        seed: Some(run.seed),
        bugs: bugs.to_vec(),
        config: run.config.clone(),
        steps: run.recorded.clone(),
        hash: run.hash,
        violation: run.violation.as_ref().map(|violation| violation.objection.clone()),
    }
}

/// The report on a violating run.
pub(crate) fn finding(
    title: String,
    run: &RunReport,
    violation: &Violation,
    case_file: Option<Result<String, String>>,
    replay: String,
) -> Finding {
    Finding {
        scenario: title,
        violation: violation.clone(),
        options: run.options_text.clone(),
        config: run.config.clone(),
        case_file,
        replay,
        trace: run.trace.clone(),
    }
}

/// The report on a sweep, yet without a finding.
pub(crate) fn sweep_report(
    scenario: &Scenario,
    bugs: &[String],
    host: HostKind,
    seeds: &SeedRange,
    (swept, wall): &(SweepReport, Duration),
) -> ScenarioReport {
    let totals = &swept.totals;
    let struck = |fault| totals.struck.get(&fault).copied().unwrap_or(0);
    let reached = |mark| totals.marks.get(&mark).copied().unwrap_or(0);
    let marks = || scenario.marks.iter().copied();
    let unreached = marks().filter(|mark| reached(*mark) == 0).map(|mark| mark.to_string());
    let violation = swept.first_violation.as_ref().and_then(|run| run.violation.clone());
    let verdict = match violation {
        Some(violation) => Verdict::Violated(Box::new(violation)),
        None => Verdict::Held { seeds: totals.seeds, unreached: unreached.collect() },
    };
    ScenarioReport {
        scenario: scenario.name.clone(),
        bugs: bugs.to_vec(),
        host: host.to_string(),
        seeds: totals.seeds,
        first_seed: seeds.range().start,
        steps: totals.steps,
        simulated: totals.simulated,
        wall: *wall,
        faults: Count::list(scenario.faults.iter().map(|fault| (fault.name(), struck(fault)))),
        marks: Count::list(marks().map(|mark| (mark.name(), reached(mark)))),
        violations: totals.violating.len() as u64,
        verdict,
        finding: None,
    }
}

/// The report on a scenario that could not be run to its end.
pub(crate) fn error_report(
    name: &str,
    bugs: &[String],
    host: HostKind,
    error: String,
) -> ScenarioReport {
    ScenarioReport {
        scenario: name.to_string(),
        bugs: bugs.to_vec(),
        host: host.to_string(),
        seeds: 0,
        first_seed: 0,
        steps: 0,
        simulated: Duration::ZERO,
        wall: Duration::ZERO,
        faults: Vec::new(),
        marks: Vec::new(),
        violations: 0,
        verdict: Verdict::Error(error),
        finding: None,
    }
}
