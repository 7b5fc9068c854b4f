//! Reports a replayed case that was not drawn from a seed: of a search at either grain, or of clients outside of the
//! run.

use super::{INCONCLUSIVE, Told, skipped, title};
use crate::sweeping::Commands;
use std::fmt::Write as _;
use vivarium_model::case::Case;
use vivarium_reports::numbers::grouped;
use vivarium_reports::timeline::steps;
use vivarium_sim::steps::Replayed;

/// Reports the replay of a case. `last` selects how many of the last steps are shown; `None` shows none.
pub(crate) fn told(
    file: &str,
    case: &Case,
    replayed: &Replayed,
    last: Option<usize>,
    commands: &Commands,
) -> Told {
    let code = match (&replayed.objection, replayed.is_run_of(case)) {
        (Some(_), _) => 1,
        (None, true) => 0,
        (None, false) => INCONCLUSIVE,
    };
    let skipped = replayed.skipped.len();
    Told { text: report(file, case, replayed, last, commands), code, skipped, by_old_times: None }
}

fn report(
    file: &str,
    case: &Case,
    replayed: &Replayed,
    last: Option<usize>,
    commands: &Commands,
) -> String {
    let Replayed { taken, lines, skipped: skips, hash, objection } = replayed;
    let title = title(&case.scenario, &case.bugs);
    let mut text = String::new();
    match objection {
        Some(objection) => {
            let _ = writeln!(text, "VIOLATED: {title}");
            let _ = writeln!(text, "  property   {}", objection.property);
            let _ = writeln!(text, "  saw        {}", objection.saw);
        }
        None => {
            let _ = writeln!(text, "HELD: {title}");
        }
    }
    let _ = writeln!(text, "  way        {} steps, over the {} grain", taken.len(), case.grain);
    let _ = writeln!(text, "  hash       {hash}");
    let _ = writeln!(text, "  case file  {file}");
    let _ = writeln!(text, "  replay     {}", commands.every_step);
    if let Some(last) = last {
        let from = lines.len().saturating_sub(last);
        let which = if from == 0 {
            "Step by step".to_string()
        } else {
            format!("The last {} steps", lines.len() - from)
        };
        let _ = write!(text, "\n{which}:\n{}", steps(&lines[from..]));
    }
    let recorded = grouped(case.steps.len() as u64);
    let first = skips.first().copied();
    let _ = write!(text, "\n{}", skipped(skips.len(), first, &recorded));
    text.push_str(&comparison(case, replayed, &recorded));
    text
}

/// Says whether the replay is the recorded run and ends like it.
fn comparison(case: &Case, replayed: &Replayed, recorded: &str) -> String {
    let Replayed { hash, objection, .. } = replayed;
    let mut text = if replayed.is_run_of(case) {
        format!("The replay of {recorded} steps gave the recorded run: hash {hash}\n")
    } else {
        format!(
            "The replay is NOT the recorded run: hash {hash}, recorded {}; this build of Vivarium \
             or of the programs differs from the one that recorded it\n",
            case.hash
        )
    };
    let said = match (&case.violation, objection) {
        (Some(recorded), Some(seen)) if recorded.is_repeated_by(seen) => {
            "The recorded violation occurred again.\n".to_string()
        }
        (Some(recorded), Some(_)) => {
            format!("The recorded violation was a different one: {recorded}\n")
        }
        (Some(recorded), None) => format!("The recorded violation did not occur: {recorded}\n"),
        (None, Some(_)) => "The recorded run violated nothing.\n".to_string(),
        (None, None) => String::new(),
    };
    text.push_str(&said);
    text
}
