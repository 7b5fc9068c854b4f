//! Looks for an exhibit, within its budget.

use super::{By, Exhibit};
use crate::catalogue::Entry;
use crate::exploration::{self, Answer, Exploration};
use crate::sweeping::seeds::SeedRange;
use crate::sweeping::{self, How};
use std::sync::Arc;
use std::time::{Duration, Instant};
use vivarium_model::case::Case;
use vivarium_model::verdict::Verdict;
use vivarium_reports::numbers::grouped;
use vivarium_sim::every::Silent;
use vivarium_sim::{HostKind, Scenario};

/// The most distinct states of a search.
const MAX_STATES: u64 = 2_000_000;

/// What looking for an exhibit may take.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// How many seeds at a time.
    pub jobs: usize,
    /// The most seeds of a sweep, if less than the exhibit's own number.
    pub seeds: Option<u64>,
}

/// An exhibit that was found.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The violated property.
    pub property: String,
    /// The violating seed of a sweep.
    pub seed: Option<u64>,
    /// The number of seeds up to it; of a search, the number of distinct states.
    pub tried: u64,
    /// The length of the violating run in steps: of a sweep as it was found, of a search the shortest.
    pub steps: u64,
    /// The real time.
    pub took: Duration,
    /// The case of a sweep's run, with its scenario.
    pub case: Option<(Scenario, Box<Case>)>,
}

/// An exhibit that was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed(pub String);

/// Looks for an exhibit of this scenario.
///
/// # Errors
/// Fails if it was not found, or if another property was violated first, or if the engine failed.
pub fn show(exhibit: &Exhibit, entry: &Entry, budget: Budget) -> Result<Shown, Missed> {
    let names = [exhibit.switch.to_owned()];
    let switches = entry
        .switches(&names)
        .map_err(|name| Missed(format!("`{}` has no switch `{name}`", entry.name)))?;
    let scenario = entry.scenario(&switches);
    let shown = match exhibit.by {
        By::Sweep { from, within } => {
            let within = budget.seeds.map_or(within, |most| within.min(most));
            swept(scenario, &names, from, within, budget.jobs)
        }
        By::Search { budget } => searched(&scenario, &names, budget),
    }?;
    match shown.property.starts_with(exhibit.property) {
        true => Ok(shown),
        false => {
            let seed = shown.seed.map_or(String::new(), |seed| format!(" at seed {seed}"));
            let (expected, violated) = (exhibit.property, shown.property);
            Err(Missed(format!("`{violated}` is violated{seed} in place of `{expected}`")))
        }
    }
}

fn swept(
    scenario: Scenario,
    names: &[String],
    from: u64,
    within: u64,
    jobs: usize,
) -> Result<Shown, Missed> {
    let begun = Instant::now();
    let words = format!("{from}..{}", from.saturating_add(within));
    let seeds = SeedRange::parse(&words).map_err(|error| Missed(error.to_string()))?;
    let how = How { jobs, host: HostKind::Direct, keep_going: false, last_steps: 0 };
    let swept = sweeping::sweep(&scenario, &seeds, &how, |_done| ()).map_err(Missed)?;
    let took = begun.elapsed();
    let found = swept.report.first_violation;
    let found = found.and_then(|run| Some((run.violation.as_ref()?.objection.clone(), run)));
    let Some((objection, run)) = found else {
        return Err(Missed(format!("no violation in seeds {words}")));
    };
    let case = Box::new(sweeping::case(&scenario, names, &run));
    Ok(Shown {
        property: objection.property,
        seed: Some(run.seed),
        tried: run.seed - from + 1,
        steps: run.steps,
        took,
        case: Some((scenario, case)),
    })
}

fn searched(
    scenario: &Scenario,
    names: &[String],
    budget: fn(Exploration) -> Exploration,
) -> Result<Shown, Missed> {
    let begun = Instant::now();
    let exploration = budget(Exploration::new().unbounded().max_states(MAX_STATES));
    let answer = exploration::answer(scenario, names, &exploration, Arc::new(Silent));
    let Answer { report, .. } = answer.map_err(|error| Missed(error.to_string()))?;
    let states = report.figures.distinct;
    let way = report.finding.as_ref().and_then(|found| found.way);
    match (&report.verdict, way) {
        (Verdict::Violated(violation), Some(way)) => Ok(Shown {
            property: violation.objection.property.clone(),
            seed: None,
            tried: states,
            steps: way.length as u64,
            took: begun.elapsed(),
            case: None,
        }),
        (verdict, _) => Err(Missed(format!("{verdict}, {} states", grouped(states)))),
    }
}
