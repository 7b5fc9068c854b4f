//! Minimises a violating run of a sweep: a smaller run that violates the same property.
//!
//! First by seed: ever larger worlds (servers, clients, rounds) with ever more of the kinds of faults that struck, a
//! few seeds each, until a run violates the property (`smaller`). Then faults and programs are left out of the recorded
//! run, and what these had kept from happening happens (`fewer`); if none can be left out, the fault plan of the recorded
//! seed is reduced (`planned`). Then whatever the violation does not need is left out of the recorded steps (`steps`).
//! Each part stops when its share of the caller's time is over, with the smallest run so far.
//!
//! A minimised run is a run like any other: it can happen, it violates the property, and its case replays.

mod accepted;
mod fewer;
mod outside;
mod planned;
mod smaller;
mod steps;
mod without_time;

#[doc(hidden)]
pub use accepted::{accepted, accepted_in_time};
pub use outside::{MinimisedOutside, minimised_outside};

use crate::recorded::replay::{Replay, replay};
use crate::run::{HostKind, RunOptions, RunReport};
use crate::scenario::Scenario;
use crate::scenario::faults::Fault;
use crate::seeded::drawn::Drawn;
use crate::seeded::simulate;
use crate::sweep::on_fresh_thread;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use steps::Violated;
use vivarium_model::case::Case;
use vivarium_model::extent::Extent;
use vivarium_model::property::{Asked, Objection};
use without_time::without_time;

/// How to minimise.
#[derive(Clone, Copy)]
pub struct How<'a> {
    /// The host of the programs.
    pub host: HostKind,
    /// How many threads to use; at least one.
    pub jobs: usize,
    /// Returns true while this share of the time (from 0 to 1) is not over.
    pub has_time_until: &'a (dyn Fn(f64) -> bool + Sync),
}

/// When the search for a smaller run by seed ends, and then the reduction of the plan, as shares of the time.
const SMALLER: f64 = 0.6;
const PLANNED: f64 = 0.75;

/// The same if no steps can be left out.
const SMALLER_WITHOUT_STEPS: f64 = 0.8;
const PLANNED_WITHOUT_STEPS: f64 = 1.0;

/// A minimised run.
#[derive(Clone, Debug)]
pub struct Minimised {
    /// The case of the smaller run.
    pub case: Case,
    /// The smaller run, with all its trace lines.
    pub report: RunReport,
    /// The size of the run as it was found.
    pub before: Extent,
    /// The size of the smaller run.
    pub after: Extent,
    /// The number of runs and replays that were tried.
    pub tries: u64,
    /// What was not tried, as a sentence; `None` if no step can be left out any more.
    pub incomplete: Option<String>,
}

/// Minimises the case of a swept run. Returns `None` if the case does not violate its property (any more).
///
/// # Errors
/// One sentence that says what is wrong with the case.
pub fn minimised(
    scenario: &Scenario,
    case: &Case,
    how: How<'_>,
) -> Result<Option<Minimised>, String> {
    let Some(objection) = &case.violation else { return Ok(None) };
    let tries = AtomicU64::new(0);
    let mut search = Search::new(scenario, case, objection, how, &tries);
    search.replay(case)?;
    let Some(violated) = Violated::of(&search, case) else { return Ok(None) };
    search.is_late = matches!(violated, Violated::Late(_));
    let struck = search.by_its_seed();
    let mut before = Extent::of(case);
    before.faults = struck.as_ref().map_or(before.faults, faults_of);
    let mut found = smaller::smaller(&search, struck.as_ref(), before);
    let by_seed = !found.is_empty();
    if !by_seed {
        let fewer = fewer::fewer(&search, case, &|| search.has_time_for_the_plan())?;
        found.extend(fewer.or_else(|| planned::reduced(&search, struck.as_ref())));
    }
    found.push(case.clone());
    let (case, incomplete) = steps::shortest(&search, found, by_seed)?;
    let report = search.replay_kept(&case)?.report;
    let after = Extent::of(&case);
    let tries = tries.into_inner();
    Ok(Some(Minimised { case, report, before, after, tries, incomplete }))
}

/// What all parts of a minimisation share.
struct Search<'a> {
    scenario: &'a Scenario,
    /// The same with the property's monitor under a clock by which almost no time passes.
    without_time: Scenario,
    case: &'a Case,
    objection: &'a Objection,
    how: How<'a>,
    /// True if the property may read the clock.
    is_timed: bool,
    /// True if something is late in the run, so that steps cannot be left out by themselves.
    is_late: bool,
    tries: &'a AtomicU64,
}

impl<'a> Search<'a> {
    /// Begins to look for runs that violate the property of this objection.
    fn new(
        scenario: &'a Scenario,
        case: &'a Case,
        objection: &'a Objection,
        how: How<'a>,
        tries: &'a AtomicU64,
    ) -> Search<'a> {
        let without_time = without_time(scenario, &objection.property);
        let is_timed = is_timed(scenario, case, &objection.property);
        Search { scenario, without_time, case, objection, how, is_timed, is_late: false, tries }
    }

    fn has_time_for_seeds(&self) -> bool {
        (self.how.has_time_until)(if self.is_late { SMALLER_WITHOUT_STEPS } else { SMALLER })
    }

    fn has_time_for_the_plan(&self) -> bool {
        (self.how.has_time_until)(if self.is_late { PLANNED_WITHOUT_STEPS } else { PLANNED })
    }

    fn has_time(&self) -> bool {
        (self.how.has_time_until)(1.0)
    }

    /// Returns true if a run violates the same property; if a program failed, in the same way.
    fn is_same(&self, report: &RunReport) -> bool {
        report.violation.as_ref().is_some_and(|violation| self.objects(&violation.objection))
    }

    fn objects(&self, objection: &Objection) -> bool {
        objection.property == self.objection.property && objection.failure == self.objection.failure
    }

    /// Runs the seed of the case. Returns `None` if the run is not the recorded one.
    fn by_its_seed(&self) -> Option<RunReport> {
        let drawn = Drawn::draw(self.scenario, self.case.seed?);
        self.run(self.scenario, &drawn, false).filter(|run| run.hash == self.case.hash)
    }

    /// Runs what was drawn. Returns the report if it violates the same property.
    fn run(&self, scenario: &Scenario, drawn: &Drawn, keep_steps: bool) -> Option<RunReport> {
        self.tries.fetch_add(1, Ordering::Relaxed);
        let host = self.how.host;
        let options = RunOptions { host, keep_steps, ..RunOptions::default() };
        let run = || simulate(scenario, drawn, host, options.into()).report;
        Some(on_fresh_thread(run)).filter(|report| self.is_same(report))
    }

    /// Replays a case.
    fn replay(&self, case: &Case) -> Result<Replay, String> {
        let options = RunOptions { host: self.how.host, ..RunOptions::default() };
        on_fresh_thread(|| replay(self.scenario, case, &options))
    }

    /// Returns true if a replay of this case violates the same property.
    fn replays(&self, case: &Case) -> bool {
        self.replay(case).is_ok_and(|replayed| self.is_same(&replayed.report))
    }

    /// Replays a case, and keeps all its trace lines.
    fn replay_kept(&self, case: &Case) -> Result<Replay, String> {
        let host = self.how.host;
        let options = RunOptions { host, trace_last: usize::MAX, keep_steps: true };
        on_fresh_thread(|| replay(self.scenario, case, &options))
    }

    /// Makes a case of a run that recorded its steps.
    fn case_of(&self, report: RunReport) -> Case {
        Case {
            parameters: report.parameters,
            seed: Some(report.seed),
            config: report.config,
            steps: report.recorded,
            hash: report.hash,
            violation: report.violation.map(|violation| violation.objection),
            ..self.case.clone()
        }
    }
}

/// Returns true if a property may read the clock: if it is not that of a monitor that searches ask, too. A monitor may report
/// violations under other names than its own.
fn is_timed(scenario: &Scenario, case: &Case, property: &str) -> bool {
    let Some(seed) = case.seed else { return true };
    let monitors = (scenario.monitors)(&Drawn::draw(scenario, seed).run);
    let mut everywhere = monitors.iter().filter(|monitor| monitor.asked() == Asked::Everywhere);
    everywhere.all(|monitor| monitor.name() != property)
}

/// Returns the number of faults of a run by its plan: how often each kind struck, and the kinds that last throughout.
fn faults_of(report: &RunReport) -> u64 {
    report.struck.values().sum()
}

/// Returns the kinds of faults that struck in a run, or held throughout it.
fn kinds_of(scenario: &Scenario, report: &RunReport) -> BTreeSet<Fault> {
    let throughout: Vec<Fault> = Drawn::draw(scenario, report.seed).throughout().collect();
    report.struck.keys().copied().chain(throughout).collect()
}
