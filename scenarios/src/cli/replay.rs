//! `vivarium replay`: replays one run, by its seed or from a case file.

use super::arguments::ReplayArguments;
use super::commands::{program, replay_of_seed};
use super::output::emit;
use super::pictures::{self, PictureArguments};
use super::select::{self, Selected, nearest};
use super::switches::NAMED_BY_CASE;
use super::{cases, minimise};
use crate::catalogue::Entry;
use crate::exploration;
use crate::properties::{Stated, stated_properties};
use crate::replaying::{self, explored};
use crate::sweeping::seeds::parse_seed;
use crate::sweeping::{self, Commands, LAST_STEPS};
use std::path::Path;
use std::time::Duration;
use vivarium_model::case::Case;
use vivarium_reports::summary::Finding;
use vivarium_reports::violation::violation_report;
use vivarium_sim::steps::Replayed;
use vivarium_sim::{HostKind, RunOptions, Scenario, replica};

/// Why the case of a search is not minimised.
const OF_A_SEARCH: &str =
    "a search has found it, and has minimised it already: leave out `--minimise`";

/// The default number of steps shown of a simulated run.
const SHOWN: usize = 60;

/// Runs the command and returns the exit code.
pub(super) fn replay(arguments: &ReplayArguments, entries: &[Entry]) -> Result<u8, String> {
    let Some(target) = arguments.target.as_deref() else {
        return Err("`replay` needs a scenario with `--seed N`, or a case file".to_string());
    };
    let steps = timeline_length(arguments.timeline.as_deref())?;
    let time = arguments.minimise.as_deref().map(|text| minimise::time(Some(text))).transpose()?;
    match &arguments.seed {
        Some(seed) => {
            let asked = Asked { steps, time, pictures: &arguments.pictures };
            by_seed(target, seed, &arguments.switches.names()?, &asked, entries)
        }
        None if entries.iter().any(|entry| entry.name == target) => {
            select::has_seeds(select::entry(target, entries)?)?;
            Err(format!("which run of `{target}`? Give its seed: `replay {target} --seed N`"))
        }
        None if !arguments.switches.is_empty() => Err(NAMED_BY_CASE.to_string()),
        None => by_case(target, &Asked { steps, time, pictures: &arguments.pictures }, entries),
    }
}

/// Parses the number of steps to show; the outer `None` means no timeline, the inner one the default number.
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

/// What to show of a run.
struct Asked<'a> {
    /// How many of the last steps; the inner `None` means the default number.
    steps: Option<Option<usize>>,
    /// How long to look for a smaller run.
    time: Option<Duration>,
    pictures: &'a PictureArguments,
}

fn by_seed(
    target: &str,
    seed: &str,
    bugs: &[String],
    asked: &Asked<'_>,
    entries: &[Entry],
) -> Result<u8, String> {
    if Path::new(target).is_file() && entries.iter().all(|entry| entry.name != target) {
        return Err(format!("the case file `{target}` names its seed itself: leave out `--seed`"));
    }
    let entry = select::entry(target, entries)?;
    select::has_seeds(entry)?;
    let Selected { scenario, .. } = select::selected(entry, bugs)?;
    let seed = parse_seed(seed).map_err(|error| error.to_string())?;
    let Asked { steps, time, pictures } = *asked;
    let steps = steps.map(|steps| steps.unwrap_or(SHOWN));
    let last = steps.unwrap_or(LAST_STEPS);
    let keep_steps = time.is_some() || pictures.flag().is_some();
    let options = RunOptions { trace_last: last, keep_steps, ..RunOptions::default() };
    let run = vivarium_sim::on_fresh_thread(|| vivarium_sim::run(&scenario, seed, &options));
    let replay = replay_of_seed(&scenario.name, seed, bugs);
    let commands = Commands { every_step: format!("{replay} --timeline=all"), replay };
    let title = replaying::title(&scenario.name, bugs);
    if let (Some(time), Some(violation)) = (time, &run.violation) {
        let finding = sweeping::finding(title, &run, violation, None, None, commands);
        let case = sweeping::case(&scenario, bugs, &run);
        let path = minimise::beside(&cases::path(&scenario.name, bugs, &seed.to_string()));
        let (code, finding) = minimised(finding, &scenario, &case, &path, time);
        pictures.write(|| pictures::of_smaller(&finding, &case, entries))?;
        return Ok(code);
    }
    let text = replaying::report(&title, &run, None, commands, steps.is_some());
    let code = emit(&text, u8::from(run.violation.is_some()));
    pictures.write(|| {
        let case = sweeping::case(&scenario, bugs, &run);
        pictures::of_case(&case, &replay_of_seed(target, seed, bugs), entries)
    })?;
    Ok(code)
}

/// Prints the report on a violation with the smallest run that violates the same property. Returns the exit code, and
/// the report's data.
fn minimised(
    finding: Finding,
    scenario: &Scenario,
    case: &Case,
    path: &Path,
    time: Duration,
) -> (u8, Finding) {
    let host = HostKind::default();
    let finding = minimise::with_smaller(finding, scenario, case, path, host, time);
    (emit(&violation_report(&finding), 1), finding)
}

fn by_case(target: &str, asked: &Asked<'_>, entries: &[Entry]) -> Result<u8, String> {
    let Asked { steps, time, pictures } = *asked;
    let path = Path::new(target);
    if !path.exists()
        && let Some(name) = nearest(target, entries.iter().map(|entry| entry.name))
    {
        return Err(format!(
            "there is no case file `{target}`: did you mean the scenario, `replay {name} --seed N`?"
        ));
    }
    let case = cases::load(path)?;
    let within = |sentence| format!("the case file `{target}` cannot be replayed: {sentence}");
    if case.scenario == replica::SCENARIO {
        let properties = stated_properties(&case.parameters).map_err(within)?;
        if let Some(time) = time {
            let finding = minimise::of_outside(target, &case, &properties, time).map_err(within)?;
            pictures.write(|| pictures::of_smaller(&finding, &case, entries))?;
            return Ok(emit(&violation_report(&finding), 1));
        }
        let further = properties.iter().map(Stated::monitor).collect();
        let replayed = replica::replay_judged(&case, further).map_err(within)?;
        let code = in_steps(target, &case, &replayed, steps);
        pictures.write(|| pictures::of_file(target, &case, &of_file(target), entries))?;
        return Ok(code);
    }
    let entry = select::entry(&case.scenario, entries).map_err(within)?;
    let Selected { scenario, .. } = select::selected(entry, &case.bugs).map_err(within)?;
    if let Some(replayed) = exploration::replay(&scenario, &case).map_err(within)? {
        if time.is_some() {
            return Err(within(OF_A_SEARCH.to_string()));
        }
        let code = in_steps(target, &case, &replayed, steps);
        pictures.write(|| pictures::of_file(target, &case, &of_file(target), entries))?;
        return Ok(code);
    }
    let replay = of_file(target);
    let commands = Commands { every_step: format!("{replay} --timeline=all"), replay };
    if let Some(time) = time {
        let run = replaying::replayed(&scenario, &case, 0).map_err(within)?.report;
        let Some(violation) = &run.violation else {
            return Err(format!("the case file `{target}` violates no property"));
        };
        let file = Some(Ok(target.to_string()));
        let title = replaying::title(&scenario.name, &case.bugs);
        let finding = sweeping::finding(title, &run, violation, None, file, commands);
        let smaller = minimise::beside(path);
        let (code, finding) = minimised(finding, &scenario, &case, &smaller, time);
        pictures.write(|| pictures::of_smaller(&finding, &case, entries))?;
        return Ok(code);
    }
    let steps = steps.map(|steps| steps.unwrap_or(SHOWN));
    let told = replaying::swept(&scenario, &case, target, steps, commands).map_err(within)?;
    let code = emit(&told.text, told.code);
    pictures.write(|| pictures::of_file(target, &case, &of_file(target), entries))?;
    Ok(code)
}

/// Returns the command that replays a case file.
fn of_file(target: &str) -> String {
    format!("{} replay {target}", program())
}

/// Prints the replay of a case without a seed and returns the exit code.
fn in_steps(target: &str, case: &Case, replayed: &Replayed, steps: Option<Option<usize>>) -> u8 {
    let replay = of_file(target);
    let commands = Commands { every_step: format!("{replay} --timeline"), replay };
    let steps = steps.map(|steps| steps.unwrap_or(usize::MAX));
    let told = explored::told(target, case, replayed, steps, &commands);
    emit(&told.text, told.code)
}
