//! Leaves faults out of a recorded run, and programs. What these had kept from happening happens then, in time.

use super::Search;
use crate::recorded::completed::{CompletedIn, Completion, MeasuredIn};
use crate::recorded::minimise::minimise_while;
use crate::recorded::replay::recorded;
use crate::run::demands::PROGRESS;
use crate::run::subject::with_world;
use crate::run::{RunOptions, RunReport};
use crate::sweep::on_fresh_thread;
use std::collections::{BTreeMap, BTreeSet};
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
    // A program that never starts never finishes.
    let can_go = |step: &Step| {
        step.is_fault() || matches!(step, Step::Start(_)) && search.objection.property != PROGRESS
    };
    let steps = &case.steps;
    let all: Vec<usize> = (0..steps.len()).filter(|at| can_go(&steps[*at].1)).collect();
    if all.is_empty() || !has_time() {
        return Ok(None);
    }
    let (run, _) = recorded(search.scenario, case)?;
    let (scenario, host) = (search.scenario, search.how.host);
    let measured = MeasuredIn { run: &run, steps };
    let patience = on_fresh_thread(|| with_world(scenario, &run, host, measured));
    let value = |(_, step): &(Time, Step)| match *step {
        Step::Random { client, call, value } => Some(((client, call), value)),
        _ => None,
    };
    let randoms: BTreeMap<_, u64> = steps.iter().filter_map(value).collect();
    let until = steps.last().map_or(Time::ZERO, |(at, _)| *at);
    let taken = |steps: &[(Time, Step)]| -> RunReport {
        search.tries.fetch_add(1, Ordering::Relaxed);
        let keep = RunOptions { host, keep_steps: true, ..RunOptions::default() }.into();
        let completion = Completion::InTime(&patience, until);
        let (randoms, expected) = (&randoms, Some(search.objection));
        let with = CompletedIn { run: &run, steps, completion, randoms, expected, keep };
        on_fresh_thread(|| with_world(scenario, &run, host, with)).report
    };
    let without = |kept: &[usize]| -> Vec<(Time, Step)> {
        let left_out: BTreeSet<&usize> = all.iter().filter(|at| !kept.contains(at)).collect();
        let kept = steps.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
        kept.map(|(_, step)| *step).collect()
    };
    let mut shows = |kept: &[usize]| {
        let report = taken(&without(kept));
        search.is_same(&report).then(|| (kept.to_vec(), report))
    };
    let Some((kept, report)) = minimise_while(&all, &[], has_time, &mut shows) else {
        return Ok(None);
    };
    Ok((kept.len() < all.len()).then(|| search.case_of(report)))
}
