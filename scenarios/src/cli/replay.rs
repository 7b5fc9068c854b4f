//! `vivarium replay`: takes one run again, by its seed or from a case file.

use super::arguments::ReplayArguments;
use super::output::emit;
use super::replay_explored;
use super::select::{self, Selected, nearest};
use crate::catalogue::Entry;
use crate::engine::{self, LAST_STEPS};
use crate::exploration;
use crate::seeds::parse_seed;
use std::path::Path;
use vivarium_model::case::Case;
use vivarium_model::step::Step;
use vivarium_reports::case_file;
use vivarium_reports::table::{grouped, span};
use vivarium_reports::timeline::last_steps;
use vivarium_reports::violation::violation_report;
use vivarium_sim::{Replay, RunOptions, RunReport};

/// So many steps of a simulated run are shown where nobody says how many.
const SHOWN: usize = 60;

/// The exit code of a case that no longer is the recorded run, and violates nothing.
pub(super) const INCONCLUSIVE: u8 = 2;

/// The command that replays a seed, as it can be typed where this process was started.
pub(super) fn command(scenario: &str, seed: u64, bugs: &[String]) -> String {
    let bugs: String = bugs.iter().map(|bug| format!(" --bug {bug}")).collect();
    format!("{} replay {scenario} --seed {seed}{bugs}", program())
}

/// How this process was started. Cargo sets the variable for the processes that it runs.
pub(super) fn program() -> String {
    match std::env::var_os("CARGO") {
        Some(_) if cfg!(debug_assertions) => "cargo run --".to_string(),
        Some(_) => "cargo run --release --".to_string(),
        None => std::env::args().next().unwrap_or_else(|| "vivarium".to_string()),
    }
}

/// Runs the command and returns the exit code.
pub(super) fn replay(arguments: &ReplayArguments, entries: &[Entry]) -> Result<u8, String> {
    let Some(target) = arguments.target.as_deref() else {
        return Err("`replay` needs a scenario with `--seed N`, or a case file".to_string());
    };
    let steps = timeline_length(arguments.timeline.as_deref())?;
    match &arguments.seed {
        Some(seed) => {
            let steps = steps.map(|steps| steps.unwrap_or(SHOWN));
            by_seed(target, seed, &arguments.bugs, steps, entries)
        }
        None if entries.iter().any(|entry| entry.name == target) => {
            select::has_seeds(select::entry(target, entries)?)?;
            Err(format!("which run of `{target}`? Give its seed: `replay {target} --seed N`"))
        }
        None if !arguments.bugs.is_empty() => {
            Err("a case file names its bugs itself: leave out `--bug`, or give `--seed N` with a \
                 scenario"
                .to_string())
        }
        None => by_case(target, steps, entries),
    }
}

/// How many steps to show, if that is said; `None` where no timeline is asked for.
fn timeline_length(text: Option<&str>) -> Result<Option<Option<usize>>, String> {
    match text {
        None => Ok(None),
        Some("") => Ok(Some(None)),
        Some("all") => Ok(Some(Some(usize::MAX))),
        Some(text) => match text.parse::<usize>() {
            Ok(steps) if steps > 0 => Ok(Some(Some(steps))),
            _ => Err(format!(
                "`--timeline={text}` is not a number of steps: write `--timeline=100` or \
                 `--timeline=all`"
            )),
        },
    }
}

fn by_seed(
    target: &str,
    seed: &str,
    bugs: &[String],
    steps: Option<usize>,
    entries: &[Entry],
) -> Result<u8, String> {
    if Path::new(target).is_file() && entries.iter().all(|entry| entry.name != target) {
        return Err(format!("the case file `{target}` names its seed itself: leave out `--seed`"));
    }
    let entry = select::entry(target, entries)?;
    select::has_seeds(entry)?;
    let Selected { scenario, .. } = select::selected(entry, bugs)?;
    let seed = parse_seed(seed).map_err(|error| error.to_string())?;
    let last = steps.unwrap_or(LAST_STEPS);
    let options = RunOptions { trace_last: last, ..RunOptions::default() };
    let run = vivarium_sim::on_fresh_thread(|| vivarium_sim::run(&scenario, seed, &options));
    let replay = command(&scenario.name, seed, bugs);
    let text = report(&scenario.name, bugs, &run, None, replay, steps.is_some());
    Ok(emit(&text, u8::from(run.violation.is_some())))
}

fn by_case(target: &str, steps: Option<Option<usize>>, entries: &[Entry]) -> Result<u8, String> {
    let path = Path::new(target);
    if !path.exists()
        && let Some(name) = nearest(target, entries.iter().map(|entry| entry.name))
    {
        return Err(format!(
            "there is no case file `{target}`: did you mean the scenario, `replay {name} --seed N`?"
        ));
    }
    let case = case_file::load(path).map_err(|error| error.to_string())?;
    let within = |sentence| format!("the case file `{target}` cannot be replayed: {sentence}");
    let entry = select::entry(&case.scenario, entries).map_err(within)?;
    let Selected { scenario, .. } = select::selected(entry, &case.bugs).map_err(within)?;
    if let Some(replayed) = exploration::replay(&scenario, &case).map_err(within)? {
        let steps = steps.map(|steps| steps.unwrap_or(usize::MAX));
        return Ok(replay_explored::by_case(target, &case, &replayed, steps));
    }
    let steps = steps.map(|steps| steps.unwrap_or(SHOWN));
    let last = steps.unwrap_or(LAST_STEPS);
    let options = RunOptions { trace_last: last, ..RunOptions::default() };
    let replayed =
        vivarium_sim::on_fresh_thread(|| vivarium_sim::replay(&scenario, &case, &options));
    let replayed = replayed.map_err(within)?;
    let run = &replayed.report;
    let saved = Some(Ok(target.to_string()));
    let again = format!("{} replay {target}", program());
    let text = report(&scenario.name, &case.bugs, run, saved, again, steps.is_some());
    let code = match (&run.violation, replayed.same) {
        (Some(_), _) => 1,
        (None, true) => 0,
        (None, false) => INCONCLUSIVE,
    };
    Ok(emit(&(text + &comparison(&case, &replayed)), code))
}

/// Whether the replay is the recorded run.
fn comparison(case: &Case, replayed: &Replay) -> String {
    let run = &replayed.report;
    let recorded = grouped(case.steps.len() as u64);
    let first = replayed.skipped.first().map(|(number, _at, step)| (*number, *step));
    let skipped = skipped(replayed.skipped.len(), first, &recorded);
    let same = if replayed.same {
        format!("The replay of {recorded} steps gave the recorded run: hash {}\n", run.hash)
    } else {
        format!(
            "The replay is NOT the recorded run: hash {}, recorded {}; this build of Vivarium or \
             of the programs differs from the one that recorded it\n",
            run.hash, case.hash
        )
    };
    let gone = match (&case.violation, &run.violation) {
        (Some(objection), None) => {
            format!("The recorded violation did not occur: {objection}\n")
        }
        _ => String::new(),
    };
    format!("\n{skipped}{same}{gone}")
}

/// The sentence about steps that were skipped, if any were.
pub(super) fn skipped(count: usize, first: Option<(u64, Step)>, recorded: &str) -> String {
    first.map_or(String::new(), |(number, step)| {
        format!(
            "{} of the {recorded} recorded steps were not enabled and skipped, first step \
             {number}: {step}\n",
            grouped(count as u64)
        )
    })
}

/// What the run was and how it ended.
fn report(
    scenario: &str,
    bugs: &[String],
    run: &RunReport,
    case_file: Option<Result<String, String>>,
    replay: String,
    timeline_asked: bool,
) -> String {
    let title = if bugs.is_empty() {
        scenario.to_string()
    } else {
        format!("{scenario} with {}", bugs.join(", "))
    };
    if let Some(violation) = &run.violation {
        return violation_report(&engine::finding(title, run, violation, None, case_file, replay));
    }
    let mut text = format!(
        "HELD: {title}, seed {}: {} steps, {} of virtual time, hash {}\n\nWhat the seed stands \
         for:\n",
        run.seed,
        grouped(run.steps),
        span(run.simulated),
        run.hash
    );
    for option in run.options_text.trim_end().lines() {
        text.push_str(&format!("  {option}\n"));
    }
    if timeline_asked {
        text.push('\n');
        text.push_str(&last_steps(&run.story, &run.trace, ""));
    }
    text
}
