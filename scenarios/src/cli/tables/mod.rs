//! `vivarium recipes`, `mutants` and `published`: computes the tables about each recipe, its wrong versions, and the
//! published texts.

mod detection;
mod harm;
mod recipes;

pub(super) use detection::{mutants, published};
pub(super) use recipes::recipes;

use super::arguments::TableArguments;
use super::progress::{Meter, SearchMeter};
use super::{guard, select};
use crate::catalogue::{Entry, Group};
use crate::exploration::{self, Answer, Exploration};
use crate::sweeping::seeds::SeedRange;
use crate::sweeping::{self, LAST_STEPS, Swept};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use vivarium_model::verdict::Verdict;
use vivarium_reports::numbers::{grouped, span};
use vivarium_sim::{HostKind, Scenario};

/// A search: a number of clients and faults.
struct Ask {
    words: &'static str,
    budget: fn(Exploration) -> Exploration,
}

/// The searches in order, the quickest first.
const ASKS: [Ask; 6] = [
    Ask { words: "2 clients", budget: |two| two },
    Ask { words: "2 clients, 1 lost connection", budget: |two| two.lost(1) },
    Ask { words: "2 clients, 1 expiry", budget: |two| two.expiries(1) },
    Ask { words: "2 clients, 1 cancellation", budget: |two| two.cancels(1) },
    Ask { words: "2 clients, 1 killed program", budget: |two| two.kills(1) },
    Ask { words: "3 clients", budget: |two| two.clients(3) },
];

/// The default limit of distinct states for a search of a table.
const MAX_STATES: u64 = 2_000_000;

/// The number of clients with which few searches come to an end.
const MANY: u8 = 3;

/// The options of a table.
struct How {
    seeds: SeedRange,
    jobs: usize,
    host: HostKind,
    max_states: u64,
    /// The limit of states with [`MANY`] clients.
    max_states_of_many: u64,
    max_time: Option<Duration>,
    /// The threads of a search; one per core if `None`.
    threads: Option<NonZeroUsize>,
}

impl How {
    fn of(arguments: &TableArguments, seeds: &str) -> Result<How, String> {
        let text = arguments.seeds.as_deref().unwrap_or(seeds);
        let max_states = match arguments.max_states.as_deref() {
            None => MAX_STATES,
            Some(text) => positive("--max-states", text, "states")?,
        };
        let seconds = arguments.max_time.as_deref();
        Ok(How {
            seeds: SeedRange::parse(text).map_err(|error| error.to_string())?,
            jobs: select::jobs(arguments.jobs.as_deref())?,
            threads: match &arguments.jobs {
                None => None,
                Some(_) => NonZeroUsize::new(select::jobs(arguments.jobs.as_deref())?),
            },
            host: select::host(None)?,
            max_states,
            max_states_of_many: max_states,
            max_time: match seconds {
                None => None,
                Some(text) => {
                    Some(Duration::from_secs(positive("--max-time", text, "seconds")?.min(MOST)))
                }
            },
        })
    }

    fn seeds_in_words(&self) -> String {
        match self.seeds.len() {
            1 => "1 seed".to_string(),
            seeds => format!("{} seeds", grouped(seeds)),
        }
    }
}

/// The longest time that can be given, a hundred years in seconds.
const MOST: u64 = 3_155_760_000;

fn positive(flag: &str, text: &str, unit: &str) -> Result<u64, String> {
    match text.replace('_', "").parse::<u64>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("`{flag} {text}` is not a number of {unit}")),
    }
}

/// One line of a table: what was run, its result, and how long it took.
struct Line {
    asked: String,
    says: String,
    took: Duration,
}

impl Line {
    fn text(&self) -> String {
        format!("  {:<42}{} ({})\n", self.asked, self.says, span(self.took))
    }
}

/// Returns the entries of a group, or those with these names, each once.
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
    let mut chosen: Vec<&Entry> = Vec::new();
    for name in &arguments.scenarios {
        let entry = of_group(name)?;
        if !chosen.iter().any(|already| already.name == entry.name) {
            chosen.push(entry);
        }
    }
    Ok(chosen)
}

fn words(group: Group) -> &'static str {
    match group {
        Group::ZooKeeper => "ZooKeeper itself",
        Group::Recipe => "recipes as they should be",
        Group::Published => "recipes as published",
    }
}

/// Sweeps with a meter that has this title.
fn swept(
    title: String,
    scenario: &Scenario,
    how: &How,
    keep_going: bool,
) -> Result<(Swept, sweeping::How), String> {
    let meter = Meter::new(title, how.seeds.len());
    let sweep =
        sweeping::How { jobs: how.jobs, host: how.host, keep_going, last_steps: LAST_STEPS };
    let swept =
        guard::guarded(|| sweeping::sweep(scenario, &how.seeds, &sweep, |done| meter.update(done)));
    meter.finish();
    Ok((swept??, sweep))
}

/// Returns the verdict; for a violation, also the number of steps to it and of states.
fn searched(scenario: &Scenario, ask: &Ask, how: &How) -> Result<(Verdict, String), String> {
    let two = Exploration::new().unbounded().clients(2);
    let two = how.max_time.into_iter().fold(two, Exploration::max_time);
    let two = how.threads.into_iter().fold(two, Exploration::threads);
    let asked = (ask.budget)(two);
    let is_many = asked.clients == Some(MANY);
    let most = if is_many { how.max_states_of_many } else { how.max_states };
    let exploration = asked.max_states(most);
    let meter = Arc::new(SearchMeter::new(format!("{}, {}", scenario.name, ask.words)));
    let observer = Arc::clone(&meter);
    let answer = guard::guarded(|| exploration::answer(scenario, &[], &exploration, observer));
    meter.finish();
    let Answer { report, .. } = answer?.map_err(|error| error.to_string())?;
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
