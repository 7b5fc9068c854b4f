//! Leaves steps out of recorded runs, as long as the rest violates the same property.
//!
//! A step that is not possible without those left out goes too, and a timer does not fire before it is due, so what
//! remains is a run that can happen: no step of the model has to happen by a certain time.

use super::Search;
use super::list::minimise;
use crate::recorded::replay::{ReplayIn, Timers, recorded};
use crate::run::demands::PROGRESS;
use crate::run::record::Keep;
use crate::run::subject::with_world;
use crate::run::{RunOptions, RunReport};
use crate::scenario::run::Run;
use crate::sweep::on_fresh_thread;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use vivarium_model::case::Case;
use vivarium_model::id::ClientId;
use vivarium_model::step::Step;
use vivarium_model::time::Time;

const NO_TIME: &str = "Time was up before every step had been tried.";

/// Shortens each of these cases on all threads. Returns the one with the fewest steps, and what was not tried.
///
/// # Errors
/// One sentence that says what is wrong with a case.
pub(super) fn shortest(
    search: &Search<'_>,
    cases: Vec<Case>,
) -> Result<(Case, Option<String>), String> {
    let whole = search.replay(&cases[0])?.report;
    let why = if search.objection.property == PROGRESS {
        Some("No step was left out by itself: a shorter run never finishes either.")
    } else if search.is_timed(&whole) {
        Some("No step was left out by itself, because the property may depend on the clock.")
    } else {
        None
    };
    if let Some(why) = why {
        return Ok((cases.into_iter().next().expect("there is one"), Some(why.to_string())));
    }
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    // The whole run, which is the last one, is only shortened if there is no smaller one.
    let tried = cases.len().max(2) - 1;
    let work = || {
        while let Some(case) = cases[..tried].get(next.fetch_add(1, Ordering::Relaxed)) {
            if next.load(Ordering::Relaxed) > 1 && !(search.how.has_time)() {
                return;
            }
            let shortened = shortened(search, case);
            found.lock().expect("no thread panics while it holds the lock").push(shortened);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..search.how.jobs.max(1) {
            scope.spawn(work);
        }
    });
    let found = found.into_inner().expect("no thread panics while it holds the lock");
    let found: Vec<Case> = found.into_iter().collect::<Result<_, _>>()?;
    let shortest = found.into_iter().min_by_key(|case| (case.steps.len(), case.hash));
    let incomplete = (!(search.how.has_time)()).then(|| NO_TIME.to_string());
    Ok((shortest.expect("one case was shortened"), incomplete))
}

/// Returns the case without the steps that its violation does not need.
fn shortened(search: &Search<'_>, case: &Case) -> Result<Case, String> {
    let (run, _) = recorded(search.scenario, case)?;
    let mut is_first = true;
    let mut shows = |steps: &[(Time, Step)]| {
        let has_time = std::mem::take(&mut is_first) || (search.how.has_time)();
        let report = has_time.then(|| on_fresh_thread(|| taken(search, &run, steps)))?;
        search.is_same(&report).then(|| (report.recorded.clone(), report))
    };
    let whole = without_clients(case, &mut |steps| shows(steps).is_some());
    match minimise(&whole, &[], &mut shows) {
        Some((_, report)) => Ok(search.case_of(report)),
        None => Ok(case.clone()),
    }
}

/// Takes these steps.
fn taken(search: &Search<'_>, run: &Run, steps: &[(Time, Step)]) -> RunReport {
    search.tries.fetch_add(1, Ordering::Relaxed);
    let host = search.how.host;
    let keep = Keep::from(RunOptions { host, keep_steps: true, ..RunOptions::default() });
    let (options_text, timers) = (String::new(), Timers::WhenDue);
    let with = ReplayIn { run, options_text, steps, expected: None, timers, keep };
    with_world(search.scenario, run, host, with).0.report
}

/// Leaves out whole clients, which no group of neighbouring steps is.
fn without_clients(
    case: &Case,
    shows: &mut dyn FnMut(&[(Time, Step)]) -> bool,
) -> Vec<(Time, Step)> {
    let mut whole = case.steps.clone();
    for client in (0..case.config.clients.len()).map(ClientId::at) {
        let others = |(_, step): &&(Time, Step)| !matches!(step, Step::Start(of) if *of == client);
        let without: Vec<_> = whole.iter().filter(others).copied().collect();
        if without.len() < whole.len() && shows(&without) {
            whole = without;
        }
    }
    whole
}
