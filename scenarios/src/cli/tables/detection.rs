//! `vivarium mutants` and `vivarium published`: checks that wrong versions are found.

use super::{ASKS, Ask, How, Line, chosen, searched, swept, timed};
use crate::catalogue::{Entry, Group, Switches};
use crate::cli::arguments::TableArguments;
use crate::cli::output::emit;
use std::time::Duration;
use vivarium_model::verdict::Verdict;
use vivarium_reports::numbers::grouped;
use vivarium_sim::{Explored, Scenario};

/// Further searches for a violation that none of [`ASKS`] finds.
const LONGER_ASKS: [Ask; 2] = [
    Ask { words: "2 clients, 1 lost, 1 cancelled", budget: |two| two.lost(1).cancels(1) },
    Ask { words: "2 clients, 1 lost, 1 expiry", budget: |two| two.lost(1).expiries(1) },
];

/// Looks for every mutant of every recipe by a sweep and by searches. The exit code is 1 if one is not found.
pub(in crate::cli) fn mutants(arguments: &TableArguments, entries: &[Entry]) -> Result<u8, String> {
    let how = How::of(arguments, "2500")?;
    let (mut all, mut missed) = (0, Vec::new());
    for entry in chosen(arguments, entries, Group::Recipe)? {
        for mutant in &entry.mutants {
            let title = format!("{} with {}", entry.name, mutant.name);
            emit(&format!("{title}: {}\n", mutant.summary), 0);
            let switches = Switches { mutants: vec![mutant.name], ..Switches::default() };
            let is_found = is_found(title.clone(), &(entry.build)(&switches), &how)?;
            if !is_found {
                missed.push(title);
            }
            all += 1;
        }
    }
    let found = all - missed.len();
    let text = format!("{} of {} mutants are found\n", grouped(found as u64), grouped(all as u64));
    let missed: String = missed.iter().map(|title| format!("not found: {title}\n")).collect();
    Ok(emit(&format!("\n{text}{missed}"), u8::from(!missed.is_empty())))
}

/// Runs every published text as written. The exit code is 1 if one shows no violation.
pub(in crate::cli) fn published(
    arguments: &TableArguments,
    entries: &[Entry],
) -> Result<u8, String> {
    let how = How::of(arguments, "1000")?;
    let mut held = 0;
    for entry in chosen(arguments, entries, Group::Published)? {
        emit(&format!("{}: {}\n", entry.name, entry.summary), 0);
        let scenario = (entry.build)(&Switches::default());
        held += u8::from(!is_found(entry.name.to_string(), &scenario, &how)?);
    }
    Ok(u8::from(held > 0))
}

/// Looks for a violation by a sweep and by searches, one after the other until one finds it; reports each find.
fn is_found(title: String, scenario: &Scenario, how: &How) -> Result<bool, String> {
    let (found, took) = timed(|| first_seed(title, scenario, how))?;
    let says = found.clone().unwrap_or_else(|| "not found".to_string());
    emit(&Line { asked: how.seeds_in_words(), says, took }.text(), 0);
    let Explored::Programs { .. } = scenario.explored else { return Ok(found.is_some()) };
    let mut spent = Duration::ZERO;
    for ask in ASKS.iter().chain(&LONGER_ASKS) {
        let ((verdict, steps), took) = timed(|| searched(scenario, ask, how))?;
        if let Verdict::Violated(violation) = &verdict {
            let says = format!("{steps}: {}", violation.objection.property);
            emit(&Line { asked: ask.words.to_string(), says, took }.text(), 0);
            return Ok(true);
        }
        spent += took;
    }
    let asked = "2 or 3 clients".to_string();
    emit(&Line { asked, says: "not found by a search".to_string(), took: spent }.text(), 0);
    Ok(found.is_some())
}

/// Returns the first seed with a violation, and its property.
fn first_seed(title: String, scenario: &Scenario, how: &How) -> Result<Option<String>, String> {
    let (swept, _) = swept(title, scenario, how, false)?;
    let first = swept.report.totals.violating.first_key_value();
    Ok(first.map(|(seed, property)| format!("seed {seed}: {property}")))
}
