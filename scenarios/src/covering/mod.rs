//! Runs seeds of a scenario and reports what they covered.

use crate::replaying::title;
use crate::sweeping::panics;
use crate::sweeping::seeds::SeedRange;
use std::ops::ControlFlow;
use vivarium_model::mark::Mark;
use vivarium_reports::covered::{AwaitCounts, Coverage};
use vivarium_reports::summary::Count;
use vivarium_sim::covered::{Await, Covered, covered};
use vivarium_sim::{Fate, HostKind, Scenario, SweepOptions};

/// Runs each seed once, whether or not it violates a property.
///
/// # Errors
/// One sentence if a number of the scenario is invalid.
pub(crate) fn coverage(
    scenario: &Scenario,
    bugs: &[String],
    seeds: &SeedRange,
    jobs: usize,
    host: HostKind,
    progress: &dyn Fn(u64),
) -> Result<Coverage, String> {
    scenario.check()?;
    panics::programs();
    let options = SweepOptions { seeds: seeds.range(), jobs, keep_going: true };
    let Covered { totals, awaits, events } = covered(scenario, &options, host, &mut |totals| {
        progress(totals.seeds);
        ControlFlow::Continue(())
    });
    let reached = |mark: Mark| totals.marks.get(&mark).copied().unwrap_or(0);
    let struck = |fault| totals.struck.get(&fault).copied().unwrap_or(0);
    let faults = scenario.faults.iter().map(|fault| (fault.name(), struck(fault)));
    let directory = std::env::current_dir().ok().map(|path| path.display().to_string());
    Ok(Coverage {
        scenario: title(&scenario.name, bugs),
        seeds: totals.seeds,
        violating: totals.violating.len() as u64,
        steps: totals.steps,
        awaits: awaits.iter().map(|at| counted(at, directory.as_deref())).collect(),
        marks: Count::list(Mark::ALL.into_iter().map(|mark| (mark.name(), reached(mark)))),
        faults: Count::list(faults),
        events: Count::list(events),
    })
}

fn counted(at: &Await, directory: Option<&str>) -> AwaitCounts {
    AwaitCounts {
        answered: at.times(Fate::Answered),
        lost: at.times(Fate::Lost),
        expired: at.times(Fate::Expired),
        dropped: at.times(Fate::Dropped),
        killed: at.times(Fate::Killed),
        places: at.places.iter().map(|place| below(place, directory)).collect(),
    }
}

/// Returns a place with its path as seen from this directory, if it is below it.
fn below(place: &str, directory: Option<&str>) -> String {
    let within = directory.and_then(|directory| place.strip_prefix(directory)?.strip_prefix('/'));
    within.unwrap_or(place).to_string()
}
