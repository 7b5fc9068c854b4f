//! Searches the model for a defect: by a search of servers, or by a sweep of seeds.

use crate::catalogue::{Entry, catalogue};
use crate::exploration::{self, Answer, Exploration};
use crate::harness::Test;
use crate::sweeping::seeds::SeedRange;
use crate::sweeping::{self, How, LAST_STEPS};
use std::fmt;
use std::sync::Arc;
use vivarium_model::release::Bug;
use vivarium_model::verdict::{Verdict, Violation};
use vivarium_reports::numbers::grouped;
use vivarium_reports::timeline::{last_steps, steps, timeline};
use vivarium_sim::every::Silent;
use vivarium_sim::{Fault, HostKind, Scenario};

/// The most distinct states of a search.
const MAX_STATES: u64 = 5_000_000;

/// The number of milestones shown of a test's run: the last ones.
const LAST_TURNS: usize = 12;

/// How to search the model.
#[derive(Clone, Copy, Debug)]
pub enum Search {
    /// A search: `vivarium explore SCENARIO` with the flags of its budget.
    Explored {
        /// The scenario's name.
        scenario: &'static str,
        /// The flags on the command line.
        budget: fn(Exploration) -> Exploration,
    },
    /// A sweep of a scenario of the catalogue: `vivarium run SCENARIO --seeds FROM..TO`.
    Swept {
        /// The scenario's name.
        scenario: &'static str,
        /// The first seed.
        from: u64,
        /// The end of the range, exclusive.
        to: u64,
    },
    /// A sweep of a test as a user could write it. The test itself switches on the defect.
    Tested {
        /// The test.
        test: fn() -> Test,
        /// The most seeds.
        seeds: u64,
    },
}

/// The switch of a defect in the model.
#[derive(Clone, Copy, Debug)]
pub enum Switch {
    /// A defect of the servers.
    Bug(Bug),
    /// A fault: ZooKeeper behaves like this by its rules, when a limit is reached.
    Fault(Fault),
    /// A wrong version of a recipe, which expects more of ZooKeeper than it promises.
    Mutant(&'static str),
}

impl Switch {
    /// Returns the kind of the switch and its name.
    pub fn words(self) -> String {
        let kind = match self {
            Switch::Bug(_) => "defect",
            Switch::Fault(_) => "fault",
            Switch::Mutant(_) => "mutant",
        };
        format!("{kind} {self}")
    }
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Switch::Bug(bug) => f.write_str(bug.name()),
            Switch::Fault(fault) => write!(f, "{fault:?}"),
            Switch::Mutant(name) => f.write_str(name),
        }
    }
}

impl Search {
    /// Describes the search: as a command, if there is one.
    pub fn words(&self, switch: Switch) -> String {
        match self {
            Search::Explored { scenario, budget } => {
                let flags = budget(Exploration::new()).flags();
                format!("`vivarium explore {scenario} {flags} --bug {switch}`")
            }
            Search::Swept { scenario, from, to } => {
                format!("`vivarium run {scenario} --bug {switch} --seeds {from}..{to}`")
            }
            Search::Tested { seeds, .. } => {
                format!("a test of programs, {switch} being on, {seeds} seeds at most")
            }
        }
    }
}

/// The result of a search of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whether a property is violated.
    pub is_violated: bool,
    /// The property and what it saw, or how far the search went.
    pub says: String,
    /// The path to the violation: every step of a search, the milestones of a sweep.
    pub way: String,
}

impl Found {
    fn nothing(says: String) -> Found {
        Found { is_violated: false, says, way: String::new() }
    }

    fn violation(says: String, way: String) -> Found {
        Found { is_violated: true, says, way }
    }
}

/// Searches for a defect.
pub(super) fn search(switch: Switch, search: &Search) -> Result<Found, String> {
    match search {
        Search::Explored { scenario, budget } => {
            let budget = budget(Exploration::new().unbounded().max_states(MAX_STATES));
            explored(&with(scenario, switch)?, switch, &budget)
        }
        Search::Swept { scenario, from, to } => {
            swept(&with(scenario, switch)?, switch, &format!("{from}..{to}"))
        }
        Search::Tested { test, seeds } => tested(test(), *seeds),
    }
}

fn with(name: &str, switch: Switch) -> Result<Scenario, String> {
    let entries = catalogue();
    let entry: Option<&Entry> = entries.iter().find(|entry| entry.name == name);
    let entry = entry.ok_or_else(|| format!("there is no scenario `{name}`"))?;
    let names = [switch.to_string()];
    let switches = entry.switches(&names).map_err(|bug| format!("`{name}` knows no `{bug}`"))?;
    Ok(entry.scenario(&switches))
}

fn tested(test: Test, seeds: u64) -> Result<Found, String> {
    let range = SeedRange::count(seeds).map_err(|error| error.to_string())?;
    match test.run_seeds(&range) {
        Ok(_) => Ok(Found::nothing(format!("nothing, in {} seeds", grouped(seeds)))),
        Err(failure) => match failure.finding() {
            Some(finding) => {
                let Violation { objection, seed, .. } = &finding.violation;
                let seed = seed.map_or(String::new(), |seed| format!("\nby seed {seed}"));
                let turns = &finding.story;
                let way = timeline(&turns[turns.len().saturating_sub(LAST_TURNS)..]);
                Ok(Found::violation(format!("{objection}{seed}"), way))
            }
            None => Err(failure.to_string()),
        },
    }
}

fn explored(scenario: &Scenario, switch: Switch, budget: &Exploration) -> Result<Found, String> {
    let bugs = [switch.to_string()];
    let answer = exploration::answer(scenario, &bugs, budget, Arc::new(Silent));
    let Answer { report, .. } = answer.map_err(|error| error.to_string())?;
    let states = grouped(report.figures.distinct);
    let found = report.finding.as_ref();
    Ok(match (&report.verdict, found.and_then(|found| Some((found, found.way?)))) {
        (Verdict::Violated(violation), Some((found, way))) => {
            let says = format!("{}\nin {way}, among {states} states", violation.objection);
            Found::violation(says, steps(&found.trace))
        }
        (verdict, _) => Found::nothing(format!("{verdict}, {states} states")),
    })
}

fn swept(scenario: &Scenario, switch: Switch, seeds: &str) -> Result<Found, String> {
    let seeds = SeedRange::parse(seeds).map_err(|error| error.to_string())?;
    let jobs = sweeping::all_cores();
    let how = How { jobs, host: HostKind::default(), keep_going: false, last_steps: LAST_STEPS };
    let swept = sweeping::sweep(scenario, &seeds, &how, |_done| ())?;
    let report = swept.report;
    let violating = report.first_violation.as_ref();
    let first = violating.and_then(|run| Some((run, run.violation.as_ref()?)));
    Ok(match first {
        Some((run, violation)) => {
            let says = format!("{}\nby seed {}", violation.objection, run.seed);
            let again = format!(
                "vivarium replay {} --seed {} --bug {switch} --timeline=all",
                scenario.name, run.seed
            );
            let about = &violation.objection.about;
            Found::violation(says, last_steps(&run.story, &run.trace, about, None, &again))
        }
        None => Found::nothing(format!("nothing, in {} seeds", grouped(report.totals.seeds))),
    })
}
