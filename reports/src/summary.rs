//! The data of a report: what was run, what happened in it, and the verdict.

use crate::determinism::Difference;
use crate::numbers::grouped;
use std::fmt;
use std::time::Duration;
use vivarium_model::config::Config;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::ClientId;
use vivarium_model::property::Measure;
use vivarium_model::time::Time;
use vivarium_model::trace::TraceLine;
use vivarium_model::verdict::{Verdict, Violation};
use vivarium_model::words::plural;

/// How often something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// What, as a reader should see it.
    pub name: String,
    /// How often, over all runs.
    pub count: u64,
}

impl Count {
    /// A count.
    pub fn new(name: impl Into<String>, count: u64) -> Count {
        Count { name: name.into(), count }
    }

    /// Counts from pairs, in their order.
    pub fn list<N: Into<String>>(pairs: impl IntoIterator<Item = (N, u64)>) -> Vec<Count> {
        pairs.into_iter().map(|(name, count)| Count::new(name, count)).collect()
    }
}

/// The report on one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioReport {
    /// The scenario's name.
    pub scenario: String,
    /// Names of the bugs and mutants that were switched on.
    pub bugs: Vec<String>,
    /// The host that ran the programs, in its command line name.
    pub host: String,
    /// Seeds that ran to their end.
    pub seeds: u64,
    /// The first seed of the range.
    pub first_seed: u64,
    /// Steps over all runs.
    pub steps: u64,
    /// Virtual time over all runs.
    pub simulated: Duration,
    /// Real time that the sweep took.
    pub wall: Duration,
    /// The sum of the runs' hashes: two sweeps with the same one saw the same runs, whatever the
    /// host, the number of jobs and the build profile.
    pub hash: Fingerprint,
    /// Faults by kind: every kind that the scenario injects, also those that never struck.
    pub faults: Vec<Count>,
    /// Marks: every one that the scenario must reach, also those that no run reached.
    pub marks: Vec<Count>,
    /// Observations that programs made, by name.
    pub observed: Vec<Count>,
    /// What monitors measured.
    pub measured: Vec<Measure>,
    /// How many runs ended with a violation.
    pub violations: u64,
    /// Whether the sweep went on after its first violation, so that `violations` counts all seeds'.
    pub kept_going: bool,
    /// The outcome.
    pub verdict: Verdict,
    /// The first violation, in full.
    pub finding: Option<Finding>,
}

impl ScenarioReport {
    /// The scenario's name with the bugs that were switched on: `lock with NoGuid`.
    pub fn title(&self) -> String {
        if self.bugs.is_empty() {
            return self.scenario.clone();
        }
        format!("{} with {}", self.scenario, self.bugs.join(", "))
    }

    /// The title and, where a sweep went on to count its violations, the rate:
    /// `lock with NoGuid (37 of 2,000 seeds, first 15)`.
    pub fn title_with_rate(&self) -> String {
        match self.rate() {
            Some(rate) => format!("{} ({rate})", self.title()),
            None => self.title(),
        }
    }

    /// How many seeds violated, and the first: `37 of 2,000 seeds, first 15`. `None` where nothing
    /// was violated or the sweep stopped at the first.
    pub fn rate(&self) -> Option<String> {
        let first = self.verdict.violation().filter(|_| self.kept_going)?.seed?;
        let (violations, seeds) = (grouped(self.violations), grouped(self.seeds));
        Some(format!("{violations} of {seeds} seeds, first {first}"))
    }

    /// Faults of all kinds together.
    pub fn fault_total(&self) -> u64 {
        self.faults.iter().map(|fault| fault.count).sum()
    }

    /// How many marks were reached at least once.
    pub fn marks_reached(&self) -> usize {
        self.marks.iter().filter(|mark| mark.count > 0).count()
    }
}

/// A violation with all that is needed to understand it and to see it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The scenario's name, with bugs: [`ScenarioReport::title`].
    pub scenario: String,
    /// What was violated, by which seed and where.
    pub violation: Violation,
    /// The options and the fault plan that the seed stands for, as printable lines.
    pub options: String,
    /// The configuration of the ensemble and its clients.
    pub config: Config,
    /// Where the case was written, or the sentence that says why it could not be; `None` where
    /// none was to be written.
    pub case_file: Option<Result<String, String>>,
    /// The one command that replays the run.
    pub replay: String,
    /// The command that shows every step of it.
    pub every_step: String,
    /// The run's turns ([`vivarium_model::event::Event::is_milestone`]), up to its end.
    pub story: Vec<TraceLine>,
    /// The last steps; all of them if a search found the way.
    pub trace: Vec<TraceLine>,
    /// For the way that a search found: how short it is.
    pub way: Option<Way>,
    /// Where the same seed, once more, gave another run: how the two differ.
    pub unrepeated: Option<Difference>,
    /// If programs never finished: where the last of them stopped. The steps are those around it then.
    pub stopped: Option<Stopped>,
    /// What came of the search for a shorter way to the same violation.
    pub shorter: Option<Shorter>,
    /// If it is a panic of a program or a property, where in the source it was, where that is known.
    pub panicked_at: Option<String>,
}

/// What came of the search for a shorter way to what a sweep has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shorter {
    /// The way that it found.
    Found(Box<Finding>),
    /// It found none: why, in one sentence.
    No(String),
}

/// The last thing that a program did or heard which never finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Whose program.
    pub client: ClientId,
    /// When it was.
    pub at: Time,
    /// The number of the step.
    pub step: u64,
}

/// A way to a violation that a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Steps of the world, from before anything has happened.
    pub length: usize,
    /// How many steps of what the search found were left out, because nothing depends on them.
    pub left_out: usize,
    /// Whether it is proven that no way is shorter.
    pub proven: bool,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plural(self.length, "step"))?;
        match self.proven {
            true => f.write_str(", and no way is shorter"),
            false => f.write_str("; there may be a shorter way"),
        }
    }
}
