//! `--minimise`: adds the smallest run that violates the same property to the report on a violation.

use super::commands::program;
use super::progress::Spinner;
use super::select::{self, Selected};
use crate::catalogue::catalogue;
use crate::minimising::{self, NOTHING_SMALLER};
use std::path::{Path, PathBuf};
use std::time::Duration;
use vivarium_model::case::Case;
use vivarium_model::release::Bug;
use vivarium_reports::case_file;
use vivarium_reports::summary::{Finding, Minimal, Shorter};
use vivarium_sim::{HostKind, Scenario};

/// The scenario of the servers alone.
const SERVERS_ALONE: &str = "broadcast";

/// Returns the time limit of a flag; without a value, the default.
pub(super) fn time(text: Option<&str>) -> Result<Duration, String> {
    match text {
        None | Some("") => Ok(minimising::TIME),
        Some(text) => minimising::seconds(text).map_err(|why| format!("`--minimise`: {why}")),
    }
}

/// Minimises the case of a violating run within this time, and writes the smaller run's case to `path`. Returns the
/// report with the smaller run, or with the reason why there is none.
pub(super) fn with_smaller(
    finding: Finding,
    scenario: &Scenario,
    case: &Case,
    path: &Path,
    host: HostKind,
    time: Duration,
) -> Finding {
    if time.is_zero() || finding.unrepeated.is_some() {
        return finding;
    }
    let servers = servers_alone(case);
    let text =
        format!("{}: looking for a smaller run, for at most {} s", scenario.name, time.as_secs());
    let _spinner = Spinner::new(text);
    let shorter = match minimising::smallest(scenario, case, servers.as_ref(), host, time) {
        Ok(Some(found)) => {
            let mut minimal = found.minimal;
            saved(&mut minimal, &found.case, path);
            Shorter::Found(Box::new(minimal))
        }
        Ok(None) => Shorter::No(NOTHING_SMALLER.to_string()),
        Err(sentence) => Shorter::No(sentence),
    };
    Finding { shorter: Some(shorter), ..finding }
}

/// Returns the scenario of the servers alone, with the defects of a case.
pub(super) fn servers_alone(case: &Case) -> Option<Scenario> {
    let entries = catalogue();
    let entry = select::entry(SERVERS_ALONE, &entries).ok()?;
    let is_of_servers = |bug: &&String| Bug::ALL.iter().any(|other| other.name() == **bug);
    let bugs: Vec<String> = case.bugs.iter().filter(is_of_servers).cloned().collect();
    let Selected { scenario, .. } = select::selected(entry, &bugs).ok()?;
    Some(scenario)
}

/// Writes the case of a smaller run.
fn saved(minimal: &mut Minimal, case: &Case, path: &Path) {
    minimal.finding.replay = format!("{} replay {}", program(), path.display());
    minimal.finding.case_file = Some(match case_file::save(path, case) {
        Ok(()) => Ok(path.display().to_string()),
        Err(error) => Err(error.to_string()),
    });
}

/// Returns the path of the minimised case beside that of a case.
pub(super) fn beside(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    path.with_file_name(format!("{stem}-minimised.json"))
}
