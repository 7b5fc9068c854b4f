//! The data of a report: what was run, what happened, and the verdict.

use crate::determinism::Difference;
use crate::numbers::grouped;
use crate::script::{Sentence, script};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use vivarium_model::config::Config;
use vivarium_model::extent::Extent;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::ClientId;
use vivarium_model::property::Measure;
use vivarium_model::time::Time;
use vivarium_model::trace::TraceLine;
use vivarium_model::verdict::{Verdict, Violation};
use vivarium_model::words::plural;

/// The number of times that something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// The name for readers.
    pub name: String,
    /// The number, over all runs.
    pub count: u64,
}

impl Count {
    /// Returns a count.
    pub fn new(name: impl Into<String>, count: u64) -> Count {
        Count { name: name.into(), count }
    }

    /// Returns counts from pairs, in their order.
    pub fn list<N: Into<String>>(pairs: impl IntoIterator<Item = (N, u64)>) -> Vec<Count> {
        pairs.into_iter().map(|(name, count)| Count::new(name, count)).collect()
    }
}

/// The report of one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioReport {
    /// The scenario's name.
    pub scenario: String,
    /// Names of the enabled bugs and mutants.
    pub bugs: Vec<String>,
    /// The host that ran the programs, by its name on the command line.
    pub host: String,
    /// Number of seeds that ran to their end.
    pub seeds: u64,
    /// The first seed of the range.
    pub first_seed: u64,
    /// Number of seeds in the range. More than `seeds` if a violation or an error ended the sweep.
    pub asked: u64,
    /// Steps over all runs.
    pub steps: u64,
    /// Virtual time over all runs.
    pub simulated: Duration,
    /// Real time of the sweep.
    pub wall: Duration,
    /// The sum of the runs' hashes: sweeps with equal sums had the same runs, whatever the host, the number of jobs
    /// and the build profile.
    pub hash: Fingerprint,
    /// Counts of every kind of fault that the scenario injects, including zeros.
    pub faults: Vec<Count>,
    /// Counts of every mark that the scenario must reach, including zeros.
    pub marks: Vec<Count>,
    /// Number of requests that programs made.
    pub requests: u64,
    /// Counts of the observations that programs made, sorted by name.
    pub observed: Vec<Count>,
    /// Names of the observations that the properties are about, sorted.
    pub looks_for: Vec<String>,
    /// The monitors' measurements.
    pub measured: Vec<Measure>,
    /// Number of runs that ended with a violation.
    pub violations: u64,
    /// Whether the sweep continued after its first violation, so that `violations` covers all seeds.
    pub kept_going: bool,
    /// Whether a sweep of the whole range is long enough to reach all marks: a scenario of the catalogue with its own
    /// number of seeds.
    pub demands_marks: bool,
    /// The shard that this sweep was, if its range is a part of a larger one.
    pub shard: Option<Shard>,
    /// For a report that was merged from others: their number, and what its counts leave out.
    pub merged: Option<Merged>,
    /// The outcome.
    pub verdict: Verdict,
    /// The first violation, in full.
    pub finding: Option<Finding>,
}

/// One of several parts into which a range of seeds was divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// The part's number, from 1.
    pub index: u64,
    /// The number of parts.
    pub count: u64,
    /// The first seed of the whole range.
    pub first_seed: u64,
    /// The number of seeds in the whole range.
    pub seeds: u64,
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {} of {}", self.index, self.count)
    }
}

/// What a merged report was made from, and what its counts leave out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    /// Number of reports.
    pub reports: u64,
    /// Number of seeds that ran although an earlier shard had found a violation. A single sweep would have stopped at
    /// that violation, so these seeds are in no count.
    pub uncounted_seeds: u64,
    /// Number of runs among them that ended with a violation.
    pub uncounted_violations: u64,
    /// One sentence for each report whose sweep ended with an error, if another report has a violation.
    pub failed: Vec<String>,
}

impl ScenarioReport {
    /// Returns the scenario's name with the enabled bugs: `lock with NoGuid`.
    pub fn title(&self) -> String {
        if self.bugs.is_empty() {
            return self.scenario.clone();
        }
        format!("{} with {}", self.scenario, self.bugs.join(", "))
    }

    /// Returns the title and, if the sweep counted violations, their rate: `lock with NoGuid (37 of 2,000 seeds,
    /// first 15)`.
    pub fn title_with_rate(&self) -> String {
        match self.rate() {
            Some(rate) => format!("{} ({rate})", self.title()),
            None => self.title(),
        }
    }

    /// Returns the number of seeds with a violation, and the first: `37 of 2,000 seeds, first 15`. `None` if there
    /// was no violation, or if the sweep stopped at the first.
    pub fn rate(&self) -> Option<String> {
        let first = self.verdict.violation().filter(|_| self.kept_going)?.seed?;
        let (violations, seeds) = (grouped(self.violations), grouped(self.seeds));
        Some(format!("{violations} of {seeds} seeds, first {first}"))
    }

    /// Returns the number of faults of all kinds.
    pub fn fault_total(&self) -> u64 {
        self.faults.iter().map(|fault| fault.count).fold(0, u64::saturating_add)
    }

    /// Returns the number of marks that were reached at least once.
    pub(crate) fn marks_reached(&self) -> usize {
        self.marks.iter().filter(|mark| mark.count > 0).count()
    }
}

/// A violation, with everything needed to understand and reproduce it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The scenario's name with its bugs: [`ScenarioReport::title`].
    pub scenario: String,
    /// The violated property, with the seed and the step.
    pub violation: Violation,
    /// The options and the fault plan of the seed, as printable lines.
    pub options: String,
    /// The configuration of the ensemble and its clients.
    pub config: Config,
    /// The path of the case file, or a sentence that says why it could not be written; `None` if none was requested.
    pub case_file: Option<Result<String, String>>,
    /// The command that replays the run.
    pub replay: String,
    /// The command that shows every step of the run.
    pub every_step: String,
    /// The run's milestones ([`vivarium_model::event::Event::is_milestone`]), up to its end.
    pub story: Vec<TraceLine>,
    /// The last steps; for a search, all steps.
    pub trace: Vec<TraceLine>,
    /// For a violation found by a search, the length of its path.
    pub way: Option<Way>,
    /// If repeating the seed gave a different run, the difference.
    pub unrepeated: Option<Difference>,
    /// If a program did not finish, the point where the last one stopped; `trace` then has the steps around it.
    pub stopped: Option<Stopped>,
    /// The result of the search for a smaller run with the same violation.
    pub shorter: Option<Shorter>,
    /// The distinct violations of a sweep that went on after its first one; `None` if it did not, or found no other.
    pub distinct: Option<Distinct>,
    /// The path of the case that was kept as a regression, or a sentence that says why it could not be written; `None` if
    /// none was to be kept.
    pub regression: Option<Result<String, String>>,
    /// For a panic of a program or a property, its source location if known.
    pub panicked_at: Option<String>,
    /// For a violation that was read from a JSON report, its texts. They stand for `story`, `trace`, `unrepeated`,
    /// `stopped` and `shorter`, which are empty.
    pub as_read: Option<AsRead>,
}

/// The texts of a violation that was read from a JSON report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsRead {
    /// The JSON object of the violation, unchanged.
    pub document: String,
    /// The violation's report without its first line, which names the scenario.
    pub report: String,
    /// The run's milestones, one line each.
    pub story: Vec<String>,
}

/// The result of the search for a smaller run with a violation that a sweep has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shorter {
    /// The smaller run.
    Found(Box<Minimal>),
    /// No smaller run was found; the text gives the reason in one sentence.
    No(String),
}

/// The distinct violations of a sweep. Two violating runs are one if their minimised runs violate the same property in
/// the same way with the same kinds of faults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Distinct {
    /// The number of violating runs.
    pub violating: u64,
    /// How many of them were minimised, in the order of their seeds, before time was up.
    pub minimised: u64,
    /// The distinct violations, the most frequent first.
    pub kinds: Vec<DistinctViolation>,
}

/// A violation that several runs have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DistinctViolation {
    /// The violated property.
    pub property: String,
    /// What the monitor saw in the smallest of these runs.
    pub saw: String,
    /// The seeds of the runs.
    pub seeds: Vec<u64>,
    /// The number of steps of the smallest of these runs.
    pub steps: u64,
    /// The command that replays the smallest.
    pub replay: String,
}

/// The smallest run that was found to violate the same property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimal {
    /// Its violation, with all its steps.
    pub finding: Finding,
    /// The size of the run as it was found.
    pub before: Extent,
    /// The size of the smaller run.
    pub after: Extent,
    /// Real time of the minimisation.
    pub took: Duration,
    /// What was not tried, as a sentence.
    pub incomplete: Option<String>,
}

impl Minimal {
    /// Returns the run as numbered sentences.
    pub fn script(&self) -> Vec<Sentence> {
        script(&self.finding.trace)
    }
}

/// The last step of a program that never finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The program's client.
    pub client: ClientId,
    /// The time of the step.
    pub at: Time,
    /// The number of the step.
    pub step: u64,
}

/// A path to a violation that a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Number of steps of the world, from its initial state.
    pub length: usize,
    /// Number of steps of the original path that were left out, because the violation does not depend on them.
    pub left_out: usize,
    /// Whether it is proven that no path is shorter.
    pub proven: bool,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plural(self.length, "step"))?;
        match self.proven {
            true => f.write_str(", and no shorter violation exists"),
            false => f.write_str("; a shorter violation may exist"),
        }
    }
}
