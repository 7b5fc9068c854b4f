//! The library interface: a user's own test as a scenario.

mod clients;
#[cfg(feature = "coverage")]
mod covered;
mod demands;
mod environment;
mod faults;
mod left_out;
pub(crate) mod ready;
mod regressions;
pub(crate) mod role;

use crate::harness::clients::{Clients, Programs};
use crate::harness::environment::{Environment, fitted};
use crate::harness::left_out::LeftOut;
use crate::harness::ready::{Ready, TestFailure, ToRun};
use crate::harness::role::Role;
use crate::sweeping::seeds::SeedRange;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use vivarium_model::config::ServerOptions;
use vivarium_model::handle::{Round, ZooKeeper, program, rounds};
use vivarium_model::mark::Mark;
use vivarium_model::property::Monitor;
use vivarium_model::release::Release;
use vivarium_model::setup::Setup;
#[cfg(feature = "explore")]
use vivarium_model::verdict::Verdict;
#[cfg(feature = "explore")]
use vivarium_reports::exploration::{ExplorationReport, exploration_text};
use vivarium_reports::summary::ScenarioReport;
#[cfg(feature = "explore")]
use vivarium_reports::table::WIDTH;
use vivarium_sim::{
    Choice, ClientOptions, Explored, FaultSet, HostKind, Limits, Scenario, Settings,
};

/// A test of a program against a whole simulated ensemble, under many seeds.
///
/// Every client machine runs the program once; with faults it may also crash and start again. The test fails when a
/// monitor objects (ZooKeeper's own monitors are always included), when a program returns `Err` or panics, and when a
/// program has not finished within a bound after all faults have been healed.
///
/// Environment variables override the values in the source, and ask for more:
///
/// | variable | means |
/// |---|---|
/// | `VIVARIUM_SEEDS` | a count or a range `A..B`, instead of the test's own |
/// | `VIVARIUM_SEED` | one seed, to replay it |
/// | `VIVARIUM_SHARD` | `3/8`: only the third of eight parts of the seeds, for as many processes or machines |
/// | `VIVARIUM_REPORTS` | a folder, into which [`Test::run`] writes a JSON report for `vivarium merge` |
/// | `VIVARIUM_TIMELINE` | how many of a violating run's last steps are shown: a number, or `all` |
/// | `VIVARIUM_CASE` | a case file, whose steps are replayed first |
/// | `VIVARIUM_REGRESSIONS` | the folder of the cases that are replayed first, and where a failing test adds its own; `off` for none [default: `vivarium-regressions` in the crate's directory] |
/// | `VIVARIUM_MINIMISE` | for how many seconds a violating run is minimised; 0 for not at all |
/// | `COLUMNS` | the greatest width of a report |
/// | `VIVARIUM_SERVE` | an address such as `localhost:3000`, at which [`Test::explore`] shows the states in a browser |
pub struct Test {
    name: String,
    rounds: Choice,
    programs: Programs,
    servers: Choice,
    observers: Choice,
    joiners: Choice,
    /// The caller's value; `None` for the default.
    clients: Option<Choice>,
    client_options: ClientOptions,
    server_options: ServerOptions,
    faults: FaultSet,
    script: String,
    release: Release,
    chaos: Duration,
    progress_bound: Duration,
    monitors: Vec<Box<dyn Monitor>>,
    left_out: LeftOut,
    /// Znodes that exist from the start, in the order of the calls.
    setup: Vec<Said>,
    must_see: Vec<String>,
    must_reach: Vec<Mark>,
    seeds: u64,
    host: HostKind,
    serves: bool,
}

impl Test {
    /// Creates a test of this program with 3 servers, 3 clients, no faults and 100 seeds.
    pub fn new<P, F>(name: &str, run: P) -> Test
    where
        P: Fn(ZooKeeper) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let run = program(run);
        Test::of(name, Choice::from(1), Programs::Same(Arc::new(move |_rounds| run.clone())))
    }

    /// Creates a test of programs that differ by role: the clients of the first role come first and run its program,
    /// then those of the second role, and so on. Everything else is as for [`Test::new`].
    ///
    /// ```
    /// use vivarium::prelude::*;
    ///
    /// async fn sender(zookeeper: ZooKeeper) -> Result<(), String> {
    ///     zookeeper.send(ClientId(2), b"hello");
    ///     Ok(())
    /// }
    ///
    /// async fn receiver(zookeeper: ZooKeeper) -> Result<(), String> {
    ///     let message = zookeeper.receive().await;
    ///     zookeeper.custom("heard", &[("bytes", (message.body.len() as i64).into())]);
    ///     Ok(())
    /// }
    ///
    /// Test::of_roles("hello", [Role::new("sender", sender), Role::new("receiver", receiver)])
    ///     .must_see("heard")
    ///     .seeds(10)
    ///     .run();
    /// ```
    pub fn of_roles(name: &str, roles: impl IntoIterator<Item = Role>) -> Test {
        Test::of(name, Choice::from(1), Programs::Roles(roles.into_iter().collect()))
    }

    /// Creates a test of a program that repeats its task. Each seed draws the number of repetitions from `rounds`, a
    /// number or a range.
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
        Test::of(name, rounds.into(), Programs::Same(Arc::new(of_rounds)))
    }

    /// Creates a test of a program that is a loop, written as its round: the next round receives only the state that
    /// one round hands on, and the first round receives `first`.
    ///
    /// The program runs as the loop would. It makes a search smaller: a round that begins with a state that occurred
    /// before is the same state of the program, whatever the history ([`rounds`]).
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
        Test::of(name, Choice::from(1), Programs::Same(Arc::new(move |_rounds| run.clone())))
    }

    fn of(name: &str, rounds: Choice, programs: Programs) -> Test {
        Test {
            name: name.to_string(),
            rounds,
            programs,
            servers: Choice::from(3),
            observers: Choice::from(0),
            joiners: Choice::from(0),
            clients: None,
            client_options: ClientOptions::new(),
            server_options: ServerOptions::default(),
            faults: FaultSet::NONE,
            script: String::new(),
            release: Release::Repaired,
            chaos: Duration::from_secs(20),
            progress_bound: Duration::from_secs(120),
            monitors: Vec::new(),
            left_out: LeftOut::default(),
            setup: Vec::new(),
            must_see: Vec::new(),
            must_reach: Vec::new(),
            seeds: 100,
            host: HostKind::default(),
            serves: false,
        }
    }

    /// Sets the number of servers: a number, or a range from which each seed draws one.
    #[must_use]
    pub fn servers(mut self, servers: impl Into<Choice>) -> Test {
        self.servers = servers.into();
        self
    }

    /// Sets the number of observers, in addition to the servers that vote: a number or a range. An observer learns what is
    /// committed, serves clients, and takes part in no quorum. Searches have none.
    #[must_use]
    pub fn observers(mut self, observers: impl Into<Choice>) -> Test {
        self.observers = observers.into();
        self
    }

    /// Sets the number of servers that are in no configuration at first, in addition to the others: a number or a range. A
    /// `reconfig` can make them members, where [`ServerOptions::reconfig_enabled`] is set; each starts as an observer. They have
    /// the highest ids. Searches have none.
    #[must_use]
    pub fn joiners(mut self, joiners: impl Into<Choice>) -> Test {
        self.joiners = joiners.into();
        self
    }

    /// Sets the number of client machines, each with one program: a number or a range. If clients have
    /// [roles](Test::of_roles), the roles set it.
    #[must_use]
    pub fn clients(mut self, clients: impl Into<Choice>) -> Test {
        self.clients = Some(clients.into());
        self
    }

    /// Sets options of every client's configuration. Each seed draws the values of options that are not set.
    #[must_use]
    pub fn client_options(mut self, options: ClientOptions) -> Test {
        self.client_options = options;
        self
    }

    /// Sets ZooKeeper's system properties that clients notice. The default is ZooKeeper's own defaults.
    #[must_use]
    pub fn server_options(mut self, options: ServerOptions) -> Test {
        self.server_options = options;
        self
    }

    /// Adds a persistent znode without data that exists from the start in every server's database, so that every view
    /// contains it, however stale. Add parents first.
    #[must_use]
    pub fn setup(mut self, path: &str) -> Test {
        self.setup.push(Said::Plain(path.to_string()));
        self
    }

    /// Adds a container that exists from the start in every server's database. The leader deletes it after it has lost
    /// its last child. With all faults enabled, some seeds start its counter near the end
    /// ([`Fault::CounterWrap`](vivarium_sim::Fault::CounterWrap)), and some delete it soon
    /// ([`Fault::ContainerDeletion`](vivarium_sim::Fault::ContainerDeletion)). Add parents first, as in
    /// [`Test::setup`].
    #[must_use]
    pub fn container(mut self, path: &str) -> Test {
        self.setup.push(Said::Container(path.to_string()));
        self
    }

    /// Declares the programs services: they need not finish, and properties of the end are checked while they run. If
    /// clients have [roles](Test::of_roles), a role can declare this for itself.
    ///
    /// A sweep ends when all other programs have finished, all faults are healed, and services have had the time to
    /// notice that a session has ended and to start again. A search reaches an end wherever nothing can happen except
    /// that services wait, so let them wait by watches, not by polling. Waiting services are never reported as stuck.
    /// So a service that waits for ever by mistake is only found by your own properties.
    ///
    /// ```
    /// use vivarium::prelude::*;
    ///
    /// async fn member(zookeeper: ZooKeeper) -> Result<(), String> {
    ///     let registered = in_sessions(&zookeeper, |zookeeper, _session| async move {
    ///         loop {
    ///             match until_known(&zookeeper, || zookeeper.create("/me", b"", CreateMode::Ephemeral)).await {
    ///                 Ok(_) | Err(Error::NodeExists) => {}
    ///                 Err(error) => return Err::<(), _>(error),
    ///             }
    ///             let look = || zookeeper.exists_watch("/me");
    ///             if let (Some(_), mut watch) = until_known(&zookeeper, look).await? {
    ///                 watch.changed().await?;
    ///             }
    ///         }
    ///     });
    ///     registered.await.map_err(|error| error.to_string())
    /// }
    ///
    /// let registered = tree_at_end("still registered", |tree: Tree<'_>| tree.has("/me"));
    /// Test::new("member", member).clients(1).serves().monitor(registered).seeds(3).run();
    /// ```
    #[must_use]
    pub fn serves(mut self) -> Test {
        self.serves = true;
        self
    }

    /// Sets the number of seeds to run; `VIVARIUM_SEEDS` overrides it.
    #[must_use]
    pub fn seeds(mut self, seeds: u64) -> Test {
        self.seeds = seeds;
        self
    }

    /// Runs the seeds, and returns the report if no property was violated.
    ///
    /// With `VIVARIUM_SHARD`, runs only a part of the seeds: `seeds` of the report is 0 if there are fewer seeds than parts.
    /// What [`Test::must_see`] and [`Test::must_reach`] require is then not checked, because the other parts may have it; a merge of the reports
    /// that `VIVARIUM_REPORTS` asks for does check it.
    ///
    /// With `VIVARIUM_CASE`, the steps of that case file are replayed first and the replay is printed.
    ///
    /// A violating run is minimised within ten seconds or those of `VIVARIUM_MINIMISE`, and the report shows the
    /// smallest run that violates the same property as a script of numbered sentences. With the feature `explore`, a
    /// search is one of the means. A run that `VIVARIUM_SEED` or `VIVARIUM_TIMELINE` asks for is shown as it is.
    ///
    /// # Panics
    /// Panics with the report if a property was violated: the property, what it saw, the timeline, and the command that
    /// replays the run. Panics with one sentence if an environment variable is invalid.
    pub fn run(self) -> ScenarioReport {
        let (name, own) = (self.name.clone(), self.seeds);
        let mut ready = self.scenario().unwrap_or_else(|sentence| refuse(&name, &sentence));
        let minimises_for = Environment::read().minimises_for();
        ready.minimises_for = minimises_for.unwrap_or_else(|sentence| refuse(&name, &sentence));
        let asked = ready.what_to_run(own);
        let asked = asked.unwrap_or_else(|sentence| refuse(&name, &sentence));
        let failed = |failure: TestFailure| panic!("{}", fitted(failure.to_string()));
        ready.run(&asked).unwrap_or_else(failed)
    }

    /// Runs these seeds, regardless of the environment.
    ///
    /// # Errors
    /// Returns the first violation, or one sentence if the test is invalid, if no program made an observation that
    /// [`Test::must_see`] requires, or if no run reached a mark that [`Test::must_reach`] requires.
    pub fn run_seeds(self, seeds: &SeedRange) -> Result<ScenarioReport, TestFailure> {
        let name = self.name.clone();
        let ready = self.scenario();
        let ready = ready.map_err(|sentence| TestFailure::Refused { name, sentence })?;
        ready.run(&ToRun::all(seeds.clone()))
    }

    /// Searches instead of sweeping: tries every order of events within the budgets of `exploration`, with all that
    /// ZooKeeper promises to its clients (the service grain: one log, stale views, lost replies, expiries). Servers and
    /// seeds play no part. Returns the figures if no property was violated.
    ///
    /// Only monitors with [`Asked::Everywhere`](vivarium_model::property::Asked) are used; the report names the others.
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
    /// Panics with the whole report if a property was violated, or if the search could not visit every state and
    /// [`may_be_bounded`](crate::Exploration::may_be_bounded) is not set. Panics with one sentence if
    /// [`Test::explored`] returns an error, or if an environment variable is invalid.
    #[cfg(feature = "explore")]
    pub fn explore(self, exploration: &crate::Exploration) -> ExplorationReport {
        let name = self.name.clone();
        let ready = self.scenario().unwrap_or_else(|sentence| refuse(&name, &sentence));
        let asked = ready.as_the_environment_asks(exploration);
        asked.unwrap_or_else(|sentence| refuse(&name, &sentence));
        let report = ready.explore(exploration).unwrap_or_else(|failure| panic!("{failure}"));
        let is_enough = match report.verdict {
            Verdict::Exhausted { .. } => true,
            Verdict::Bounded { .. } => exploration.may_be_bounded,
            _ => false,
        };
        assert!(is_enough, "\n{}", fitted(exploration_text(&report, WIDTH)));
        report
    }

    /// Like [`Test::explore`], but returns the report whatever the verdict.
    ///
    /// # Errors
    /// * [`TestFailure::NotExplored`], with an [`ExploreError`](crate::ExploreError): for example, a number or a claim
    ///   of `exploration` is invalid for this test, or a program loops without awaiting;
    /// * [`TestFailure::Refused`], with one sentence: the test itself is invalid;
    /// * [`TestFailure::Unseen`]: no property was violated, but no program made an observation that is required
    ///   ([`Test::must_see`]).
    #[cfg(feature = "explore")]
    pub fn explored(
        self,
        exploration: &crate::Exploration,
    ) -> Result<ExplorationReport, TestFailure> {
        let name = self.name.clone();
        let ready = self.scenario();
        ready.map_err(|sentence| TestFailure::Refused { name, sentence })?.explore(exploration)
    }

    fn scenario(self) -> Result<Ready, String> {
        let mut setup = Setup::NONE;
        for said in &self.setup {
            match said {
                Said::Plain(path) => {
                    setup.add(path).map_err(|error| format!("`setup`: {error}"))?;
                }
                Said::Container(path) => {
                    let added = setup.containers([path]);
                    setup = added.map_err(|error| format!("`container`: {error}"))?;
                }
            }
        }
        let Clients { clients, programs, roles, mut options } =
            self.programs.staff(self.clients, self.client_options)?;
        if self.serves {
            options = options.into_iter().map(ClientOptions::serves).collect();
        }
        let mut servers = self.server_options;
        if servers.operations_of == Release::Repaired {
            servers.operations_of = self.release;
        }
        let left_out = self.left_out;
        left_out.check()?;
        let asked = left_out.clone();
        // Monitors are Send but not Sync, so the prototypes are behind a lock; runs receive copies.
        let prototypes = Mutex::new(self.monitors);
        let scenario = Scenario {
            name: self.name,
            summary: String::new(),
            servers: self.servers,
            observers: self.observers,
            joiners: self.joiners,
            clients,
            rounds: self.rounds,
            limits: Limits::Varied,
            setup,
            settings: Settings { roles, clients: options, servers },
            programs,
            monitors: Arc::new(move |run| {
                let own = prototypes.lock().unwrap_or_else(PoisonError::into_inner);
                // A search takes ZooKeeper's own properties as given.
                let own = own.iter().cloned();
                if run.is_explored() {
                    return own.collect();
                }
                // If a step violates several properties, the report names the test's own, which comes first.
                own.chain(asked.others()).collect()
            }),
            of_servers: left_out.of_servers(),
            awaits_expiry: false,
            marks: self.must_reach,
            faults: self.faults,
            script: self.script.parse()?,
            bugs: self.release.bugs(),
            chaos: self.chaos,
            progress_bound: self.progress_bound,
            explored: Explored::Programs { setup: Setup::NONE },
        };
        scenario.check()?;
        Ok(Ready {
            scenario,
            host: self.host,
            must_see: self.must_see,
            minimises_for: Duration::ZERO,
        })
    }
}

/// A znode that exists from the start.
#[derive(Clone, Debug)]
enum Said {
    Plain(String),
    Container(String),
}

/// Fails the test with a sentence.
fn refuse(name: &str, sentence: &str) -> ! {
    panic!("{name}: {sentence}")
}
