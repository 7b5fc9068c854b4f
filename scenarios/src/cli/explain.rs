//! `vivarium explain`: when a violation became inevitable.

use super::cases;
use super::commands::program;
use super::output::emit;
use super::pictures::{self, PictureArguments};
use super::progress::Meter;
use super::select::{self, Selected};
use super::switches::{NAMED_BY_CASE, SwitchArguments, flags};
use crate::catalogue::Entry;
use crate::explaining::{self, FORKS, Forks};
use crate::sweeping;
use crate::sweeping::seeds::parse_seed;
use clap::Args;
use std::path::Path;
use vivarium_model::case::Case;
use vivarium_reports::explanation::{Explanation, explanation_text};
use vivarium_sim::{RunOptions, RunReport, Scenario};

#[derive(Args, Debug)]
pub(super) struct ExplainArguments {
    /// A case file, or a scenario (with --seed)
    #[arg(value_name = "CASE | SCENARIO")]
    pub(super) target: String,
    /// The seed of the run
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) seed: Option<String>,
    #[command(flatten)]
    pub(super) switches: SwitchArguments,
    /// Let the runs that go on have faults of their own; by default they only have those that had begun
    #[arg(long)]
    pub(super) faults: bool,
    /// How many runs go on from each step that is examined [default: 100]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) runs: Option<String>,
    #[command(flatten)]
    pub(super) pictures: PictureArguments,
}

/// The most runs from each step: larger numbers are typing errors.
const MOST_FORKS: u32 = 100_000;

/// Runs the command and returns the exit code.
pub(super) fn explain(arguments: &ExplainArguments, entries: &[Entry]) -> Result<u8, String> {
    let count = forks(arguments.runs.as_deref())?;
    let forks = Forks { host: select::host(None)?, count, have_faults: arguments.faults };
    if arguments.seed.is_none() && !arguments.switches.is_empty() {
        return Err(NAMED_BY_CASE.to_string());
    }
    let bugs = arguments.switches.names()?;
    let (scenario, case, run) = recorded(arguments, &bugs, entries)?;
    let explanation = explained(&scenario, &case, &run, forks)
        .map_err(|why| format!("{} cannot be explained: {why}", what(arguments)))?;
    let code = emit(&explanation_text(&explanation), 0);
    arguments.pictures.write(|| {
        let mut picture = pictures::of_case(&case, &replay(arguments, &bugs), entries)?;
        picture.curve = Some(explanation.curve());
        Ok(picture)
    })?;
    Ok(code)
}

/// Returns the command that replays the run.
fn replay(arguments: &ExplainArguments, bugs: &[String]) -> String {
    let target = &arguments.target;
    match &arguments.seed {
        Some(seed) => format!("{} replay {target} --seed {seed}{}", program(), flags(bugs)),
        None => format!("{} replay {target}", program()),
    }
}

/// Explains with a meter.
fn explained(
    scenario: &Scenario,
    case: &Case,
    run: &RunReport,
    forks: Forks,
) -> Result<Explanation, String> {
    let most = explaining::at_most(forks.count, case);
    let meter = Meter::of_runs(scenario.name.clone(), most);
    let explanation =
        explaining::explanation(scenario, case, run, forks, &|done| meter.update(done));
    meter.finish();
    explanation
}

/// Returns the recorded run: by its seed, or from a case file.
fn recorded(
    arguments: &ExplainArguments,
    bugs: &[String],
    entries: &[Entry],
) -> Result<(Scenario, Case, RunReport), String> {
    let target = &arguments.target;
    let options = RunOptions { keep_steps: true, trace_last: usize::MAX, ..RunOptions::default() };
    if let Some(seed) = &arguments.seed {
        let entry = select::entry(target, entries)?;
        select::has_seeds(entry)?;
        let Selected { scenario, .. } = select::selected(entry, bugs)?;
        let seed = parse_seed(seed).map_err(|error| error.to_string())?;
        let run = vivarium_sim::on_fresh_thread(|| vivarium_sim::run(&scenario, seed, &options));
        let case = sweeping::case(&scenario, bugs, &run);
        return Ok((scenario, case, run));
    }
    if entries.iter().any(|entry| entry.name == target) && !Path::new(target).is_file() {
        return Err(format!("which run of `{target}`? Give its seed: `explain {target} --seed N`"));
    }
    let case = cases::load(Path::new(target))?;
    let within = |why| format!("the case file `{target}` cannot be explained: {why}");
    let entry = select::entry(&case.scenario, entries).map_err(within)?;
    let Selected { scenario, .. } = select::selected(entry, &case.bugs).map_err(within)?;
    if case.seed.is_none() {
        return Err(within(explaining::OF_A_SEARCH.to_string()));
    }
    let replayed =
        vivarium_sim::on_fresh_thread(|| vivarium_sim::replay(&scenario, &case, &options));
    let run = replayed.map_err(within)?.report;
    // Steps that were skipped are no part of the run.
    let case = Case { steps: run.recorded.clone(), ..case };
    Ok((scenario, case, run))
}

fn what(arguments: &ExplainArguments) -> String {
    match &arguments.seed {
        Some(seed) => format!("seed {seed} of `{}`", arguments.target),
        None => format!("the case file `{}`", arguments.target),
    }
}

fn forks(text: Option<&str>) -> Result<u32, String> {
    let Some(text) = text else { return Ok(FORKS) };
    match text.replace('_', "").parse::<u32>() {
        Ok(forks) if (1..=MOST_FORKS).contains(&forks) => Ok(forks),
        _ => Err(format!("`--runs {text}` is not a number of runs from 1 to {MOST_FORKS}")),
    }
}
