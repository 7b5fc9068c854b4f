//! The library face: a user's own test as a scenario.

use crate::deeds::Deeds;
use crate::engine;
use crate::seeds::{SeedRange, parse_seed};
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
#[cfg(doc)]
use vivarium_model::event::Observation;
use vivarium_model::handle::{Program, Round, ZooKeeper, program, rounds};
use vivarium_model::property::{self, Monitor};
use vivarium_model::release::Release;
use vivarium_model::setup::Setup;
#[cfg(feature = "explore")]
use vivarium_model::verdict::Verdict;
#[cfg(feature = "explore")]
use vivarium_reports::exploration::{ExplorationReport, exploration_text};
use vivarium_reports::summary::{Finding, ScenarioReport};
#[cfg(feature = "explore")]
use vivarium_reports::table::WIDTH;
use vivarium_reports::violation::violation_report;
use vivarium_sim::{Choice, Explored, FaultSet, HostKind, Limits, Scenario};

/// A test of a program against a whole simulated ensemble, under many seeds.
///
/// Every client machine runs the program once; with faults it may also crash and start again. The
/// test fails when a monitor objects (ZooKeeper's own are always there), when a program returns
/// `Err` or panics, and when a program has not finished some time after all faults have been healed.
///
/// Two environment variables override what the source says: `VIVARIUM_SEEDS` (a count or a range
/// `A..B`) and `VIVARIUM_SEED` (one seed, to replay it).
pub struct Test {
    name: String,
    rounds: Choice,
    program: Arc<dyn Fn(u32) -> Program + Send + Sync>,
    servers: Choice,
    clients: Choice,
    faults: FaultSet,
    release: Release,
    chaos: Duration,
    progress_bound: Duration,
    monitors: Vec<Box<dyn Monitor>>,
    setup: Vec<String>,
    must_see: Vec<String>,
    seeds: u64,
    host: HostKind,
}

impl Test {
    /// A test of this program: 3 servers, 3 clients, no faults, 100 seeds.
    pub fn new<P, F>(name: &str, run: P) -> Test
    where
        P: Fn(ZooKeeper) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let run = program(run);
        Test::of(name, Choice::from(1), Arc::new(move |_rounds| run.clone()))
    }

    /// A test of a program that repeats what it does: how often is drawn by each seed from `rounds`,
    /// a number or a range.
    pub fn with_rounds<P, F>(name: &str, rounds: impl Into<Choice>, run: P) -> Test
    where
        P: Fn(ZooKeeper, u32) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let run = Arc::new(run);
        let of_rounds = move |rounds| {
            let run = Arc::clone(&run);
            program(move |zookeeper| run(zookeeper, rounds))
        };
        Test::of(name, rounds.into(), Arc::new(of_rounds))
    }

    /// A test of a program that is a loop, written as its round: what one round hands on is all that
    /// the next one has of it, and the first one begins with `first`.
    ///
    /// It runs as the loop would. To a search it is smaller: a round that begins with a state that was
    /// there before is where the program was before, however it came there ([`rounds`]).
    ///
    /// ```
    /// use vivarium::prelude::*;
    ///
    /// let attempt = |zookeeper: ZooKeeper, attempt: u32| async move {
    ///     zookeeper.connect().await;
    ///     match zookeeper.create("/member", b"", CreateMode::Persistent).await {
    ///         Ok(_) | Err(Error::NodeExists) => Ok(Round::Done),
    ///         Err(Error::ConnectionLoss) if attempt < 3 => Ok(Round::Again(attempt + 1)),
    ///         Err(error) => Err(error.to_string()),
    ///     }
    /// };
    /// # #[cfg(feature = "explore")]
    /// Test::rounds("three attempts", 1, attempt).explore(&Exploration::new().lost(2));
    /// ```
    pub fn rounds<S, P, F>(name: &str, first: S, round: P) -> Test
    where
        S: Clone + Eq + Hash + Send + Sync + 'static,
        P: Fn(ZooKeeper, S) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Round<S>, String>> + Send + 'static,
    {
        let run = rounds(first, round);
        Test::of(name, Choice::from(1), Arc::new(move |_rounds| run.clone()))
    }

    fn of(name: &str, rounds: Choice, program: Arc<dyn Fn(u32) -> Program + Send + Sync>) -> Test {
        Test {
            name: name.to_string(),
            rounds,
            program,
            servers: Choice::from(3),
            clients: Choice::from(3),
            faults: FaultSet::NONE,
            release: Release::Repaired,
            chaos: Duration::from_secs(20),
            progress_bound: Duration::from_secs(120),
            monitors: Vec::new(),
            setup: Vec::new(),
            must_see: Vec::new(),
            seeds: 100,
            host: HostKind::default(),
        }
    }

    /// How many servers the ensemble has: a number, or a range that each seed picks from.
    #[must_use]
    pub fn servers(mut self, servers: impl Into<Choice>) -> Test {
        self.servers = servers.into();
        self
    }

    /// How many client machines there are, each with one program: a number or a range.
    #[must_use]
    pub fn clients(mut self, clients: impl Into<Choice>) -> Test {
        self.clients = clients.into();
        self
    }

    /// A persistent znode without data that is there from the start, in every server's database: no
    /// view, however stale, is without it. Parents first.
    #[must_use]
    pub fn setup(mut self, path: &str) -> Test {
        self.setup.push(path.to_string());
        self
    }

    /// What may go wrong.
    #[must_use]
    pub fn faults(mut self, faults: FaultSet) -> Test {
        self.faults = faults;
        self
    }

    /// Which ZooKeeper the servers are; [`Release::Repaired`] unless this is called.
    #[must_use]
    pub fn release(mut self, release: Release) -> Test {
        self.release = release;
        self
    }

    /// For how long faults happen, in virtual time.
    #[must_use]
    pub fn chaos(mut self, chaos: Duration) -> Test {
        self.chaos = chaos;
        self
    }

    /// How long after the faults every program must have finished, in virtual time.
    #[must_use]
    pub fn finishes_within(mut self, bound: Duration) -> Test {
        self.progress_bound = bound;
        self
    }

    /// Adds a property. Every run starts with a copy of the monitor as it is now.
    #[must_use]
    pub fn monitor(mut self, monitor: impl Monitor + 'static) -> Test {
        self.monitors.push(Box::new(monitor));
        self
    }

    /// Demands that in some run a program makes the observation of this name ([`Observation::name`]:
    /// what it gives to [`ZooKeeper::custom`], or one such as `granted`). What holds where nobody ever
    /// comes so far says nothing.
    #[must_use]
    pub fn must_see(mut self, name: &str) -> Test {
        self.must_see.push(name.to_string());
        self
    }

    /// How many seeds to run; `VIVARIUM_SEEDS` overrides it.
    #[must_use]
    pub fn seeds(mut self, seeds: u64) -> Test {
        self.seeds = seeds;
        self
    }

    /// Runs the seeds, and returns what happened in them if nothing was violated.
    ///
    /// # Panics
    /// With the property, what it saw, and the line that replays the run, if one was violated; and
    /// with one sentence if `VIVARIUM_SEEDS` or `VIVARIUM_SEED` makes no sense.
    pub fn run(self) -> ScenarioReport {
        let variable =
            |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into());
        let seeds = choose_seeds(variable("VIVARIUM_SEEDS"), variable("VIVARIUM_SEED"), self.seeds);
        let seeds = seeds.unwrap_or_else(|sentence| panic!("{}: {sentence}", self.name));
        self.run_seeds(&seeds).unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// Runs these seeds, whatever the environment says.
    ///
    /// # Errors
    /// The first violation; or one sentence, where what was asked for makes no sense, or nobody made an
    /// observation that was demanded.
    pub fn run_seeds(self, seeds: &SeedRange) -> Result<ScenarioReport, TestFailure> {
        let (host, name, must_see) = (self.host, self.name.clone(), self.must_see.clone());
        let refused = |sentence| TestFailure::Refused { name: name.clone(), sentence };
        let scenario = self.scenario().map_err(refused)?;
        let how = engine::How { jobs: engine::all_cores(), host, keep_going: false };
        let swept = engine::sweep(&scenario, seeds, &how, |_done| ()).map_err(refused)?;
        let first = swept.report.first_violation.as_ref();
        let Some((run, violation)) = first.and_then(|run| Some((run, run.violation.as_ref()?)))
        else {
            let report = engine::sweep_report(&scenario, &[], &how, seeds, &swept);
            let observed = report.observed.iter().map(|count| count.name.as_str()).collect();
            let deeds = Deeds { requests: true, observed };
            let unseen = |sentence| TestFailure::Unseen { name: name.clone(), sentence };
            return deeds.must_have(&must_see).map(|()| report).map_err(unseen);
        };
        let replay = replay_line(run.seed, std::thread::current().name());
        let unrepeated = swept.report.unrepeated.as_deref();
        let title = scenario.name.clone();
        let finding = engine::finding(title, run, violation, unrepeated, None, replay);
        Err(TestFailure::Violated(Box::new(finding)))
    }

    /// Explores instead: every order of events within the budgets of `exploration`, over what
    /// ZooKeeper promises to its clients (the service grain: one log, stale views, lost replies,
    /// expiries). Servers and seeds play no part. Returns the figures if nothing was violated.
    ///
    /// Only monitors of [`Class::Event`](vivarium_model::property::Class) are asked; the report
    /// names the others.
    ///
    /// ```
    /// use vivarium::prelude::*;
    ///
    /// let report = Test::new("register", |zookeeper: ZooKeeper| async move {
    ///     loop {
    ///         zookeeper.connect().await;
    ///         match zookeeper.create("/member", b"", CreateMode::Persistent).await {
    ///             Ok(_) | Err(Error::NodeExists) => return Ok(()),
    ///             Err(Error::ConnectionLoss) => continue,
    ///             Err(error) => return Err(error.to_string()),
    ///         }
    ///     }
    /// })
    /// .explore(&Exploration::new().clients(2).lost(2));
    /// assert!(report.figures.distinct > 10);
    /// ```
    ///
    /// # Panics
    /// With the whole report if something was violated, or if the search could not see everything
    /// and was not told that it [`may_be_bounded`](crate::Exploration::may_be_bounded).
    #[cfg(feature = "explore")]
    pub fn explore(self, exploration: &crate::Exploration) -> ExplorationReport {
        let report = self.explored(exploration).unwrap_or_else(|failure| panic!("{failure}"));
        let is_enough = match report.verdict {
            Verdict::Exhausted { .. } => true,
            Verdict::Bounded { .. } => exploration.may_be_bounded,
            _ => false,
        };
        assert!(is_enough, "\n{}", exploration_text(&report, WIDTH));
        report
    }

    /// [`Test::explore`], whatever the verdict.
    ///
    /// # Errors
    /// One sentence, where what was asked for makes no sense, or nobody made an observation that was
    /// demanded.
    #[cfg(feature = "explore")]
    pub fn explored(
        self,
        exploration: &crate::Exploration,
    ) -> Result<ExplorationReport, TestFailure> {
        let (name, must_see) = (self.name.clone(), self.must_see.clone());
        let answer = self.scenario().and_then(|scenario| crate::explore(&scenario, exploration));
        let refused = |sentence| TestFailure::Refused { name: name.clone(), sentence };
        let mut report = answer.map_err(refused)?;
        if report.finding.is_none() {
            let observed = report.observed.iter().map(String::as_str).collect();
            let unseen = |sentence| TestFailure::Unseen { name: name.clone(), sentence };
            Deeds { requests: true, observed }.must_have(&must_see).map_err(unseen)?;
        }
        if let Some(finding) = &mut report.finding {
            finding.replay = cargo_test(std::thread::current().name());
        }
        Ok(report)
    }

    fn scenario(self) -> Result<Scenario, String> {
        let setup = Setup::of(&self.setup).map_err(|error| format!("`setup`: {error}"))?;
        let program = self.program;
        // Monitors are Send but not Sync, so the prototypes sit behind a lock; runs get copies.
        let prototypes = Mutex::new(self.monitors);
        let scenario = Scenario {
            name: self.name,
            summary: String::new(),
            servers: self.servers,
            clients: self.clients,
            rounds: self.rounds,
            limits: Limits::Varied,
            setup,
            programs: Arc::new(move |drawn| {
                (0..drawn.clients).map(|_client| program(drawn.rounds)).collect()
            }),
            monitors: Arc::new(move |drawn| {
                let own = prototypes.lock().unwrap_or_else(PoisonError::into_inner);
                // A search takes ZooKeeper's own properties, those of clients, for granted.
                let general = if drawn.is_explored() { Vec::new() } else { property::zookeeper() };
                general.into_iter().chain(own.iter().cloned()).collect()
            }),
            marks: Vec::new(),
            faults: self.faults,
            bugs: self.release.bugs(),
            chaos: self.chaos,
            progress_bound: self.progress_bound,
            explored: Explored::Programs { setup: Setup::NONE },
        };
        scenario.check()?;
        Ok(scenario)
    }
}

/// Why a [`Test`] failed; its text is what the test panics with.
pub enum TestFailure {
    /// A property was violated: what, with its timeline.
    Violated(Box<Finding>),
    /// Nothing was violated, but nobody made an observation that was demanded ([`Test::must_see`]).
    Unseen {
        /// The test's name.
        name: String,
        /// Which, in one sentence.
        sentence: String,
    },
    /// What was asked for makes no sense, or could not be done.
    Refused {
        /// The test's name.
        name: String,
        /// Why, in one sentence.
        sentence: String,
    },
}

impl TestFailure {
    /// The violation, if it is one.
    pub fn finding(&self) -> Option<&Finding> {
        match self {
            TestFailure::Violated(finding) => Some(finding),
            TestFailure::Unseen { .. } | TestFailure::Refused { .. } => None,
        }
    }
}

impl fmt::Display for TestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TestFailure::Violated(finding) => {
                f.write_str(&violation_report(finding))?;
                write!(f, "\nReplay it with: {}", finding.replay)
            }
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

impl std::error::Error for TestFailure {}

/// The seeds to run: the environment's one seed, else its range, else the test's own count.
fn choose_seeds(
    seeds: Option<String>,
    seed: Option<String>,
    own: u64,
) -> Result<SeedRange, String> {
    if let Some(text) = seed {
        return match parse_seed(&text) {
            Ok(seed) => Ok(SeedRange::only(seed)),
            Err(error) => Err(format!("VIVARIUM_SEED: {error}")),
        };
    }
    match seeds {
        Some(text) => SeedRange::parse(&text).map_err(|error| format!("VIVARIUM_SEEDS: {error}")),
        None => SeedRange::count(own).map_err(|error| format!("seeds: {error}")),
    }
}

/// The line that replays one seed of a test. The test harness names its threads after the tests;
/// where it runs them on the main thread, the name is unknown and all tests run.
fn replay_line(seed: u64, thread: Option<&str>) -> String {
    format!("VIVARIUM_SEED={seed} {}", cargo_test(thread))
}

fn cargo_test(thread: Option<&str>) -> String {
    match thread {
        Some(name) if name != "main" => format!("cargo test {name}"),
        _ => "cargo test".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<String> {
        Some(text.to_string())
    }

    #[test]
    fn the_environment_overrides_the_source_and_one_seed_overrides_a_range() {
        let chosen = |seeds, seed| choose_seeds(seeds, seed, 7).map(|seeds| seeds.range());
        assert_eq!(chosen(None, None), Ok(0..7));
        assert_eq!(chosen(text("20"), None), Ok(0..20));
        assert_eq!(chosen(text("20..30"), None), Ok(20..30));
        assert_eq!(chosen(text("20..30"), text("0x2a")), Ok(42..43));
    }

    #[test]
    fn a_malformed_variable_is_named() {
        let refused = |seeds, seed| choose_seeds(seeds, seed, 7).expect_err("it is malformed");
        assert_eq!(
            refused(None, text("forty")),
            "VIVARIUM_SEED: `forty` is not a seed: write a number, such as `42` or `0x2a`"
        );
        assert_eq!(
            refused(text("9..3"), None),
            "VIVARIUM_SEEDS: the seed range `9..3` is reversed: did you mean `3..9`?"
        );
        assert!(refused(text(""), None).starts_with("VIVARIUM_SEEDS: the seed range is empty"));
    }

    #[test]
    fn the_replay_line_names_the_test_where_it_is_known() {
        assert_eq!(replay_line(3, Some("a::b")), "VIVARIUM_SEED=3 cargo test a::b");
        assert_eq!(replay_line(3, Some("main")), "VIVARIUM_SEED=3 cargo test");
        assert_eq!(replay_line(3, None), "VIVARIUM_SEED=3 cargo test");
    }
}
