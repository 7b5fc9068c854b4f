//! Reports replays of case files, for the command line and for users' tests.

#[cfg(feature = "explore")]
pub(crate) mod explored;
pub(crate) mod regressions;

use crate::sweeping::{self, Commands, LAST_STEPS};
use std::collections::BTreeSet;
use vivarium_model::case::Case;
use vivarium_model::property::goes_by_times;
use vivarium_model::release::{Bug, Bugs, Release};
use vivarium_model::step::Step;
use vivarium_reports::numbers::{grouped, span};
use vivarium_reports::timeline::last_steps;
use vivarium_reports::violation::violation_report;
use vivarium_sim::{Replay, RunOptions, RunReport, Scenario};

/// The exit code of a case that is not the recorded run any more, but violates nothing.
const INCONCLUSIVE: u8 = 2;

/// The report of a replay, and the exit code of a process that only replays.
pub(crate) struct Told {
    pub(crate) text: String,
    pub(crate) code: u8,
    /// The number of steps that were not possible.
    pub(crate) skipped: usize,
    /// The property violated, if it judges times and the replay is not the recorded run.
    pub(crate) by_old_times: Option<String>,
}

/// Replays the case of a swept run. `steps` selects how many of the last steps are shown.
///
/// # Errors
/// Returns one sentence about what is wrong with the case.
pub(crate) fn swept(
    scenario: &Scenario,
    case: &Case,
    file: &str,
    steps: Option<usize>,
    commands: Commands,
) -> Result<Told, String> {
    let replayed = replayed(scenario, case, steps.unwrap_or(LAST_STEPS))?;
    let run = &replayed.report;
    let text = report(
        &title(&scenario.name, &case.bugs),
        run,
        Some(Ok(file.to_string())),
        commands,
        steps.is_some(),
    );
    let code = match (&run.violation, replayed.same) {
        (Some(_), _) => 1,
        (None, true) => 0,
        (None, false) => INCONCLUSIVE,
    };
    let skipped = replayed.skipped.len();
    let violated = run.violation.as_ref().map(|violation| &violation.objection.property);
    let by_old_times =
        violated.filter(|property| !replayed.same && goes_by_times(property)).cloned();
    Ok(Told { text: text + &comparison(case, &replayed), code, skipped, by_old_times })
}

/// Replays the case of a swept run, and keeps this many of its last steps as text.
///
/// # Errors
/// Returns one sentence about what is wrong with the case.
pub(crate) fn replayed(
    scenario: &Scenario,
    case: &Case,
    trace_last: usize,
) -> Result<Replay, String> {
    let options = RunOptions { trace_last, ..RunOptions::default() };
    vivarium_sim::on_fresh_thread(|| vivarium_sim::replay(scenario, case, &options))
}

/// Returns a scenario's name with its bugs, or with the release that has exactly these.
pub(crate) fn title(scenario: &str, bugs: &[String]) -> String {
    let defects: Option<Bugs> = bugs.iter().map(|name| name.parse::<Bug>().ok()).collect();
    let is_it = |release: &Release| !bugs.is_empty() && Some(release.bugs()) == defects;
    match Release::ALL.into_iter().rfind(is_it) {
        Some(release) => format!("{scenario} with {release}"),
        None if bugs.is_empty() => scenario.to_string(),
        None => format!("{scenario} with {}", bugs.join(", ")),
    }
}

/// Says whether the replay is the recorded run.
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

/// Returns the sentence about skipped steps; empty if none was skipped.
fn skipped(count: usize, first: Option<(u64, Step)>, recorded: &str) -> String {
    first.map_or(String::new(), |(number, step)| {
        format!(
            "{} of the {recorded} recorded steps were not enabled and skipped, first step \
             {number}: {step}\n",
            grouped(count as u64)
        )
    })
}

/// Reports the options of a run and how it ended.
pub(crate) fn report(
    title: &str,
    run: &RunReport,
    case_file: Option<Result<String, String>>,
    commands: Commands,
    timeline_asked: bool,
) -> String {
    if let Some(violation) = &run.violation {
        let title = title.to_string();
        let finding = sweeping::finding(title, run, violation, None, case_file, commands);
        return violation_report(&finding);
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
        text.push_str(&last_steps(
            &run.story,
            &run.trace,
            &BTreeSet::new(),
            None,
            &commands.every_step,
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defects_of_a_release_are_told_by_its_number() {
        let names = |release: Release| -> Vec<String> {
            release.bugs().iter().map(|bug| bug.name().to_string()).collect()
        };
        let mut defects = names(Release::V3_8_4);
        assert_eq!(title("churn", &defects), "churn with 3.8.4");
        assert_eq!(title("churn", &[]), "churn");
        assert_eq!(title("churn", &["3.8.4".to_string()]), "churn with 3.8.4");
        defects.truncate(2);
        assert_eq!(title("churn", &defects), "churn with RefuseNewerZxid, TruncKeepsNewerSnapshot");
    }
}
