//! Leaves steps out of recorded runs, as long as the rest violates the same property.
//!
//! A step that is not possible without those left out goes too, and a timer does not fire before it is due, so what
//! remains is a run that can happen: no step of the model has to happen by a certain time.

use super::Search;
use super::fewer::fewer;
use crate::recorded::completed::{CompletedIn, Completion, randoms};
use crate::recorded::minimise::minimise_while;
use crate::recorded::replay::{Ended, ReplayIn, Timers, recorded};
use crate::run::demands::PROGRESS;
use crate::run::record::Keep;
use crate::run::subject::with_world;
use crate::run::{RunOptions, RunReport};
use crate::scenario::Scenario;
use crate::scenario::run::Run;
use crate::sweep::on_fresh_thread;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use vivarium_model::case::Case;
use vivarium_model::id::ClientId;
use vivarium_model::property::Objection;
use vivarium_model::step::Step;
use vivarium_model::time::Time;

pub(super) const NO_TIME: &str = "Time was up before every step had been tried.";

/// How a run violates its property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Violated {
    /// By a step. Steps that it does not need can be left out.
    ByAStep,
    /// By what is missing after all steps, once nothing is due any more.
    AtTheEnd,
    /// By what is late. Steps cannot be left out: a packet that is never delivered would be late, and so every bound
    /// would be exceeded.
    Late(&'static str),
}

impl Violated {
    /// Returns how a case violates its property; `None` if it does not.
    pub(super) fn of(search: &Search<'_>, case: &Case) -> Option<Violated> {
        let (run, _) = recorded(search.scenario, case).ok()?;
        let expected = Some(search.objection);
        let ended = on_fresh_thread(|| replayed(search, search.scenario, &run, case, expected));
        let report = &ended.closed.report;
        if !search.is_same(report) {
            None
        } else if search.objection.property == PROGRESS {
            Some(Violated::Late("a shorter run never finishes either"))
        } else if search.is_timed && !violates_without_time(search, &run, report) {
            Some(Violated::Late("the property depends on the clock"))
        } else if ended.at_end {
            Some(Violated::AtTheEnd)
        } else {
            Some(Violated::ByAStep)
        }
    }
}

/// Returns true if the same step violates the property in the same way when the property's monitor sees almost no time
/// pass.
fn violates_without_time(search: &Search<'_>, run: &Run, report: &RunReport) -> bool {
    let case = Case { steps: report.recorded.clone(), ..search.case.clone() };
    let ended = on_fresh_thread(|| replayed(search, &search.without_time, run, &case, None));
    let again = ended.closed.report;
    let saw = |report: &RunReport| Some(words(&report.violation.as_ref()?.objection.saw));
    search.is_same(&again) && again.steps == report.steps && saw(&again) == saw(report)
}

/// Returns the words of a sentence that are no numbers. A monitor may object to what is early, and to what is late: if
/// almost no time passes, everything is early.
fn words(sentence: &str) -> Vec<String> {
    let is_number = |word: &&str| word.contains(|letter: char| letter.is_ascii_digit());
    sentence.split_whitespace().filter(|word| !is_number(word)).map(str::to_string).collect()
}

/// Replays a case under this scenario.
fn replayed(
    search: &Search<'_>,
    scenario: &Scenario,
    run: &Run,
    case: &Case,
    expected: Option<&Objection>,
) -> Ended {
    search.tries.fetch_add(1, Ordering::Relaxed);
    let host = search.how.host;
    let keep = Keep::from(RunOptions { host, keep_steps: true, ..RunOptions::default() });
    let (options_text, timers, steps) = (String::new(), Timers::AsRecorded, &case.steps[..]);
    let with = ReplayIn { run, options_text, steps, expected, timers, keep };
    with_world(scenario, run, host, with)
}

/// Shortens each of these cases on all threads; those found by seed lose faults and programs first, as the recorded run has.
/// Returns the one with the fewest steps, and what was not tried.
///
/// # Errors
/// One sentence that says what is wrong with a case.
pub(super) fn shortest(
    search: &Search<'_>,
    cases: Vec<Case>,
    by_seed: bool,
) -> Result<(Case, Option<String>), String> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    // The whole run, which is the last one, is only shortened if there is no smaller one.
    let tried = cases.len().max(2) - 1;
    let work = || {
        while let Some(case) = cases[..tried].get(next.fetch_add(1, Ordering::Relaxed)) {
            if next.load(Ordering::Relaxed) > 1 && !search.has_time() {
                return;
            }
            let shortened = shortened(search, case, by_seed);
            found.lock().expect("no thread panics while it holds the lock").push(shortened);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..search.how.jobs.max(1) {
            scope.spawn(work);
        }
    });
    let found = found.into_inner().expect("no thread panics while it holds the lock");
    let found: Vec<Shortened> = found.into_iter().collect::<Result<_, _>>()?;
    let shortest = found.into_iter().min_by_key(|(case, _)| (case.steps.len(), case.hash));
    let (shortest, kept) = shortest.expect("one case was shortened");
    let incomplete = match kept {
        Some(why) => Some(format!("No step was left out by itself, because {why}.")),
        None => (!search.has_time()).then(|| NO_TIME.to_string()),
    };
    Ok((shortest, incomplete))
}

/// A shorter case, and why no steps were left out of it by themselves, if none were.
type Shortened = (Case, Option<&'static str>);

/// Returns the case without the steps that its violation does not need; if it was found by seed, without the faults and
/// programs that it does not need, too.
fn shortened(search: &Search<'_>, case: &Case, by_seed: bool) -> Result<Shortened, String> {
    let has_time = || by_seed && search.has_time_for_the_plan();
    let fewer = fewer(search, case, &has_time)?;
    let case = fewer.as_ref().unwrap_or(case);
    let violated = match Violated::of(search, case) {
        Some(Violated::Late(why)) => return Ok((case.clone(), Some(why))),
        Some(violated) => violated,
        // The run has just violated its property, so a program or a monitor is not deterministic.
        None => return Ok((case.clone(), Some("not every replay of the run is the same"))),
    };
    let (run, _) = recorded(search.scenario, case)?;
    let mut shows = |steps: &[(Time, Step)]| {
        let report = shown(search, violated, &run, steps)?;
        Some((report.recorded.clone(), report))
    };
    let mut possible = |steps: &[(Time, Step)]| {
        search.has_time().then(|| shows(steps)).flatten().map(|(steps, _)| steps)
    };
    let whole = without_clients(case, &mut possible);
    let whole = without_classes(whole, &mut possible);
    let shorter = minimise_while(&whole, &[], &|| search.has_time(), &mut shows);
    let shorter = shorter.map(|(_, report)| search.case_of(report));
    let shorter = shorter.filter(|shorter| search.replays(shorter));
    Ok((shorter.unwrap_or_else(|| case.clone()), None))
}

/// Takes these steps, and returns the run if it violates the property, and not only because something is late.
pub(super) fn shown(
    search: &Search<'_>,
    violated: Violated,
    run: &Run,
    steps: &[(Time, Step)],
) -> Option<RunReport> {
    let report = taken(search, violated, run, steps)?;
    let is_shown = search.is_same(&report)
        && (!search.is_timed || violates_without_time(search, run, &report));
    is_shown.then_some(report)
}

/// Takes these steps. Returns `None` if they should violate the property themselves and do not.
pub(super) fn taken(
    search: &Search<'_>,
    violated: Violated,
    run: &Run,
    steps: &[(Time, Step)],
) -> Option<RunReport> {
    search.tries.fetch_add(1, Ordering::Relaxed);
    let host = search.how.host;
    let keep = Keep::from(RunOptions { host, keep_steps: true, ..RunOptions::default() });
    if violated == Violated::AtTheEnd {
        let (completion, randoms) = (Completion::AtTheEnd, &randoms(steps));
        let with = CompletedIn { run, steps, completion, randoms, expected: None, keep };
        return Some(on_fresh_thread(|| with_world(search.scenario, run, host, with)).report);
    }
    let (options_text, timers) = (String::new(), Timers::WhenDue);
    let with = ReplayIn { run, options_text, steps, expected: None, timers, keep };
    let ended = on_fresh_thread(|| with_world(search.scenario, run, host, with));
    (!ended.at_end).then_some(ended.closed.report)
}

/// Recorded steps.
type Steps = Vec<(Time, Step)>;

/// Returns the steps that were possible of those given, if they violate the property.
type Possible<'a> = dyn FnMut(&[(Time, Step)]) -> Option<Steps> + 'a;

/// Leaves out whole clients, which no group of neighbouring steps is.
fn without_clients(case: &Case, possible: &mut Possible<'_>) -> Steps {
    let mut whole = case.steps.clone();
    for client in (0..case.config.clients.len()).map(ClientId::at) {
        let others = |(_, step): &&(Time, Step)| !matches!(step, Step::Start(of) if *of == client);
        let without: Steps = whole.iter().filter(others).copied().collect();
        if without.len() < whole.len() {
            whole = possible(&without).unwrap_or(whole);
        }
    }
    whole
}

/// Leaves out all steps of a class at once: those of one kind on the same machines, such as all pings of a client. Most
/// of a run's steps are of few classes.
fn without_classes(mut whole: Steps, possible: &mut Possible<'_>) -> Steps {
    let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
    whole.iter().for_each(|(_, step)| *sizes.entry(class(step)).or_default() += 1);
    let mut classes: Vec<(usize, String)> =
        sizes.into_iter().map(|(class, size)| (size, class)).collect();
    classes.sort_unstable_by(|one, other| other.cmp(one));
    for (_, left_out) in classes {
        let without: Steps =
            whole.iter().filter(|(_, step)| class(step) != left_out).copied().collect();
        if without.len() < whole.len() {
            whole = possible(&without).unwrap_or(whole);
        }
    }
    whole
}

/// Returns the class of a step: its kind with its machines.
fn class(step: &Step) -> String {
    match step {
        Step::Fire(timer) => format!("{timer:?}"),
        Step::Crash { server, .. } => format!("Crash {server}"),
        _ => {
            let text = format!("{step:?}");
            let kind = text.split(|letter: char| !letter.is_alphanumeric()).next();
            format!("{} {:?}", kind.unwrap_or_default(), step.subjects())
        }
    }
}
