//! `vivarium recipes`: sweeps and searches every recipe.

use super::{ASKS, Ask, How, Line, chosen, harm, positive, searched, swept, timed};
use crate::catalogue::{Entry, Group, Switches};
use crate::cli::arguments::RecipesArguments;
use crate::cli::output::emit;
use crate::cli::select;
use crate::sweeping;
use std::fs;
use std::path::Path;
use std::time::Duration;
use vivarium_model::property::{Measure, Measured};
use vivarium_model::release::Release;
use vivarium_model::verdict::Verdict;
use vivarium_reports::numbers::grouped;
use vivarium_reports::table::{WIDTH, of_rows};
use vivarium_sim::Explored;

/// Searches with two faults for three clients.
const TWO_FAULTS: [Ask; 2] = [
    Ask {
        words: "3 clients, 1 lost connection, 1 expiry",
        budget: |two| two.clients(3).lost(1).expiries(1),
    },
    Ask {
        words: "3 clients, 1 lost connection, 1 kill",
        budget: |two| two.clients(3).lost(1).kills(1),
    },
];

/// The results of one recipe.
struct Shown {
    name: &'static str,
    lines: Vec<(Line, Verdict)>,
    measured: Vec<Measure>,
}

/// Sweeps and searches every correct recipe, or, with a release's defects, reports their harm. The exit code is that of
/// the worst verdict.
pub(in crate::cli) fn recipes(
    arguments: &RecipesArguments,
    entries: &[Entry],
) -> Result<u8, String> {
    let mut how = How::of(&arguments.table, "5000")?;
    if let Some(text) = &arguments.max_states_of_three {
        how.max_states_of_many = positive("--max-states-of-three", text, "states")?;
    }
    let chosen = chosen(&arguments.table, entries, Group::Recipe)?;
    match select::release(arguments.release.as_deref())? {
        Release::Repaired => {}
        release => {
            if let Some(flag) = flag_of_searches(arguments) {
                return Err(format!("`--release` asks for sweeps alone: leave out `{flag}`"));
            }
            return harm::harm(release, &chosen, &how);
        }
    }
    if let Some(directory) = arguments.write.as_ref().filter(|directory| !directory.is_dir()) {
        return Err(format!("`{}` is no directory: make it first", directory.display()));
    }
    let mut all = Vec::new();
    for entry in chosen {
        emit(&format!("{}: {}\n", entry.name, entry.summary), 0);
        let shown = shown(entry, &how)?;
        if let Some(directory) = &arguments.write {
            let path = directory.join(format!("{}.md", entry.name));
            write(&path, &shown.page())?;
        }
        all.push(shown);
    }
    let verdicts = all.iter().flat_map(|shown| shown.lines.iter().map(|(_, verdict)| verdict));
    let code = Verdict::exit_code_of_all(verdicts);
    Ok(emit(&format!("\n{}\n", overview(&all)), code))
}

/// Returns the first flag that concerns searches or their results.
fn flag_of_searches(arguments: &RecipesArguments) -> Option<&'static str> {
    let RecipesArguments { table, write, max_states_of_three, .. } = arguments;
    let said = [
        ("--write", write.is_some()),
        ("--max-states", table.max_states.is_some()),
        ("--max-states-of-three", max_states_of_three.is_some()),
        ("--max-time", table.max_time.is_some()),
    ];
    said.into_iter().find_map(|(flag, is_said)| is_said.then_some(flag))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text)
        .map_err(|error| format!("`{}` cannot be written: {error}", path.display()))
}

/// Runs all checks of a recipe, and prints each result as it comes.
fn shown(entry: &Entry, how: &How) -> Result<Shown, String> {
    let scenario = (entry.build)(&Switches::default());
    let mut lines = Vec::new();
    let mut say = |asked: &str, verdict: Verdict, took: Duration| {
        let line = Line { asked: asked.to_string(), says: verdict.to_string(), took };
        emit(&line.text(), 0);
        lines.push((line, verdict));
    };
    let ((swept, sweep), took) = timed(|| swept(entry.name.to_string(), &scenario, how, false))?;
    let report = sweeping::sweep_report(&scenario, &[], &sweep, &how.seeds, &swept);
    say(&how.seeds_in_words(), report.verdict, took);
    for Measure { name, value } in &report.measured {
        emit(&format!("    {name}: {value}\n"), 0);
    }
    if let Explored::Programs { .. } = scenario.explored {
        for ask in ASKS.iter().chain(&TWO_FAULTS) {
            let ((verdict, _), took) = timed(|| searched(&scenario, ask, how))?;
            say(ask.words, verdict, took);
        }
    }
    Ok(Shown { name: entry.name, lines, measured: report.measured })
}

impl Shown {
    /// Returns the page for the recipe's documentation, without anything that differs between machines.
    fn page(&self) -> String {
        let row = |(line, verdict): &(Line, Verdict)| {
            let came = match verdict {
                Verdict::Held { unreached, .. } if unreached.is_empty() => {
                    "held, with every fault".to_string()
                }
                Verdict::Exhausted { states, .. } => {
                    format!("held in all {} states", grouped(*states))
                }
                // The exact end of a bounded search depends on its threads.
                Verdict::Bounded { by, .. } => format!("held until it was stopped by {by}"),
                other => other.to_string(),
            };
            format!("| {} | {came} |\n", line.asked)
        };
        let rows: String = self.lines.iter().map(row).collect();
        let measured = match (self.most(MAY_WAKE), self.most(WOKEN)) {
            (Some(may), Some(woken)) => {
                format!("\nOne change may wake {may} other clients; {woken} were woken at most.\n")
            }
            (None, Some(woken)) => {
                format!("\nOne change may wake every waiting client; {woken} were woken at most.\n")
            }
            _ => String::new(),
        };
        format!("| Scenario `{}` | |\n|---|---|\n{rows}{measured}", self.name)
    }

    fn most(&self, name: &str) -> Option<u64> {
        self.measured.iter().find_map(|measure| match measure.value {
            Measured::Most(value) if measure.name == name => Some(value),
            _ => None,
        })
    }
}

/// The names that [`vivarium_recipes::herd::Herd`] uses.
const WOKEN: &str = "clients woken by one change";
const MAY_WAKE: &str = "clients that one change may wake";

fn overview(all: &[Shown]) -> String {
    let header = ["recipe", "sweep", "searches", "most states", "may wake", "woken"];
    let row = |shown: &Shown| {
        let most = |name| shown.most(name).map_or_else(|| "-".to_string(), |most| most.to_string());
        let verdicts = || shown.lines.iter().map(|(_, verdict)| verdict);
        let sweep = verdicts().next().map_or_else(String::new, ToString::to_string);
        let to_the_end =
            verdicts().filter(|verdict| matches!(verdict, Verdict::Exhausted { .. })).count();
        let states = verdicts().filter_map(|verdict| match verdict {
            Verdict::Exhausted { states, .. } | Verdict::Bounded { states, .. } => Some(*states),
            _ => None,
        });
        let searches = shown.lines.len() - 1;
        let violated = verdicts().skip(1).filter(|verdict| verdict.violation().is_some()).count();
        let searched = match violated {
            0 => format!("{to_the_end} of {searches} to the end"),
            _ => format!("{violated} of {searches} VIOLATED"),
        };
        [
            shown.name.to_string(),
            sweep,
            searched,
            grouped(states.max().unwrap_or_default()),
            most(MAY_WAKE),
            most(WOKEN),
        ]
    };
    of_rows(header, all.iter().map(row), 3, WIDTH)
}
