//! `vivarium replay`: replays one run, by its seed or from a case file.

use super::arguments::ReplayArguments;
use super::output::emit;
use super::select::{self, Selected, nearest};
use super::commands::{program, replay_of_seed};
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
use vivarium_model::release::Bug;
use vivarium_reports::case_file::{self, CaseFileError};
use vivarium_reports::summary::Finding;
use vivarium_reports::violation::violation_report;
use vivarium_sim::steps::Replayed;
use vivarium_sim::{HostKind, RunOptions, Scenario, replica};

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
            let steps = steps.map(|steps| steps.unwrap_or(SHOWN));
            by_seed(target, seed, &arguments.bugs, steps, time, entries)
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
        None => by_case(target, steps, time, entries),
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

fn by_seed(
    target: &str,
    seed: &str,
    bugs: &[String],
    steps: Option<usize>,
    time: Option<Duration>,
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
    let keep_steps = time.is_some();
    let options = RunOptions { trace_last: last, keep_steps, ..RunOptions::default() };
    let run = vivarium_sim::on_fresh_thread(|| vivarium_sim::run(&scenario, seed, &options));
    let replay = replay_of_seed(&scenario.name, seed, bugs);
    let commands = Commands { every_step: format!("{replay} --timeline=all"), replay };
    let title = replaying::title(&scenario.name, bugs);
    if let (Some(time), Some(violation)) = (time, &run.violation) {
        let finding = sweeping::finding(title, &run, violation, None, None, commands);
        let case = sweeping::case(&scenario, bugs, &run);
        let path = minimise::beside(&cases::path(&scenario.name, bugs, &seed.to_string()));
        return Ok(minimised(finding, &scenario, &case, &path, time));
    }
    let text = replaying::report(&title, &run, None, commands, steps.is_some());
    Ok(emit(&text, u8::from(run.violation.is_some())))
}

/// Describes why a case file was not loaded; suggests the nearest name for an unknown bug.
pub(super) fn unreadable(error: &CaseFileError) -> String {
    let meant = match error {
        CaseFileError::UnknownBug { name, .. } => nearest(name, Bug::ALL.map(Bug::name)),
        _ => None,
    };
    meant.map_or(error.to_string(), |meant| format!("{error}: did you mean `{meant}`?"))
}

/// Prints the report on a violation with the smallest run that violates the same property. Returns the exit code.
fn minimised(
    finding: Finding,
    scenario: &Scenario,
    case: &Case,
    path: &Path,
    time: Duration,
) -> u8 {
    let host = HostKind::default();
    let finding = minimise::with_smaller(finding, scenario, case, path, host, time);
    emit(&violation_report(&finding), 1)
}

fn by_case(
    target: &str,
    steps: Option<Option<usize>>,
    time: Option<Duration>,
    entries: &[Entry],
) -> Result<u8, String> {
    let path = Path::new(target);
    if !path.exists()
        && let Some(name) = nearest(target, entries.iter().map(|entry| entry.name))
    {
        return Err(format!(
            "there is no case file `{target}`: did you mean the scenario, `replay {name} --seed N`?"
        ));
    }
    let case = case_file::load(path).map_err(|error| unreadable(&error))?;
    let within = |sentence| format!("the case file `{target}` cannot be replayed: {sentence}");
    if case.scenario == replica::SCENARIO {
        let properties = stated_properties(&case.parameters).map_err(within)?;
        let further = properties.iter().map(Stated::monitor).collect();
        let replayed = replica::replay_judged(&case, further).map_err(within)?;
        return Ok(in_steps(target, &case, &replayed, steps));
    }
    let entry = select::entry(&case.scenario, entries).map_err(within)?;
    let Selected { scenario, .. } = select::selected(entry, &case.bugs).map_err(within)?;
    if let Some(replayed) = exploration::replay(&scenario, &case).map_err(within)? {
        return Ok(in_steps(target, &case, &replayed, steps));
    }
    let replay = format!("{} replay {target}", program());
    let commands = Commands { every_step: format!("{replay} --timeline=all"), replay };
    if let Some(time) = time {
        let run = replaying::replayed(&scenario, &case, 0).map_err(within)?.report;
        let Some(violation) = &run.violation else {
            return Err(format!("the case file `{target}` violates no property"));
        };
        let file = Some(Ok(target.to_string()));
        let title = replaying::title(&scenario.name, &case.bugs);
        let finding = sweeping::finding(title, &run, violation, None, file, commands);
        return Ok(minimised(finding, &scenario, &case, &minimise::beside(path), time));
    }
    let steps = steps.map(|steps| steps.unwrap_or(SHOWN));
    let told = replaying::swept(&scenario, &case, target, steps, commands).map_err(within)?;
    Ok(emit(&told.text, told.code))
}

/// Prints the replay of a case without a seed and returns the exit code.
fn in_steps(target: &str, case: &Case, replayed: &Replayed, steps: Option<Option<usize>>) -> u8 {
    let replay = format!("{} replay {target}", program());
    let commands = Commands { every_step: format!("{replay} --timeline"), replay };
    let steps = steps.map(|steps| steps.unwrap_or(usize::MAX));
    let told = explored::told(target, case, replayed, steps, &commands);
    emit(&told.text, told.code)
}
