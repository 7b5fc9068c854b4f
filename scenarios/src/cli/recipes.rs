//! `vivarium recipes`, `mutants` and `published`: what is known of each recipe, of its wrong versions, and of
//! the texts that teach it, found out anew.

use super::arguments::TableArguments;
use super::output::emit;
use super::progress::Meter;
use super::{guard, select};
use crate::catalogue::{Entry, Group, Switches};
use crate::exploration::{self, Answer, Exploration};
use crate::sweeping::seeds::SeedRange;
use crate::sweeping::{self, LAST_STEPS};
use std::sync::Arc;
use std::time::{Duration, Instant};
use vivarium_model::property::Measure;
use vivarium_model::verdict::Verdict;
use vivarium_reports::numbers::{grouped, span};
use vivarium_reports::summary::ScenarioReport;
use vivarium_sim::every::Silent;
use vivarium_sim::{Explored, HostKind, Scenario};

/// What a search is asked: so many clients, and what can go wrong.
struct Ask {
    words: &'static str,
    budget: fn(Exploration) -> Exploration,
}

/// In the order in which they are asked: the quickest first.
const ASKS: [Ask; 6] = [
    Ask { words: "2 clients", budget: |two| two },
    Ask { words: "2 clients, 1 lost connection", budget: |two| two.lost(1) },
    Ask { words: "2 clients, 1 expiry", budget: |two| two.expiries(1) },
    Ask { words: "2 clients, 1 cancellation", budget: |two| two.cancels(1).timers(2) },
    Ask { words: "2 clients, 1 killed program", budget: |two| two.kills(1) },
    Ask { words: "3 clients", budget: |two| two.clients(3) },
];

/// What else a search is asked for a violation that none of these shows.
const LONGER_ASKS: [Ask; 2] = [
    Ask { words: "2 clients, 1 lost, 1 cancelled", budget: |two| two.lost(1).cancels(1).timers(2) },
    Ask { words: "2 clients, 1 lost, 1 expiry", budget: |two| two.lost(1).expiries(1) },
];

/// Beyond which a search of a table stops, unless somebody says otherwise.
const MAX_STATES: u64 = 2_000_000;

/// How a table is made.
struct How {
    seeds: SeedRange,
    jobs: usize,
    host: HostKind,
    max_states: u64,
}

impl How {
    fn of(arguments: &TableArguments, seeds: &str) -> Result<How, String> {
        let text = arguments.seeds.as_deref().unwrap_or(seeds);
        let max_states = match arguments.max_states.as_deref().map(|text| text.replace('_', "")) {
            None => MAX_STATES,
            Some(text) => match text.parse::<u64>() {
                Ok(number) if number > 0 => number,
                _ => return Err(format!("`--max-states {text}` is not a number of states")),
            },
        };
        Ok(How {
            seeds: SeedRange::parse(text).map_err(|error| error.to_string())?,
            jobs: select::jobs(arguments.jobs.as_deref())?,
            host: select::host(None)?,
            max_states,
        })
    }
}

/// One line of a table: what was asked, what came of it, and how long that took.
struct Line {
    asked: String,
    says: String,
    took: Duration,
}

/// The entries of a group, or those of these names.
fn chosen<'a>(
    arguments: &TableArguments,
    entries: &'a [Entry],
    group: Group,
) -> Result<Vec<&'a Entry>, String> {
    if arguments.scenarios.is_empty() {
        return Ok(entries.iter().filter(|entry| entry.group == group).collect());
    }
    let of_group = |name: &String| match select::entry(name, entries)? {
        entry if entry.group == group => Ok(entry),
        entry => Err(format!(
            "`{}` belongs to {}: this table is of {}",
            entry.name,
            words(entry.group),
            words(group)
        )),
    };
    arguments.scenarios.iter().map(of_group).collect()
}

fn words(group: Group) -> &'static str {
    match group {
        Group::ZooKeeper => "ZooKeeper itself",
        Group::Recipe => "recipes as they should be",
        Group::Published => "recipes as published",
    }
}

/// Every recipe, swept and searched as it should be. The exit code is the worst verdict's.
pub(super) fn recipes(arguments: &TableArguments, entries: &[Entry]) -> Result<u8, String> {
    let how = How::of(arguments, "5000")?;
    let (mut text, mut verdicts) = (String::new(), Vec::new());
    for entry in chosen(arguments, entries, Group::Recipe)? {
        let scenario = (entry.build)(&Switches::default());
        text.push_str(&format!("{}: {}\n", entry.name, entry.summary));
        let asked = format!("{} seeds", grouped(how.seeds.len()));
        let (report, took) = timed(|| swept(entry, &scenario, &how))?;
        text.push_str(&Line { asked, says: report.verdict.to_string(), took }.text());
        for Measure { name, value } in &report.measured {
            text.push_str(&format!("    {name}: {value}\n"));
        }
        verdicts.push(report.verdict);
        if let Explored::Programs { .. } = scenario.explored {
            for ask in &ASKS {
                let asked = ask.words.to_string();
                let ((verdict, _), took) = timed(|| searched(&scenario, ask, &how))?;
                text.push_str(&Line { asked, says: verdict.to_string(), took }.text());
                verdicts.push(verdict);
            }
        }
    }
    Ok(emit(&text, Verdict::exit_code_of_all(&verdicts)))
}

/// Every mutant of every recipe, looked for by a sweep and by searches. The exit code is 1 if one is not found.
pub(super) fn mutants(arguments: &TableArguments, entries: &[Entry]) -> Result<u8, String> {
    let how = How::of(arguments, "1000")?;
    let (mut text, mut missed) = (String::new(), 0);
    for entry in chosen(arguments, entries, Group::Recipe)? {
        for mutant in &entry.mutants {
            text.push_str(&format!("{} with {}: {}\n", entry.name, mutant.name, mutant.summary));
            let switches = Switches { mutants: vec![mutant.name], ..Switches::default() };
            let scenario = (entry.build)(&switches);
            let (lines, is_found) = hunted(entry, &scenario, &how)?;
            text.extend(lines.iter().map(Line::text));
            missed += u8::from(!is_found);
        }
    }
    match missed {
        0 => text.push_str("every mutant is found\n"),
        _ => text.push_str(&format!("mutants that nothing finds: {missed}\n")),
    }
    Ok(emit(&text, u8::from(missed > 0)))
}

/// Every published text, run as it is written. The exit code is 1 if one shows no violation.
pub(super) fn published(arguments: &TableArguments, entries: &[Entry]) -> Result<u8, String> {
    let how = How::of(arguments, "1000")?;
    let (mut text, mut held) = (String::new(), 0);
    for entry in chosen(arguments, entries, Group::Published)? {
        text.push_str(&format!("{}: {}\n", entry.name, entry.summary));
        let scenario = (entry.build)(&Switches::default());
        let (lines, is_found) = hunted(entry, &scenario, &how)?;
        text.extend(lines.iter().map(Line::text));
        held += u8::from(!is_found);
    }
    Ok(emit(&text, u8::from(held > 0)))
}

/// Looks for a violation, by a sweep and by one search after the other until one finds it.
fn hunted(entry: &Entry, scenario: &Scenario, how: &How) -> Result<(Vec<Line>, bool), String> {
    let mut lines = Vec::new();
    let mut is_found = false;
    let (swept, took) = timed(|| swept(entry, scenario, how))?;
    let seeds = format!("{} seeds", grouped(how.seeds.len()));
    let says = match &swept.verdict {
        Verdict::Violated(violation) => {
            is_found = true;
            match violation.seed {
                Some(seed) => format!("seed {seed}: {}", violation.objection.property),
                None => violation.objection.property.clone(),
            }
        }
        other => other.to_string(),
    };
    lines.push(Line { asked: seeds, says, took });
    if let Explored::Programs { .. } = scenario.explored {
        for ask in ASKS.iter().chain(&LONGER_ASKS) {
            let ((verdict, steps), took) = timed(|| searched(scenario, ask, how))?;
            let Verdict::Violated(violation) = &verdict else { continue };
            is_found = true;
            let says = format!("{steps}: {}", violation.objection.property);
            lines.push(Line { asked: ask.words.to_string(), says, took });
            return Ok((lines, is_found));
        }
        let asked = "2 or 3 clients".to_string();
        lines.push(Line { asked, says: "not found by a search".to_string(), took: Duration::ZERO });
    }
    Ok((lines, is_found))
}

fn swept(entry: &Entry, scenario: &Scenario, how: &How) -> Result<ScenarioReport, String> {
    let meter = Meter::new(entry.name.to_string(), how.seeds.len());
    let sweep =
        sweeping::How { jobs: how.jobs, host: how.host, keep_going: false, last_steps: LAST_STEPS };
    let swept =
        guard::guarded(|| sweeping::sweep(scenario, &how.seeds, &sweep, |done| meter.update(done)));
    meter.finish();
    Ok(sweeping::sweep_report(scenario, &[], &sweep, &how.seeds, &swept??))
}

/// The verdict; and for a violation how many steps lead to it, among how many states.
fn searched(scenario: &Scenario, ask: &Ask, how: &How) -> Result<(Verdict, String), String> {
    let two = Exploration::new().unbounded().clients(2).max_states(how.max_states);
    let exploration = (ask.budget)(two);
    let answer =
        guard::guarded(|| exploration::answer(scenario, &[], &exploration, Arc::new(Silent)))?;
    let Answer { report, .. } = answer.map_err(|error| error.to_string())?;
    let way = report.finding.as_ref().and_then(|finding| finding.way);
    let steps = way.map_or_else(String::new, |way| {
        format!("{} steps, in {} states", way.length, grouped(report.figures.distinct))
    });
    Ok((report.verdict, steps))
}

fn timed<T>(work: impl FnOnce() -> Result<T, String>) -> Result<(T, Duration), String> {
    let begun = Instant::now();
    Ok((work()?, begun.elapsed()))
}

impl Line {
    fn text(&self) -> String {
        format!("  {:<32}{} ({})\n", self.asked, self.says, span(self.took))
    }
}
