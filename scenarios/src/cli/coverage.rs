//! `vivarium coverage`: what the runs of scenarios reach.

use super::guard;
use super::output::emit;
use super::progress::Meter;
use super::select::{self, Selected};
use super::switches::SwitchArguments;
use crate::catalogue::Entry;
use crate::covering;
use crate::sweeping::seeds::SeedRange;
use clap::Args;
use vivarium_reports::covered::{Coverage, coverage_json, coverage_text};

/// How many seeds run by default.
const SEEDS: u64 = 200;

#[derive(Args, Debug)]
pub(super) struct CoverageArguments {
    /// Which scenarios
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// How many seeds, or which ones (the end is excluded) [default: 200]
    #[arg(long, value_name = "N | A..B", allow_hyphen_values = true)]
    seeds: Option<String>,
    /// How many seeds at a time [default: one per core]
    #[arg(long, value_name = "J", allow_hyphen_values = true)]
    jobs: Option<String>,
    /// What drives the programs: madsim or direct [default: madsim where it is built in]
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    #[command(flatten)]
    switches: SwitchArguments,
    /// Print a JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command and returns the exit code.
pub(super) fn coverage(arguments: &CoverageArguments, entries: &[Entry]) -> Result<u8, String> {
    if arguments.scenarios.is_empty() {
        return Err("`coverage` needs a scenario, such as `vivarium coverage lock`".to_string());
    }
    let seeds = match &arguments.seeds {
        Some(text) => SeedRange::parse(text).map_err(|error| error.to_string())?,
        None => SeedRange::count(SEEDS).expect("some"),
    };
    let jobs = select::jobs(arguments.jobs.as_deref())?;
    let host = select::host(arguments.host.as_deref())?;
    let bugs = &arguments.switches.names()?;
    let selection = select::selection(&arguments.scenarios, bugs, entries)?;
    let covered = |Selected { entry, scenario }: &Selected<'_>| {
        let meter = Meter::new(entry.name.to_string(), seeds.len());
        let progress = |done| meter.update(done);
        let covered =
            guard::guarded(|| covering::coverage(scenario, bugs, &seeds, jobs, host, &progress));
        meter.finish();
        covered.and_then(|covered| covered)
    };
    let all: Vec<Coverage> = selection.iter().map(covered).collect::<Result<_, _>>()?;
    let text = match arguments.json {
        true => coverage_json(&all),
        false => all.iter().map(coverage_text).collect::<Vec<_>>().join("\n"),
    };
    Ok(emit(&text, 0))
}
