//! `vivarium run`: sweeps scenarios, and reports.

use super::arguments::RunArguments;
use super::cases::CASES;
use super::commands::replay_of_seed;
use super::each_seed::each_seed;
use super::embedding;
use super::output::{emit, to_stderr};
use super::plan::Plan;
use super::progress::Meter;
use super::select::{self, Selected};
use super::{cases, distinct, guard, minimise, outputs, regressions};
use crate::catalogue::Entry;
use crate::sweeping::Commands;
use crate::sweeping::seeds::SeedRange;
use crate::sweeping::{self, LAST_STEPS, Swept};
use std::path::Path;
use std::time::{Duration, Instant};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::verdict::Verdict;
use vivarium_reports::case_file;
use vivarium_reports::determinism::{
    self, DeterminismReport, Difference, determinism_json, determinism_text,
};
use vivarium_reports::numbers::span;
use vivarium_reports::summary::{Finding, ScenarioReport};
use vivarium_sim::{HostKind, RunReport, Scenario};

/// Runs the command and returns the exit code.
pub(super) fn run(arguments: &RunArguments, entries: &[Entry]) -> Result<u8, String> {
    let seeds = arguments.seeds.as_deref().map(SeedRange::parse).transpose();
    let bugs = &arguments.switches.names()?;
    let plan = Plan {
        selection: select::selection(&arguments.scenarios, bugs, entries)?,
        bugs,
        seeds: seeds.map_err(|error| error.to_string())?,
        jobs: select::jobs(arguments.jobs.as_deref())?,
        host: select::host(arguments.host.as_deref())?,
        keep_going: arguments.keep_going,
        minimises_for: minimise::time(arguments.minimise.as_deref())?,
        shard: arguments.shard.as_deref().map(outputs::shard).transpose()?,
    };
    let checks = [
        ("--check-determinism", arguments.check_determinism),
        ("--check-embedding", arguments.check_embedding),
    ];
    let check = checks.into_iter().find(|(_, given)| *given);
    if let (Some(flag), Some((check, _))) = (arguments.pictures.flag(), check) {
        return Err(format!("`{flag}` and `{check}` do not go together: leave out one of them"));
    }
    if arguments.check_determinism {
        return check_determinism(&plan, arguments.outputs.json);
    }
    if arguments.check_embedding {
        return embedding::check(&plan);
    }
    let begun = Instant::now();
    let violating = replay_regressions(&plan, arguments)?;
    let reports: Vec<ScenarioReport> =
        plan.selection.iter().map(|selected| sweep(selected, &plan)).collect();
    let ending = format!("{} of real time, host {}", span(begun.elapsed()), plan.host);
    let code = outputs::emit_reports(&reports, &arguments.outputs, &ending)?;
    arguments.pictures.write_run(&reports, entries)?;
    Ok(if violating > 0 { code.max(1) } else { code })
}

/// Replays the cases of the selected scenarios, and prints what became of them. Returns how many violate a property. Of
/// several shards, the first does it for all.
fn replay_regressions(plan: &Plan<'_>, arguments: &RunArguments) -> Result<usize, String> {
    let mut violating = 0;
    if plan.shard.is_some_and(|shard| !shard.is_first()) {
        return Ok(violating);
    }
    for selected in &plan.selection {
        let replays =
            guard::guarded(|| regressions::replays(Path::new(CASES), selected, plan.bugs))?;
        violating += replays.violating;
        match (replays.text.is_empty(), arguments.outputs.json) {
            (true, _) => {}
            // Standard output is a JSON document.
            (false, true) => to_stderr(replays.text.trim_end()),
            (false, false) => drop(emit(&replays.text, 0)),
        }
    }
    Ok(violating)
}

/// Sweeps one scenario, up to its first violation or to the end, and reports the first violation.
fn sweep(selected: &Selected<'_>, plan: &Plan<'_>) -> ScenarioReport {
    let name = selected.entry.name;
    let mut report = guard::guarded(|| sweep_unguarded(selected, plan))
        .and_then(|outcome| outcome)
        .unwrap_or_else(|sentence| error_report(name, plan, sentence));
    plan.complete(selected.entry, &mut report);
    report
}

fn sweep_unguarded(selected: &Selected<'_>, plan: &Plan<'_>) -> Result<ScenarioReport, String> {
    let Selected { entry, scenario } = selected;
    let how = sweeping::How {
        jobs: plan.jobs,
        host: plan.host,
        keep_going: plan.keep_going,
        last_steps: LAST_STEPS,
    };
    let swept = match plan.part_of(entry) {
        Some(seeds) => {
            let meter = Meter::new(entry.name.to_string(), seeds.len());
            let swept = sweeping::sweep(scenario, &seeds, &how, |done| meter.update(done));
            meter.finish();
            swept.map_err(|sentence| sentence + &guard::last_place())?
        }
        None => Swept::nothing(),
    };
    let whole = plan.seeds_of(entry);
    let mut report = sweeping::sweep_report(scenario, plan.bugs, &how, &whole, &swept);
    if let Some(run) = &swept.report.first_violation {
        let title = report.title_with_rate();
        let unrepeated = swept.report.unrepeated.as_deref();
        report.finding = finding(&title, scenario, plan, run, unrepeated);
        let violating = &swept.report.totals.violating;
        if let Some(finding) = &mut report.finding
            && violating.len() > 1
            && !plan.minimises_for.is_zero()
        {
            let time = plan.minimises_for;
            finding.distinct =
                Some(distinct::distinct(scenario, plan.bugs, violating, plan.host, time));
        }
    }
    Ok(report)
}

fn finding(
    title: &str,
    scenario: &Scenario,
    plan: &Plan<'_>,
    run: &RunReport,
    unrepeated: Option<&vivarium_sim::Difference>,
) -> Option<Finding> {
    let bugs = plan.bugs;
    let violation = run.violation.as_ref()?;
    let recorded = sweeping::case(scenario, bugs, run);
    let path = cases::path(&scenario.name, bugs, &run.seed.to_string());
    let case_file = match case_file::save(&path, &recorded) {
        Ok(()) => Ok(path.display().to_string()),
        Err(error) => Err(error.to_string()),
    };
    let replay = replay_of_seed(&scenario.name, run.seed, bugs);
    let commands = Commands { every_step: format!("{replay} --timeline=all"), replay };
    let title = title.to_string();
    let finding = sweeping::finding(title, run, violation, unrepeated, Some(case_file), commands);
    let (smaller, time) = (minimise::beside(&path), plan.minimises_for);
    Some(minimise::with_smaller(finding, scenario, &recorded, &smaller, plan.host, time))
}

/// Makes the report on a scenario that could not be run to its end.
fn error_report(name: &str, plan: &Plan<'_>, error: String) -> ScenarioReport {
    ScenarioReport {
        scenario: name.to_string(),
        bugs: plan.bugs.to_vec(),
        host: plan.host.to_string(),
        seeds: 0,
        first_seed: 0,
        asked: 0,
        steps: 0,
        simulated: Duration::ZERO,
        wall: Duration::ZERO,
        faults: Vec::new(),
        marks: Vec::new(),
        requests: 0,
        observed: Vec::new(),
        looks_for: Vec::new(),
        measured: Vec::new(),
        violations: 0,
        hash: Fingerprint::default(),
        kept_going: plan.keep_going,
        demands_marks: false,
        shard: None,
        merged: None,
        verdict: Verdict::Error(error),
        finding: None,
    }
}

fn check_determinism(plan: &Plan<'_>, json: bool) -> Result<u8, String> {
    let mut reports = Vec::new();
    for selected in &plan.selection {
        reports.push(guard::guarded(|| determinism_of(selected, plan))?);
    }
    let text = if json { determinism_json(&reports) } else { determinism_text(&reports) };
    Ok(emit(&text, determinism::exit_code(&reports)))
}

/// Checks seed by seed on all threads, up to the first difference.
fn determinism_of(selected: &Selected<'_>, plan: &Plan<'_>) -> DeterminismReport {
    let seeds = plan.seeds_of(selected.entry);
    let meter = Meter::new(selected.entry.name.to_string(), seeds.len());
    let hosts = select::available_hosts();
    let check = |seed| {
        let checked = vivarium_sim::check_determinism(&selected.scenario, seed, &hosts);
        checked.map(|_| ()).map_err(|difference| (difference.step, difference.to_string()))
    };
    let (done, found) = each_seed(seeds.range(), plan.jobs, &meter, &check);
    let difference = found.map(|(seed, (step, says))| Difference { seed, step, says });
    let compared = if HostKind::Madsim.is_available() {
        "under madsim (twice), under direct, and from its recording"
    } else {
        "under direct (twice; this build has no madsim host), and from its recording"
    };
    DeterminismReport {
        scenario: selected.entry.name.to_string(),
        seeds: done,
        compared: compared.to_string(),
        difference,
    }
}
