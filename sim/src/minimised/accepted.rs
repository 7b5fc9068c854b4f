//! What a minimisation would accept as a violation, for tests: of a sound scenario's run it accepts nothing, whatever is
//! left out.

use super::fewer::{InTime, can_go};
use super::steps::{Violated, shown};
use super::{How, Search};
use crate::recorded::replay::recorded;
use crate::run::{HostKind, RunReport};
use crate::scenario::Scenario;
use crate::seeded::drawn::Drawn;
use std::sync::atomic::AtomicU64;
use vivarium_model::case::Case;
use vivarium_model::property::Objection;
use vivarium_model::step::Step;
use vivarium_model::time::Time;

/// Returns the violations that a minimisation would accept of a run with only these steps of a recorded one.
///
/// # Errors
/// One sentence that says what is wrong with the case.
pub fn accepted(
    scenario: &Scenario,
    case: &Case,
    steps: &[(Time, Step)],
    host: HostKind,
) -> Result<Vec<Objection>, String> {
    let (run, _) = recorded(scenario, case)?;
    let violated = |violated: Violated| {
        // Any property will do, so the first run finds out which one.
        let any = Objection::new("", "");
        let report = with_search(scenario, case, &any, host, |search| {
            super::steps::taken(search, violated, &run, steps)
        });
        let objection = report?.violation?.objection;
        let shown = with_search(scenario, case, &objection, host, |search| {
            shown(search, violated, &run, steps)
        });
        shown.map(|_| objection)
    };
    Ok([Violated::ByAStep, Violated::AtTheEnd].into_iter().filter_map(violated).collect())
}

/// Returns a recorded run without those of its faults and programs that `leaves_out` names, as a minimisation would leave
/// them out for a violation of this property. The run goes on until its programs must have finished.
///
/// # Errors
/// One sentence that says what is wrong with the case.
pub fn accepted_in_time(
    scenario: &Scenario,
    case: &Case,
    property: &str,
    leaves_out: &mut dyn FnMut(&Step) -> bool,
    host: HostKind,
) -> Result<RunReport, String> {
    let (run, _) = recorded(scenario, case)?;
    let drawn = Drawn::draw(scenario, run.seed);
    let until = Time::ZERO + drawn.run.chaos + drawn.progress_bound;
    with_search(scenario, case, &Objection::new(property, ""), host, |search| {
        let mut in_time = InTime::of(search, case)?;
        in_time.until = in_time.until.max(until);
        let all = case.steps.iter();
        let kept = all.filter(|(_, step)| !can_go(step, search, &run) || !leaves_out(step));
        Ok(in_time.taken(&kept.copied().collect::<Vec<_>>()))
    })
}

fn with_search<T>(
    scenario: &Scenario,
    case: &Case,
    objection: &Objection,
    host: HostKind,
    with: impl FnOnce(&Search<'_>) -> T,
) -> T {
    let (tries, always) = (AtomicU64::new(0), |_: f64| true);
    let how = How { host, jobs: 1, has_time_until: &always };
    with(&Search::new(scenario, case, objection, how, &tries))
}
