//! From the simulator's results to the reports' data: the only place that knows both.

use crate::seeds::SeedRange;
use std::any::Any;
use std::ops::{ControlFlow, Range};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};
use vivarium_model::verdict::{Verdict, Violation};
use vivarium_reports::determinism::Difference;
use vivarium_reports::summary::{Count, Finding, ScenarioReport};
use vivarium_sim::{HostKind, RunOptions, RunReport, Scenario, SweepOptions, SweepReport, Totals};

/// How many steps of a violating run are shown.
pub(crate) const LAST_STEPS: usize = 40;

/// One thread per core.
pub(crate) fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What a sweep saw, and how long it took.
pub(crate) struct Swept {
    pub(crate) report: SweepReport,
    pub(crate) wall: Duration,
}

/// How to sweep.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) jobs: usize,
    pub(crate) host: HostKind,
    /// Whether to go on after a violation, to count them.
    pub(crate) keep_going: bool,
}

/// Runs the seeds, as a rule up to the first violation, whose run is kept in full.
///
/// # Errors
/// Where the scenario's numbers make no sense; and where Vivarium itself panics, a sentence that names the
/// seed, so that it can be reported.
pub(crate) fn sweep(
    scenario: &Scenario,
    seeds: &SeedRange,
    how: &How,
    mut progress: impl FnMut(&Totals),
) -> Result<Swept, String> {
    scenario.check()?;
    let begun = Instant::now();
    let How { jobs, host, keep_going } = *how;
    let which = SweepOptions { seeds: seeds.range(), jobs, keep_going };
    let options = RunOptions { host, keep_steps: true, trace_last: LAST_STEPS };
    let mut counted = 0;
    let swept = catch_unwind(AssertUnwindSafe(|| {
        vivarium_sim::sweep(scenario, &which, &options, &mut |totals| {
            counted = totals.seeds;
            progress(totals);
            ControlFlow::Continue(())
        })
    }));
    match swept {
        Ok(report) => Ok(Swept { report, wall: begun.elapsed() }),
        Err(_) => {
            let first = seeds.range().start + counted;
            Err(failure(scenario, first..seeds.range().end, host))
        }
    }
}

/// Which of these seeds makes Vivarium panic, and with what: the sweep knows that one does, and
/// that it is among the next few.
fn failure(scenario: &Scenario, mut seeds: Range<u64>, host: HostKind) -> String {
    let options = RunOptions { host, ..RunOptions::default() };
    let attempt = |seed: &u64| {
        let run = || on_fresh_thread(|| vivarium_sim::run(scenario, *seed, &options));
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

/// What a panic said.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}

/// Does something on a thread of its own, as a sweep does with each run: the standard library's
/// hash maps take their keys from the thread.
pub(crate) fn on_fresh_thread<T: Send>(what: impl FnOnce() -> T + Send) -> T {
    let joined = std::thread::scope(|scope| scope.spawn(what).join());
    joined.unwrap_or_else(|panic| resume_unwind(panic))
}

/// The report on a violating run.
pub(crate) fn finding(
    title: String,
    run: &RunReport,
    violation: &Violation,
    unrepeated: Option<&vivarium_sim::Difference>,
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
        story: run.story.clone(),
        trace: run.trace.clone(),
        way: None,
        unrepeated: unrepeated.map(|difference| Difference {
            seed: difference.seed,
            step: difference.step,
            says: difference.to_string(),
        }),
    }
}

/// The report on a sweep, yet without a finding.
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
        host: how.host.to_string(),
        seeds: totals.seeds,
        first_seed: seeds.range().start,
        steps: totals.steps,
        simulated: totals.simulated,
        wall: *wall,
        faults: Count::list(scenario.faults.iter().map(|fault| (fault.name(), struck(fault)))),
        marks: Count::list(marks().map(|mark| (mark.name(), reached(mark)))),
        violations: totals.violating.len() as u64,
        hash: totals.hash,
        kept_going: how.keep_going,
        verdict,
        finding: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Switches, catalogue};
    use std::sync::Arc;
    use vivarium_model::handle::program;

    #[test]
    fn a_panic_of_vivarium_names_its_seed() {
        let mut scenario = (catalogue()[0].build)(&Switches::default());
        scenario.programs = Arc::new(|drawn| match drawn.seed {
            13 => panic!("no programs for this seed"),
            _ => vec![program(|_zookeeper| async { Ok(()) })],
        });
        scenario.clients = 1.into();
        let how = How { jobs: 2, host: HostKind::Direct, keep_going: false };
        let swept = sweep(&scenario, &SeedRange::count(40).expect("some"), &how, |_totals| ());
        assert_eq!(
            swept.err().as_deref(),
            Some("Vivarium itself failed at seed 13, please report it: no programs for this seed")
        );
    }
}
