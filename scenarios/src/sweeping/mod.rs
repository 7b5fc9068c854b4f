//! Converts the simulator's results to the reports' data. No other module knows both.

pub(crate) mod panics;
pub mod seeds;
pub(crate) mod shard;
pub(crate) mod vacuity;
pub(crate) mod watchdog;

use seeds::SeedRange;
use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::verdict::{Verdict, Violation};
use vivarium_model::words::panic_message;
use vivarium_reports::determinism::Difference;
use vivarium_reports::summary::{Count, Finding, ScenarioReport, Stopped};
use vivarium_sim::{
    Beat, Drawn, Fault, Heartbeats, HostKind, RunOptions, RunReport, Scenario, SweepOptions,
    SweepReport, Totals,
};
use watchdog::{Ended, PATIENCE, Teller};

/// How many steps of a violating run are shown.
pub(crate) const LAST_STEPS: usize = 40;

/// The commands that show a run again.
pub(crate) struct Commands {
    /// The command that replays the run.
    pub(crate) replay: String,
    /// The command that shows every step.
    pub(crate) every_step: String,
}

/// Returns the number of threads for one per core.
pub(crate) fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The result of a sweep, and its real time.
pub(crate) struct Swept {
    pub(crate) report: SweepReport,
    pub(crate) wall: Duration,
}

impl Swept {
    /// Returns the result of a sweep without seeds.
    pub(crate) fn nothing() -> Swept {
        let report = SweepReport {
            totals: Totals::default(),
            first_violation: None,
            unrepeated: None,
            stopped: false,
        };
        Swept { report, wall: Duration::ZERO }
    }
}

/// The options of a sweep.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) jobs: usize,
    pub(crate) host: HostKind,
    /// Whether to continue after a violation, to count violations.
    pub(crate) keep_going: bool,
    /// How many of the last steps of a violating run to keep as text.
    pub(crate) last_steps: usize,
}

/// Runs the seeds, by default up to the first violation, whose run is kept in full.
///
/// # Errors
/// Returns one sentence if a number of the scenario is invalid, if a program loops without awaiting, or if Vivarium
/// itself panics. In the last case, the sentence names the seed, for a bug report.
pub(crate) fn sweep(
    scenario: &Scenario,
    seeds: &SeedRange,
    how: &How,
    mut progress: impl FnMut(u64),
) -> Result<Swept, String> {
    scenario.check()?;
    panics::programs();
    let begun = Instant::now();
    let How { jobs, host, keep_going, last_steps } = *how;
    let which = SweepOptions { seeds: seeds.range(), jobs, keep_going };
    let options = RunOptions { host, keep_steps: true, trace_last: last_steps };
    let pulses: Arc<Heartbeats> = Arc::default();
    let (watched, swept) = (Arc::clone(&pulses), scenario.clone());
    let work = move |teller: &Teller<u64, SweepReport>| {
        vivarium_sim::sweep_watched(&swept, &which, &options, &watched, &mut |totals| {
            teller.tell(totals.seeds);
            ControlFlow::Continue(())
        })
    };
    let mut counted = 0;
    let count = |done| {
        counted = done;
        progress(done);
    };
    match watchdog::watched(PATIENCE, work, || pulses.beats(), count) {
        Ok(report) => Ok(Swept { report, wall: begun.elapsed() }),
        Err(Ended::Stuck(beat)) => Err(stuck(beat)),
        Err(Ended::Panicked(_)) => {
            let first = seeds.range().start + counted;
            Err(failure(scenario, first..seeds.range().end, host))
        }
    }
}

/// Returns the sentence about a run that does not advance.
pub(crate) fn stuck(beat: Beat) -> String {
    let who = match beat.client {
        // Monitors receive a program's observations within the same step, so a property can be the cause.
        Some(client) => format!("{client}'s program (or a property that receives its events)"),
        None => "a property".to_string(),
    };
    watchdog::stuck(&format!("seed {}: {who}", beat.seed), PATIENCE)
}

/// Finds the seed at which Vivarium panics, and returns a sentence with the panic. The caller passes the seeds that the
/// sweep had not counted yet.
fn failure(scenario: &Scenario, mut seeds: Range<u64>, host: HostKind) -> String {
    let options = RunOptions { host, ..RunOptions::default() };
    let attempt = |seed: &u64| {
        let run = || vivarium_sim::on_fresh_thread(|| vivarium_sim::run(scenario, *seed, &options));
        catch_unwind(AssertUnwindSafe(run)).err().map(|panic| (*seed, panic))
    };
    match seeds.find_map(|seed| attempt(&seed)) {
        Some((seed, panic)) => format!(
            "Vivarium itself failed at seed {seed}, please report it: {}",
            panic_message(&*panic)
        ),
        None => "Vivarium itself failed, but not a second time; please report it".to_string(),
    }
}

/// Makes a case of the recorded run.
pub(crate) fn case(scenario: &Scenario, bugs: &[String], run: &RunReport) -> Case {
    Case {
        version: Case::VERSION,
        scenario: scenario.name.clone(),
        grain: GrainKind::Ensemble,
        parameters: run.parameters.clone(),
        seed: Some(run.seed),
        bugs: bugs.to_vec(),
        config: run.config.clone(),
        outside: Vec::new(),
        steps: run.recorded.clone(),
        hash: run.hash,
        violation: run.violation.as_ref().map(|violation| violation.objection.clone()),
    }
}

/// Makes the report on a violating run.
pub(crate) fn finding(
    title: String,
    run: &RunReport,
    violation: &Violation,
    unrepeated: Option<&vivarium_sim::Difference>,
    case_file: Option<Result<String, String>>,
    Commands { replay, every_step }: Commands,
) -> Finding {
    Finding {
        scenario: title,
        violation: violation.clone(),
        options: run.options_text.clone(),
        config: run.config.clone(),
        case_file,
        replay,
        every_step,
        story: run.story.clone(),
        trace: run.trace.clone(),
        way: None,
        shorter: None,
        stopped: run.stopped.map(|stopped| {
            let vivarium_sim::Stopped { client, at, step } = stopped;
            Stopped { client, at, step }
        }),
        distinct: None,
        regression: None,
        panicked_at: panics::place_of(violation.objection.failure.as_ref()),
        unrepeated: unrepeated.map(|difference| Difference {
            seed: difference.seed,
            step: difference.step,
            says: difference.to_string(),
        }),
        as_read: None,
    }
}

/// Makes the report on a sweep, still without a finding.
pub(crate) fn sweep_report(
    scenario: &Scenario,
    bugs: &[String],
    how: &How,
    seeds: &SeedRange,
    Swept { report: swept, wall }: &Swept,
) -> ScenarioReport {
    let totals = &swept.totals;
    let struck = |fault| totals.struck.get(&fault).copied().unwrap_or(0);
    let reached = |mark| totals.marks.get(&mark).copied().unwrap_or(0);
    let marks = scenario.marks.iter().map(|mark| (mark.name().to_string(), reached(*mark)));
    // A rule that applies in no run is like a mark that none reaches.
    let applied = |rule: usize| totals.scripted.get(rule).copied().unwrap_or(0);
    let rules = scenario.script.rules().iter().enumerate();
    let marks = marks.chain(rules.map(|(at, rule)| (format!("the rule `{rule}`"), applied(at))));
    let kinds = scenario.faults.iter().chain(totals.struck.keys().copied());
    let kinds: BTreeSet<Fault> = kinds.collect();
    let run = Drawn::draw(scenario, seeds.range().start).run;
    let looks_for = vacuity::looked_for(&(scenario.monitors)(&run));
    let violation = swept.first_violation.as_ref().and_then(|run| run.violation.clone());
    let verdict = match violation {
        Some(violation) => Verdict::Violated(Box::new(violation)),
        None => Verdict::Held { seeds: totals.seeds, unreached: Vec::new() },
    };
    let mut report = ScenarioReport {
        scenario: scenario.name.clone(),
        bugs: bugs.to_vec(),
        host: how.host.to_string(),
        seeds: totals.seeds,
        first_seed: seeds.range().start,
        asked: seeds.len(),
        steps: totals.steps,
        simulated: totals.simulated,
        wall: *wall,
        faults: Count::list(kinds.into_iter().map(|fault| (fault.name(), struck(fault)))),
        marks: Count::list(marks),
        requests: totals.requests,
        observed: Count::list(totals.observed.iter().map(|(name, count)| (&**name, *count))),
        looks_for: looks_for.iter().map(|name| name.to_string()).collect(),
        measured: totals.measured.clone(),
        violations: totals.violating.len() as u64,
        hash: totals.hash,
        kept_going: how.keep_going,
        demands_marks: false,
        shard: None,
        merged: None,
        verdict,
        finding: None,
    };
    report.judge();
    report
}

#[cfg(test)]
#[cfg(feature = "catalogue")]
mod tests {
    use super::*;
    use crate::catalogue::{Switches, catalogue};
    use std::sync::Arc;
    use vivarium_model::handle::program;

    #[test]
    fn a_panic_of_vivarium_names_its_seed() {
        let mut scenario = (catalogue()[0].build)(&Switches::default());
        scenario.programs = Arc::new(|run| match run.seed {
            13 => panic!("no programs for this seed"),
            _ => vec![program(|_zookeeper| async { Ok(()) })],
        });
        scenario.clients = 1.into();
        let how = How { jobs: 2, host: HostKind::Direct, keep_going: false, last_steps: 0 };
        let swept = sweep(&scenario, &SeedRange::count(40).expect("some"), &how, |_done| ());
        assert_eq!(
            swept.err().as_deref(),
            Some("Vivarium itself failed at seed 13, please report it: no programs for this seed")
        );
    }
}
