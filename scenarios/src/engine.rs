//! From the simulator's results to the reports' data: the only place that knows both.

use std::time::Duration;
use vivarium_model::case::Case;
use vivarium_model::verdict::{Verdict, Violation};
use vivarium_reports::summary::{Count, Finding, ScenarioReport};
use vivarium_sim::{HostKind, RunOptions, RunReport, Scenario, SweepReport};

/// How many steps of a violating run are shown.
pub(crate) const LAST_STEPS: usize = 40;

/// The host's name on the command line.
pub(crate) fn host_name(host: HostKind) -> &'static str {
    match host {
        HostKind::Madsim => "madsim",
        HostKind::Direct => "direct",
    }
}

/// Runs a seed again, keeping what a report of it needs.
pub(crate) fn run_in_full(
    scenario: &Scenario,
    seed: u64,
    host: HostKind,
    trace_last: usize,
) -> RunReport {
    let options = RunOptions { host, keep_steps: true, trace_last: Some(trace_last) };
    vivarium_sim::run(scenario, seed, &options)
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
    first_seed: u64,
    sweep: &SweepReport,
) -> ScenarioReport {
    let faults = scenario
        .faults
        .iter()
        .map(|kind| (kind.to_string(), sweep.faults.get(&kind).copied().unwrap_or(0)));
    let reached = |mark| sweep.marks.get(mark).copied().unwrap_or(0);
    let marks = scenario.marks.iter().map(|mark| (mark.to_string(), reached(mark)));
    let unreached = scenario.marks.iter().filter(|mark| reached(mark) == 0);
    let violation = sweep.first.as_ref().and_then(|run| run.violation.clone());
    let verdict = match violation {
        Some(violation) => Verdict::Violated(Box::new(violation)),
        None => Verdict::Held {
            seeds: sweep.seeds,
            unreached: unreached.map(ToString::to_string).collect(),
        },
    };
    ScenarioReport {
        scenario: scenario.name.clone(),
        bugs: bugs.to_vec(),
        host: host_name(host).to_string(),
        seeds: sweep.seeds,
        first_seed,
        steps: sweep.steps,
        simulated: sweep.simulated,
        wall: sweep.wall,
        faults: Count::list(faults),
        marks: Count::list(marks),
        violations: sweep.violations,
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
        host: host_name(host).to_string(),
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
