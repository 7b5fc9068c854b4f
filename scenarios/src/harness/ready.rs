//! A test that is ready to run: its checked scenario, and its results.

#[cfg(feature = "explore")]
use crate::exploration::{self, Answer, Exploration, ExploreError};
use crate::harness::environment::{self, Again, Environment, cargo_test};
use crate::minimising::{self, Smallest};
use crate::replaying;
use crate::sweeping::Commands;
use crate::sweeping::seeds::SeedRange;
use crate::sweeping::shard::Shard;
use crate::sweeping::{self, LAST_STEPS, Swept, vacuity};
use std::fmt;
use std::path::PathBuf;
#[cfg(feature = "explore")]
use std::sync::Arc;
use std::time::Duration;
use vivarium_model::case::GrainKind;
use vivarium_model::verdict::Violation;
#[cfg(feature = "explore")]
use vivarium_reports::exploration::ExplorationReport;
use vivarium_reports::summary::{Finding, Minimal, ScenarioReport, Shorter};
use vivarium_reports::violation::violation_report;
#[cfg(feature = "explore")]
use vivarium_sim::every::Silent;
#[cfg(feature = "explore")]
use vivarium_sim::scenario::script::Script;
use vivarium_sim::{HostKind, RunReport, Scenario};

/// A test whose options are valid.
pub(crate) struct Ready {
    pub(crate) scenario: Scenario,
    pub(crate) host: HostKind,
    pub(crate) must_see: Vec<String>,
    /// How long a violating run is minimised; not at all if this is zero.
    pub(crate) minimises_for: Duration,
}

/// The seeds to run, and how.
pub(crate) struct ToRun {
    seeds: SeedRange,
    /// The part of the seeds; `None` for all.
    shard: Option<Shard>,
    /// How many of a violating run's last steps to show.
    last_steps: usize,
    /// The folder for the JSON report; `None` for no report.
    reports: Option<PathBuf>,
}

impl ToRun {
    /// Returns that all of these seeds are to be run, with the defaults.
    pub(crate) fn all(seeds: SeedRange) -> ToRun {
        ToRun { seeds, shard: None, last_steps: LAST_STEPS, reports: None }
    }
}

impl Ready {
    /// Returns what to run: the environment's values, else the test's own number of seeds and the defaults. Replays the
    /// case of the environment first, if there is one.
    ///
    /// # Errors
    /// Returns one sentence if a variable is invalid, or the replay's report if the case violates a property.
    pub(crate) fn what_to_run(&self, own: u64) -> Result<ToRun, String> {
        let environment = Environment::read();
        let (seeds, timeline) = (environment.seeds(own)?, environment.timeline()?);
        let shard = environment.shard()?;
        let last_steps = timeline.unwrap_or(LAST_STEPS);
        // A failed sweep can write a case of a search, too.
        #[cfg(feature = "explore")]
        self.take_a_searched_case_again(&environment)?;
        let Some(again) = environment.case(&self.scenario.name, GrainKind::Ensemble)? else {
            // Of several shards, the first does it for all.
            if shard.is_none_or(Shard::is_first) {
                self.replay_regressions(&environment)?;
            }
            return Ok(ToRun { seeds, shard, last_steps, reports: environment.reports });
        };
        let Again { case, file } = &again;
        let replay = format!("VIVARIUM_CASE={file} {}", cargo_test());
        let every_step = format!("VIVARIUM_TIMELINE=all {replay}");
        let commands = Commands { replay, every_step };
        let told = replaying::swept(&self.scenario, case, file, timeline, commands)
            .map_err(|why| format!("the case file `{file}` cannot be replayed: {why}"))?;
        held_or(told)?;
        let seeds = case.seed.map_or(seeds, SeedRange::only);
        Ok(ToRun { last_steps, ..ToRun::all(seeds) })
    }

    /// Runs the seeds.
    ///
    /// # Errors
    /// Fails like [`Test::run_seeds`](crate::Test::run_seeds).
    pub(crate) fn run(self, asked: &ToRun) -> Result<ScenarioReport, TestFailure> {
        let ToRun { seeds, shard, last_steps, .. } = asked;
        let how = sweeping::How {
            jobs: sweeping::all_cores(),
            host: self.host,
            keep_going: false,
            last_steps: *last_steps,
        };
        let part = match shard {
            Some(shard) => SeedRange::of(shard.part(seeds)),
            None => Some(seeds.clone()),
        };
        let swept = match part {
            Some(part) => sweeping::sweep(&self.scenario, &part, &how, |_done| ()),
            None => Ok(Swept::nothing()),
        };
        let swept = swept.map_err(|sentence| self.refused(sentence))?;
        let mut report = sweeping::sweep_report(&self.scenario, &[], &how, seeds, &swept);
        if let Some(shard) = shard {
            shard.stamp(seeds, &mut report);
        }
        let first = swept.report.first_violation.as_ref();
        let Some((run, violation)) = first.and_then(|run| Some((run, run.violation.as_ref()?)))
        else {
            self.write(&report, asked)?;
            // Another shard may have seen it.
            if shard.is_none() {
                self.has_seen(report.observed.iter().map(|count| count.name.as_str()))?;
                self.has_reached(&report)?;
            }
            return Ok(report);
        };
        let unrepeated = swept.report.unrepeated.as_deref();
        let finding = self.finding(run, violation, unrepeated);
        let (shorter, regression) = match unrepeated {
            None => self.smaller(run, self.minimises_for),
            Some(_) => (None, None),
        };
        let finding = Finding { shorter, regression, ..finding };
        self.write(&ScenarioReport { finding: Some(finding.clone()), ..report }, asked)?;
        Err(TestFailure::Violated(Box::new(finding)))
    }

    /// Writes the JSON report, if the environment asks for it. The report demands the observations that the test
    /// requires, so that a merge of all shards misses them.
    fn write(&self, report: &ScenarioReport, asked: &ToRun) -> Result<(), TestFailure> {
        let Some(folder) = &asked.reports else { return Ok(()) };
        let mut report = report.clone();
        report.demands_marks = !self.must_see.is_empty() || !self.scenario.marks.is_empty();
        report.looks_for.extend(self.must_see.iter().cloned());
        report.looks_for.sort();
        report.looks_for.dedup();
        report.judge();
        environment::write_report(folder, &report).map_err(|sentence| self.refused(sentence))
    }

    /// Minimises the run within this time, and keeps the smallest case as a regression. Returns the smaller run, and
    /// the path of the regression. A run that is asked for by its seed is neither minimised nor kept.
    fn smaller(&self, run: &RunReport, time: Duration) -> (Option<Shorter>, Option<Kept>) {
        let whole = sweeping::case(&self.scenario, &[], run);
        if time.is_zero() {
            return (None, self.keep(&whole, run.seed));
        }
        match minimising::smallest(&self.scenario, &whole, None, self.host, time) {
            Ok(Some(found)) => {
                let kept = self.keep(&found.case, run.seed);
                (Some(Shorter::Found(Box::new(saved(found, run.seed)))), kept)
            }
            Ok(None) => {
                let sentence = minimising::NOTHING_SMALLER.to_string();
                (Some(Shorter::No(sentence)), self.keep(&whole, run.seed))
            }
            Err(sentence) => (Some(Shorter::No(sentence)), self.keep(&whole, run.seed)),
        }
    }

    /// Writes the case of a violating run, and returns the report.
    fn finding(
        &self,
        run: &RunReport,
        violation: &Violation,
        unrepeated: Option<&vivarium_sim::Difference>,
    ) -> Finding {
        let file =
            environment::save(&sweeping::case(&self.scenario, &[], run), &run.seed.to_string());
        let replay = format!("VIVARIUM_SEED={} {}", run.seed, cargo_test());
        let every_step = format!("VIVARIUM_TIMELINE=all {replay}");
        let commands = Commands { replay, every_step };
        let title = self.scenario.name.clone();
        sweeping::finding(title, run, violation, unrepeated, Some(file), commands)
    }

    /// Replays the case of a search, if the environment names one.
    ///
    /// # Errors
    /// Returns one sentence if the variable is invalid, or the replay's report if the case violates a property.
    #[cfg(feature = "explore")]
    fn take_a_searched_case_again(&self, environment: &Environment) -> Result<(), String> {
        let Some(Again { case, file }) =
            environment.case(&self.scenario.name, GrainKind::Service)?
        else {
            return Ok(());
        };
        let replayed = exploration::replay(&self.scenario, &case)
            .map_err(|why| format!("the case file `{file}` cannot be replayed: {why}"))?;
        let replayed = replayed.ok_or("VIVARIUM_CASE: a search has not written this case")?;
        let replay = format!("VIVARIUM_CASE={file} {}", cargo_test());
        let commands = Commands { every_step: replay.clone(), replay };
        let steps = Some(usize::MAX);
        held_or(replaying::explored::told(&file, &case, &replayed, steps, &commands))
    }

    /// Replays the case that the environment names, and serves the states to a browser if the environment asks for it.
    ///
    /// # Errors
    /// Returns one sentence if a variable is invalid, or the replay's report if the case violates a property.
    #[cfg(feature = "explore")]
    pub(crate) fn as_the_environment_asks(&self, exploration: &Exploration) -> Result<(), String> {
        let environment = Environment::read();
        self.take_a_searched_case_again(&environment)?;
        match &environment.serve {
            Some(address) => {
                let tell = |words: &str| eprintln!("{words}");
                Ok(exploration::serve_at(&self.scenario, exploration, address, &tell)?)
            }
            None => Ok(()),
        }
    }

    /// Explores the test.
    ///
    /// # Errors
    /// Fails like [`Test::explored`](crate::Test::explored).
    #[cfg(feature = "explore")]
    pub(crate) fn explore(
        self,
        exploration: &Exploration,
    ) -> Result<ExplorationReport, TestFailure> {
        if let Some(mark) = self.scenario.marks.first() {
            return Err(self.refused(format!(
                "`must_reach({mark})` is for sweeps: a search takes every way within its budget and counts no marks"
            )));
        }
        if self.scenario.script != Script::default() {
            return Err(self.refused(
                "`script` is for sweeps: a search tries every fault within its budget".to_string(),
            ));
        }
        let answer = exploration::answer(&self.scenario, &[], exploration, Arc::new(Silent));
        let name = || self.scenario.name.clone();
        let not_explored = |error| TestFailure::NotExplored { name: name(), error };
        let Answer { mut report, case, .. } = answer.map_err(not_explored)?;
        if let (Some(finding), Some(case)) = (&mut report.finding, case) {
            let file = environment::save(&case, "explored");
            finding.replay = match &file {
                Ok(file) => format!("VIVARIUM_CASE={file} {}", cargo_test()),
                Err(_) => cargo_test(),
            };
            finding.every_step = finding.replay.clone();
            finding.case_file = Some(file);
        } else {
            self.has_seen(report.observed.iter().map(String::as_str))?;
        }
        Ok(report)
    }

    fn refused(&self, sentence: String) -> TestFailure {
        TestFailure::Refused { name: self.scenario.name.clone(), sentence }
    }

    /// Checks that some run reached each required mark.
    fn has_reached(&self, report: &ScenarioReport) -> Result<(), TestFailure> {
        let missed: Vec<&str> = report
            .marks
            .iter()
            .filter(|mark| mark.count == 0)
            .map(|mark| mark.name.as_str())
            .collect();
        if missed.is_empty() {
            return Ok(());
        }
        let (name, missed) = (self.scenario.name.clone(), missed.join(", "));
        let sentence = format!(
            "no run reached: {missed}. More seeds, or more of the faults that lead there, may (`Test::seeds`, \
             `Faults::with_rate`)"
        );
        Err(TestFailure::Unseen { name, sentence })
    }

    /// Checks that programs made each required observation.
    fn has_seen<'a>(&self, observed: impl Iterator<Item = &'a str>) -> Result<(), TestFailure> {
        let name = self.scenario.name.clone();
        vacuity::must_have(&observed.collect(), &self.must_see)
            .map_err(|sentence| TestFailure::Unseen { name, sentence })
    }
}

/// The path of a case that was kept as a regression, or why it could not be written.
type Kept = Result<String, String>;

/// Writes the case of a smaller run.
fn saved(found: Smallest, seed: u64) -> Minimal {
    let mut minimal = found.minimal;
    minimal.finding.case_file = Some(environment::save(&found.case, &format!("{seed}-minimised")));
    minimal.finding.replay = match &minimal.finding.case_file {
        Some(Ok(file)) => format!("VIVARIUM_CASE={file} {}", cargo_test()),
        _ => String::new(),
    };
    minimal
}

/// Prints a replay without a violation; returns a replay with one as an error.
fn held_or(told: replaying::Told) -> Result<(), String> {
    match told.code {
        1 => Err(format!("the case violates a property\n{}", told.text)),
        _ => {
            eprintln!("{}", told.text);
            Ok(())
        }
    }
}

/// Why a [`Test`](crate::Test) failed. Its text is the message of the test's panic.
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum TestFailure {
    /// A property was violated: the report, with a timeline.
    Violated(Box<Finding>),
    /// No property was violated, but no program made an observation that [`Test::must_see`](crate::Test::must_see)
    /// requires, or no run reached a mark that [`Test::must_reach`](crate::Test::must_reach) requires.
    Unseen {
        name: String,
        /// One sentence that names the observation or the mark.
        sentence: String,
    },
    /// The test was not explored, for this reason.
    #[cfg(feature = "explore")]
    NotExplored { name: String, error: ExploreError },
    /// The test is invalid, or could not be run.
    Refused {
        name: String,
        /// The reason, in one sentence.
        sentence: String,
    },
}

impl TestFailure {
    /// Returns the violation, if there was one.
    pub fn finding(&self) -> Option<&Finding> {
        match self {
            TestFailure::Violated(finding) => Some(finding),
            _ => None,
        }
    }
}

impl fmt::Display for TestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TestFailure::Violated(finding) => {
                f.write_str(&violation_report(finding))?;
                write!(f, "\nReplay it with: {}", finding.replay)?;
                match &finding.case_file {
                    Some(Ok(file)) => {
                        let test = cargo_test();
                        write!(
                            f,
                            "\nThe same steps after a change of the code: VIVARIUM_CASE={file} {test}"
                        )
                    }
                    _ => Ok(()),
                }
            }
            #[cfg(feature = "explore")]
            TestFailure::NotExplored { name, error } => write!(f, "{name}: {error}"),
            TestFailure::Unseen { name, sentence } | TestFailure::Refused { name, sentence } => {
                write!(f, "{name}: {sentence}")
            }
        }
    }
}

impl fmt::Debug for TestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for TestFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            #[cfg(feature = "explore")]
            TestFailure::NotExplored { error, .. } => Some(error),
            _ => None,
        }
    }
}
