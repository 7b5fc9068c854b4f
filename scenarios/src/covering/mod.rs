//! Runs seeds of a scenario and reports what they covered.

use crate::replaying::title;
use crate::sweeping::seeds::SeedRange;
use crate::sweeping::watchdog::{self, Ended, PATIENCE, Teller};
use crate::sweeping::{self, panics};
use std::ops::ControlFlow;
use std::sync::Arc;
use vivarium_model::mark::Mark;
use vivarium_reports::covered::{AwaitCounts, Coverage};
use vivarium_reports::summary::Count;
use vivarium_sim::covered::{Await, Covered, covered};
use vivarium_sim::{Fate, Heartbeats, HostKind, Scenario, SweepOptions};

/// Runs each seed once, whether or not it violates a property.
///
/// # Errors
/// One sentence if a number of the scenario is invalid, if a program loops without awaiting, or if Vivarium itself panics.
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
    let Covered { totals, awaits, events } = watched(scenario, options, host, progress)?;
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

fn watched(
    scenario: &Scenario,
    seeds: SweepOptions,
    host: HostKind,
    progress: &dyn Fn(u64),
) -> Result<Covered, String> {
    let pulses: Arc<Heartbeats> = Arc::default();
    let (scenario, beating) = (scenario.clone(), Arc::clone(&pulses));
    let work = move |teller: &Teller<u64, Covered>| {
        covered(&scenario, &seeds, host, &beating, &mut |totals| {
            teller.tell(totals.seeds);
            ControlFlow::Continue(())
        })
    };
    watchdog::watched(PATIENCE, work, || pulses.beats(), progress).map_err(|ended| match ended {
        Ended::Stuck(beat) => sweeping::stuck(beat),
        Ended::Panicked(why) => format!("Vivarium itself failed, please report it: {why}"),
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
