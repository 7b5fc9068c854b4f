//! The cases in `cases/`: those of a scenario are replayed before its seeds run.

use super::commands::program;
use super::minimise;
use super::select::Selected;
use crate::exploration;
use crate::replaying::regressions::{Became, became, cases_in};
use crate::replaying::{self, Told};
use crate::sweeping::Commands;
use std::path::Path;
use vivarium_model::case::Case;

/// What the replays of a scenario's cases say, in sentences and reports.
#[derive(Default)]
pub(super) struct Replays {
    pub(super) text: String,
    /// How many cases violate a property.
    pub(super) violating: usize,
}

/// Replays the cases in this folder that are of this scenario with these bugs.
pub(super) fn replays(folder: &Path, selected: &Selected<'_>, bugs: &[String]) -> Replays {
    let mut replays = Replays::default();
    for (path, case) in cases_in(folder, selected.entry.name) {
        if minimise::beside(&path).exists() {
            continue;
        }
        let case = match case {
            Ok(case) if case.scenario == selected.entry.name && case.bugs == bugs => case,
            // Of another scenario whose name begins likewise, or of other bugs, or no case.
            _ => continue,
        };
        match replayed(selected, &path, &case) {
            Ok(Became::Holds(sentence)) => replays.text.push_str(&(sentence + "\n")),
            Ok(Became::Violates(report)) => {
                replays.violating += 1;
                // The command in it shows the rest.
                let head = report.split("\n\n").next().unwrap_or_default();
                let file = path.display();
                replays.text.push_str(&format!("regression {file}:\n{head}\n\n"));
            }
            Err(why) => {
                let file = path.display();
                replays.text.push_str(&format!("regression {file}: cannot be replayed: {why}\n"));
            }
        }
    }
    replays
}

fn replayed(selected: &Selected<'_>, path: &Path, case: &Case) -> Result<Became, String> {
    let file = path.display().to_string();
    let replay = format!("{} replay {file}", program());
    let commands = Commands { every_step: format!("{replay} --timeline=all"), replay };
    let told: Told = match exploration::replay(&selected.scenario, case)? {
        Some(replayed) => {
            replaying::explored::told(&file, case, &replayed, Some(usize::MAX), &commands)
        }
        None => replaying::swept(&selected.scenario, case, &file, None, commands)?,
    };
    Ok(became(path, case, told))
}
