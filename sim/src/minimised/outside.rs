//! Minimises the case of clients outside of the run: steps are left out as long as the rest violates the same property.
//! There is no seed to go by, and what the clients sent is an input like any other.

use super::steps::NO_TIME;
use crate::recorded::minimise::minimise;
use crate::recorded::replay::Timers;
use crate::replica::replay_with;
use crate::run::demands::PROGRESS;
use std::sync::atomic::{AtomicU64, Ordering};
use vivarium_model::case::Case;
use vivarium_model::extent::Extent;
use vivarium_model::property::Monitor;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::trace::TraceLine;

/// A minimised case of clients outside, with the lines of its steps.
#[derive(Clone, Debug)]
pub struct MinimisedOutside {
    /// The case.
    pub case: Case,
    /// Its steps in words.
    pub lines: Vec<TraceLine>,
    /// The size of the run as it was recorded.
    pub before: Extent,
    /// The size of the smaller run.
    pub after: Extent,
    /// The number of replays that were tried.
    pub tries: u64,
    /// What was not tried, as a sentence; `None` if no step can be left out any more.
    pub incomplete: Option<String>,
}

/// Minimises the case of clients outside of the run, judged by further monitors as well. Returns `None` if the case
/// violates no property (any more).
///
/// # Errors
/// One sentence that says what is wrong with the case.
pub fn minimised_outside(
    case: &Case,
    further: &dyn Fn() -> Vec<Box<dyn Monitor>>,
    has_time: &dyn Fn() -> bool,
) -> Result<Option<MinimisedOutside>, String> {
    let whole = replay_with(case, further(), Timers::WhenDue)?;
    let Some(objection) = whole.objection.filter(|objection| objection.property != PROGRESS) else {
        return Ok(None);
    };
    let (tries, mut tried) = (AtomicU64::new(0), case.clone());
    let mut shows = |steps: &[(Time, Step)]| {
        if tries.fetch_add(1, Ordering::Relaxed) > 0 && !has_time() {
            return None;
        }
        tried.steps = steps.to_vec();
        let replayed = replay_with(&tried, further(), Timers::WhenDue).ok()?;
        let found = replayed.objection.as_ref()?;
        if found.property != objection.property {
            return None;
        }
        let mut skipped = replayed.skipped.iter().map(|(number, _)| *number).peekable();
        let mut is_taken = |number: u64| skipped.next_if_eq(&number).is_none();
        let taken = (1..).zip(steps).filter(|(number, _)| is_taken(*number));
        let taken: Vec<_> = taken.take(replayed.taken.len()).map(|(_, step)| *step).collect();
        Some((taken, replayed))
    };
    let Some((steps, replayed)) = minimise(&case.steps, &[], &mut shows) else { return Ok(None) };
    let small = Case { steps, hash: replayed.hash, violation: replayed.objection, ..case.clone() };
    let incomplete = (!has_time()).then(|| NO_TIME.to_string());
    let (before, after) = (Extent::of(case), Extent::of(&small));
    let (lines, tries) = (replayed.lines, tries.into_inner());
    Ok(Some(MinimisedOutside { case: small, lines, before, after, tries, incomplete }))
}
