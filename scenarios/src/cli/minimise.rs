//! `--minimise`: adds the smallest run that violates the same property to the report on a violation.

use super::commands::program;
use super::progress::Spinner;
use super::select::{self, Selected};
use crate::catalogue::catalogue;
use crate::minimising::{self, NOTHING_SMALLER};
use crate::properties::Stated;
use crate::replaying;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use vivarium_model::case::Case;
use vivarium_model::property::Objection;
use vivarium_model::release::{Bug, Release};
use vivarium_model::verdict::Violation;
use vivarium_reports::case_file;
use vivarium_reports::summary::{Finding, Minimal, Shorter};
use vivarium_sim::minimised::minimised_outside;
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

/// Minimises the case of clients outside of the run, judged by these properties as well, and writes the smaller run's case
/// beside it.
///
/// # Errors
/// A clause that says what is wrong with the case, or that it violates nothing.
pub(super) fn of_outside(
    target: &str,
    case: &Case,
    properties: &[Stated],
    time: Duration,
) -> Result<Finding, String> {
    let _spinner =
        Spinner::new(format!("looking for a smaller run, for at most {} s", time.as_secs()));
    let begun = Instant::now();
    let further = || properties.iter().map(Stated::monitor).collect();
    let found = minimised_outside(case, &further, &|| begun.elapsed() < time)?;
    let found = found.ok_or("it violates no property")?;
    let whole = case.violation.clone().or(found.case.violation.clone());
    let replay = format!("{} replay {target}", program());
    let title = replaying::title(&case.scenario, &case.bugs);
    let of = |case: &Case, objection: Objection, replay: String| Finding {
        every_step: format!("{replay} --timeline"),
        replay,
        ..without_steps(title.clone(), case, objection)
    };
    let objection = found.case.violation.clone().expect("a minimised run violates its property");
    let mut finding = of(&found.case, objection, String::new());
    finding.trace = found.lines;
    let mut minimal = Minimal {
        finding,
        before: found.before,
        after: found.after,
        took: begun.elapsed(),
        incomplete: found.incomplete,
    };
    saved(&mut minimal, &found.case, &beside(Path::new(target)));
    let mut finding = of(case, whole.expect("one of them has it"), replay);
    finding.case_file = Some(Ok(target.to_string()));
    finding.shorter = Some(Shorter::Found(Box::new(minimal)));
    Ok(finding)
}

/// Makes the report on a violating case without its steps.
fn without_steps(scenario: String, case: &Case, objection: Objection) -> Finding {
    let at = case.steps.last().map_or_else(Default::default, |(at, _)| *at);
    let (step, hash) = (case.steps.len() as u64, case.hash);
    Finding {
        scenario,
        violation: Violation { objection, seed: None, at, step, hash },
        options: String::new(),
        config: case.config.clone(),
        case_file: None,
        replay: String::new(),
        every_step: String::new(),
        story: Vec::new(),
        trace: Vec::new(),
        way: None,
        unrepeated: None,
        stopped: None,
        shorter: None,
        distinct: None,
        regression: None,
        panicked_at: None,
        as_read: None,
    }
}

/// Returns the scenario of the servers alone, with the defects of a case.
pub(super) fn servers_alone(case: &Case) -> Option<Scenario> {
    let entries = catalogue();
    let entry = select::entry(SERVERS_ALONE, &entries).ok()?;
    let is_of_servers = |name: &&String| {
        Release::named(name).is_some() || Bug::ALL.iter().any(|bug| bug.name() == **name)
    };
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
