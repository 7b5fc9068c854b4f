//! Leaves faults out of a recorded run, and programs. What these had kept from happening happens then, in time.

use super::Search;
use crate::recorded::completed::{CompletedIn, Completion, MeasuredIn, Patience, Randoms, randoms};
use crate::recorded::minimise::minimise_while;
use crate::recorded::replay::recorded;
use crate::run::demands::PROGRESS;
use crate::run::subject::with_world;
use crate::run::{RunOptions, RunReport};
use crate::scenario::run::Run;
use crate::sweep::on_fresh_thread;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use vivarium_model::case::Case;
use vivarium_model::step::Step;
use vivarium_model::time::Time;

/// Returns the run of a case with as few faults and programs as violate the property, found while `has_time` returns
/// true; `None` if it needs all of them.
///
/// # Errors
/// One sentence that says what is wrong with the case.
pub(super) fn fewer(
    search: &Search<'_>,
    case: &Case,
    has_time: &dyn Fn() -> bool,
) -> Result<Option<Case>, String> {
    let (run, _) = recorded(search.scenario, case)?;
    let can_go = |step: &Step| can_go(step, search, &run);
    let steps = &case.steps;
    let all: Vec<usize> = (0..steps.len()).filter(|at| can_go(&steps[*at].1)).collect();
    if all.is_empty() || !has_time() {
        return Ok(None);
    }
    let in_time = InTime::of(search, case)?;
    let without = |kept: &[usize]| -> Vec<(Time, Step)> {
        let left_out: BTreeSet<&usize> = all.iter().filter(|at| !kept.contains(at)).collect();
        let kept = steps.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
        kept.map(|(_, step)| *step).collect()
    };
    let mut shows = |kept: &[usize]| {
        let report = in_time.taken(&without(kept));
        search.is_same(&report).then(|| (kept.to_vec(), report))
    };
    let Some((kept, report)) = minimise_while(&all, &[], has_time, &mut shows) else {
        return Ok(None);
    };
    let case = (kept.len() < all.len()).then(|| search.case_of(report));
    // A completed run may go on after its last step, and a replay of its steps does not.
    Ok(case.filter(|case| search.replays(case)))
}

/// Returns true if a step may be left out.
pub(super) fn can_go(step: &Step, search: &Search<'_>, run: &Run) -> bool {
    match *step {
        // A program that never starts never finishes.
        Step::Start(_) => search.objection.property != PROGRESS,
        // A server that is cut off for good must not be so in part.
        Step::Cut { from, to } => !run.aftermath.stays_cut(from, to),
        _ => step.is_fault(),
    }
}

/// Replays of a recorded run without some of its steps; what is due then is taken in time.
pub(super) struct InTime<'a> {
    search: &'a Search<'a>,
    run: Run,
    patience: Patience,
    randoms: Randoms,
    /// The end of the run.
    pub(super) until: Time,
}

impl<'a> InTime<'a> {
    /// Measures how long the steps of a recorded run waited.
    ///
    /// # Errors
    /// One sentence that says what is wrong with the case.
    pub(super) fn of(search: &'a Search<'a>, case: &Case) -> Result<InTime<'a>, String> {
        let (run, _) = recorded(search.scenario, case)?;
        let steps = &case.steps;
        let measured = MeasuredIn { run: &run, steps };
        let host = search.how.host;
        let patience = on_fresh_thread(|| with_world(search.scenario, &run, host, measured));
        let randoms = randoms(steps);
        let until = steps.last().map_or(Time::ZERO, |(at, _)| *at);
        Ok(InTime { search, run, patience, randoms, until })
    }

    /// Takes these steps, and those that are due.
    pub(super) fn taken(&self, steps: &[(Time, Step)]) -> RunReport {
        let InTime { search, run, patience, randoms, until } = self;
        search.tries.fetch_add(1, Ordering::Relaxed);
        let host = search.how.host;
        let keep = RunOptions { host, keep_steps: true, ..RunOptions::default() }.into();
        let completion = Completion::InTime(patience, *until);
        let expected = Some(search.objection);
        let with = CompletedIn { run, steps, completion, randoms, expected, keep };
        on_fresh_thread(|| with_world(search.scenario, run, host, with)).report
    }
}
