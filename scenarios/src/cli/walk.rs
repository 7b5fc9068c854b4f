//! `vivarium walk` and `vivarium explore --serve`: walks through a run in a browser.

use super::commands::program;
use super::output::to_stderr;
use super::select::{self, Selected, nearest};
use super::switches::{NAMED_BY_CASE, SwitchArguments};
use super::{cases, guard};
use crate::catalogue::Entry;
use crate::exploration::{self, Exploration};
use crate::replaying;
use crate::sweeping;
use crate::sweeping::seeds::parse_seed;
use crate::walking::{self, Caller, Judged, Listener, Walking};
use clap::Args;
use std::path::{Path, PathBuf};
use vivarium_model::case::Case;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_sim::walked::Origin;
use vivarium_sim::{Explored, RunOptions, Scenario, replica};

#[derive(Args, Debug)]
pub(super) struct WalkArguments {
    /// A case file, whose steps are then taken one by one or left, or a scenario: from the beginning of its search, or
    /// with --seed through a run
    #[arg(value_name = "CASE | SCENARIO")]
    pub(super) target: String,
    /// The seed of the run
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) seed: Option<String>,
    #[command(flatten)]
    pub(super) switches: SwitchArguments,
    /// Where the browser finds the page; with port 0, at a free port
    #[arg(long, value_name = "ADDRESS", default_value = "localhost:3000")]
    pub(super) address: String,
}

/// Runs `vivarium walk` and returns the exit code.
pub(super) fn walk(arguments: &WalkArguments, entries: &[Entry]) -> Result<u8, String> {
    let target = arguments.target.as_str();
    let bugs = &arguments.switches.names()?;
    let walking = match (&arguments.seed, entries.iter().any(|entry| entry.name == target)) {
        (Some(seed), _) => of_seed(target, seed, bugs, entries)?,
        (None, true) => {
            let selected = select::selected(select::entry(target, entries)?, bugs)?;
            if let Explored::No(why) = &selected.scenario.explored {
                return Err(format!(
                    "`{target}` has no search whose beginning could be walked from: {why}; walk through a run of it: \
                     `walk {target} --seed N`"
                ));
            }
            of_search(&selected, bugs, &Exploration::new().unbounded())?
        }
        (None, false) if !arguments.switches.is_empty() && Path::new(target).exists() => {
            return Err(NAMED_BY_CASE.to_string());
        }
        (None, false) => of_case(target, entries)?,
    };
    serve(walking, &arguments.address)
}

/// Walks from the beginning of a search.
pub(super) fn explore(
    selected: &Selected<'_>,
    bugs: &[String],
    exploration: &Exploration,
    address: &str,
) -> Result<u8, String> {
    serve(of_search(selected, bugs, exploration)?, address)
}

fn serve(mut walking: Walking, address: &str) -> Result<u8, String> {
    let listener = Listener::open(address)?;
    to_stderr(&format!("The walk is at {} until Ctrl-C", listener.url()));
    guard::guarded(|| walking::serve(&mut walking, &listener))?;
    Ok(0)
}

fn of_search(
    selected: &Selected<'_>,
    bugs: &[String],
    exploration: &Exploration,
) -> Result<Walking, String> {
    let (scenario, case) = exploration::beginning(&selected.scenario, bugs, exploration)?;
    Ok(begin(Some(scenario), &case))
}

fn of_seed(
    target: &str,
    seed: &str,
    bugs: &[String],
    entries: &[Entry],
) -> Result<Walking, String> {
    let entry = select::entry(target, entries)?;
    select::has_seeds(entry)?;
    let Selected { scenario, .. } = select::selected(entry, bugs)?;
    let seed = parse_seed(seed).map_err(|error| error.to_string())?;
    let options = RunOptions { keep_steps: true, ..RunOptions::default() };
    let run = vivarium_sim::on_fresh_thread(|| vivarium_sim::run(&scenario, seed, &options));
    let case = sweeping::case(&scenario, bugs, &run);
    Ok(begin(Some(scenario), &case))
}

fn of_case(target: &str, entries: &[Entry]) -> Result<Walking, String> {
    let path = Path::new(target);
    if !path.exists()
        && let Some(name) = nearest(target, entries.iter().map(|entry| entry.name))
    {
        return Err(format!(
            "there is no case file `{target}`: did you mean the scenario, `walk {name}`?"
        ));
    }
    let case = cases::load(path)?;
    let within = |sentence| format!("the case file `{target}` cannot be walked: {sentence}");
    if case.scenario == replica::SCENARIO {
        return Ok(begin(None, &case));
    }
    let entry = select::entry(&case.scenario, entries).map_err(within)?;
    let Selected { scenario, .. } = select::selected(entry, &case.bugs).map_err(within)?;
    Ok(begin(Some(scenario), &case))
}

fn begin(scenario: Option<Scenario>, case: &Case) -> Walking {
    let title = replaying::title(&case.scenario, &case.bugs);
    Walking::new(scenario, case, title, Box::new(Cases))
}

/// Saves ways in the folder of case files, for `vivarium replay`.
struct Cases;

impl Caller for Cases {
    fn judge(&self, origin: &Origin, way: Vec<(Time, Step)>) -> Result<Judged, String> {
        exploration::judged(origin, way)
    }

    fn path(&self, case: &Case, which: &str) -> PathBuf {
        cases::path(&case.scenario, &case.bugs, which)
    }

    fn replay(&self, path: &str) -> String {
        format!("{} replay {path}", program())
    }
}
