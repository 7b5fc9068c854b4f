//! Exploring: every order of events within stated budgets, instead of those that seeds pick.
//!
//! [`Exploration`] says how far; a scenario says which programs and properties. There is one kind of
//! exploration per grain ([`programs`]: recipes and users' programs over the service grain;
//! [`servers`]: the servers alone, over the ensemble grain); what they share is here: the options of
//! the search and the parts of the report.

mod error;
mod needs;
mod programs;
mod servers;
mod unseen;

pub use error::ExploreError;
pub(crate) use programs::{Handed, hand_over};

use std::net::{TcpListener, ToSocketAddrs};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use vivarium_model::bounds::SEARCHED_CLIENTS;
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::config::Election;
use vivarium_model::setup::{Setup, SetupError};
use vivarium_reports::exploration::{Dimension, ExplorationReport, Figures};
use vivarium_sim::bounds::{OutOfBounds, some_time, within};
use vivarium_sim::every::programs::{Budget, MOST};
use vivarium_sim::every::servers::Budget as EnsembleBudget;
use vivarium_sim::every::trie::ToldAgain;
use vivarium_sim::every::{Observer, Options, Silent, Statistics, Strategy};
use vivarium_sim::service::ServiceReplay;
use vivarium_sim::{Explored, Scenario, Servers};

/// How far to explore, and how.
///
/// Unless told otherwise: no faults, reductions on, breadth first (so that a violation found is a
/// short one), one thread per core, at most ten million
/// states and three quarters of the machine's memory.
///
/// Each `lost`, `expiries`, … is how often that may happen on one path; together they are the
/// dimensions in which a search is exhaustive. `clients` to `kills` and `setup` are for programs, over
/// the service grain; `servers` to `election` for servers alone, over the ensemble grain (`broadcast`
/// and `election` of the catalogue), which have numbers of their own where nothing is said.
///
/// A program that can try again without end has runs without end, and only a bound ends its search.
/// Beware of trying again at once after [`Error::SessionExpired`](crate::prelude::Error): a leader
/// says so before the client's server knows, so [`connect`](crate::prelude::ZooKeeper::connect) still
/// answers with the old session, and the next request is refused again. Wait for the end of the
/// session in [`session_events`](crate::prelude::ZooKeeper::session_events) first.
#[derive(Clone, Debug)]
pub struct Exploration {
    pub(crate) clients: Option<u8>,
    pub(crate) budget: Budget,
    /// By how much a reading of a clock can be late, beside an hour and the sessions' timeouts.
    pub(crate) delays: Vec<Duration>,
    pub(crate) varied: programs::Varied,
    /// Somebody has said how many timers may end early.
    pub(crate) timers_are_said: bool,
    pub(crate) setup: Vec<String>,
    pub(crate) ensemble: Ensemble,
    pub(crate) reductions: bool,
    pub(crate) interchangeable: bool,
    pub(crate) may_be_bounded: bool,
    pub(crate) options: Options,
}

/// What is said of servers alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ensemble {
    servers: Option<u8>,
    txns: Option<u8>,
    crashes: Option<u8>,
    breaks: Option<u8>,
    timeouts: Option<u8>,
    fsync_errors: Option<u8>,
    upsets: Option<u8>,
    election: Option<Election>,
    applies_at_once: bool,
}

/// What may go wrong in programs where nobody says what.
const UNASKED: Budget = Budget { lost: 0, expiries: 0, cancels: 0, timers: 0, kills: 0, delays: 1 };

impl Ensemble {
    fn election_of(&self, smallest: Servers) -> Election {
        self.election.unwrap_or(smallest.election)
    }

    /// What may happen on a path.
    fn budget(&self, smallest: Servers) -> EnsembleBudget {
        // One upset where any server can be elected, unless another number is given.
        let usual_upsets = u8::from(self.election_of(smallest) == Election::Any);
        EnsembleBudget {
            servers: self.servers.unwrap_or(smallest.servers),
            txns: self.txns.unwrap_or(smallest.txns),
            crashes: self.crashes.unwrap_or(smallest.crashes),
            breaks: self.breaks.unwrap_or(0),
            timeouts: self.timeouts.unwrap_or(0),
            fsync_errors: self.fsync_errors.unwrap_or(0),
            upsets: self.upsets.unwrap_or(usual_upsets),
        }
    }
}

/// So many states are looked at where nobody says how many: a test should not run for ever.
const MAX_STATES: u64 = 10_000_000;

/// Three quarters of the machine's memory: a search that takes more ends with a verdict, and not by the
/// system's hand. None where it is not known how much there is.
fn most_memory() -> Option<u64> {
    let about = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = about.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024 / 4 * 3)
}

impl Default for Exploration {
    fn default() -> Exploration {
        Exploration::new()
    }
}

impl Exploration {
    /// No faults.
    pub fn new() -> Exploration {
        let threads = NonZeroUsize::new(crate::sweeping::all_cores()).unwrap_or(NonZeroUsize::MIN);
        Exploration {
            clients: None,
            budget: UNASKED,
            delays: Vec::new(),
            varied: programs::Varied::default(),
            timers_are_said: false,
            setup: Vec::new(),
            ensemble: Ensemble::default(),
            reductions: true,
            interchangeable: false,
            may_be_bounded: false,
            options: Options {
                threads,
                max_states: Some(MAX_STATES),
                max_memory: most_memory(),
                ..Options::new(Strategy::BreadthFirst)
            },
        }
    }

    /// How many clients there are: the fewest that the scenario has, unless this is called.
    #[must_use]
    pub fn clients(mut self, clients: u8) -> Exploration {
        self.clients = Some(clients);
        self
    }

    /// How many connections may be lost, each at any moment: before the server reads a request,
    /// after, or before the reply is read.
    #[must_use]
    pub fn lost(mut self, lost: u8) -> Exploration {
        self.budget.lost = lost;
        self
    }

    /// How many sessions may expire although their client lives.
    #[must_use]
    pub fn expiries(mut self, expiries: u8) -> Exploration {
        self.budget.expiries = expiries;
        self
    }

    /// How often a program may be cancelled where it lets itself be.
    #[must_use]
    pub fn cancels(mut self, cancels: u8) -> Exploration {
        self.budget.cancels = cancels;
        self
    }

    /// How many sleeps and timeouts may end although something else could happen first. A search
    /// that had to keep one from ending is bounded, not exhausted. (Where nothing else can happen
    /// time passes, and they end anyway.) Unless this is called, there are none at first, and more
    /// as long as that bounds the search, up to twelve.
    #[must_use]
    pub fn timers(mut self, timers: u8) -> Exploration {
        self.budget.timers = timers;
        self.timers_are_said = true;
        self
    }

    /// How many programs may crash, each followed by a replacement.
    #[must_use]
    pub fn kills(mut self, kills: u8) -> Exploration {
        self.budget.kills = kills;
        self
    }

    /// How many readings of programs' clocks ([`now`](crate::prelude::ZooKeeper::now)) may be late on one path: 1, unless
    /// this is called. A program's clock goes on by what the program sleeps. A reading that is late is later than that
    /// by the timeout of a session, by an hour, or by one of the spans of [`delay`](Exploration::delay).
    #[must_use]
    pub fn delays(mut self, delays: u8) -> Exploration {
        self.budget.delays = delays;
        self
    }

    /// One more span by which a reading of a program's clock can be late: one that lies between two limits that a program
    /// compares the time with.
    #[must_use]
    pub fn delay(mut self, span: Duration) -> Exploration {
        self.delays.push(span);
        self
    }

    /// A persistent znode without data that is there from the start, in every view. Parents first.
    #[must_use]
    pub fn setup(mut self, path: &str) -> Exploration {
        self.setup.push(path.to_string());
        self
    }

    /// How many servers there are.
    #[must_use]
    pub fn servers(mut self, servers: u8) -> Exploration {
        self.ensemble.servers = Some(servers);
        self
    }

    /// How many writes established leaders propose.
    #[must_use]
    pub fn txns(mut self, txns: u8) -> Exploration {
        self.ensemble.txns = Some(txns);
        self
    }

    /// How many servers may crash, each at any moment and with any part of what it has not fsynced
    /// lost. They start again.
    #[must_use]
    pub fn crashes(mut self, crashes: u8) -> Exploration {
        self.ensemble.crashes = Some(crashes);
        self
    }

    /// How many connections between learners and leaders may break, with any number of packets that
    /// still arrive.
    #[must_use]
    pub fn breaks(mut self, breaks: u8) -> Exploration {
        self.ensemble.breaks = Some(breaks);
        self
    }

    /// How many servers may leave their role though nothing is wrong.
    #[must_use]
    pub fn timeouts(mut self, timeouts: u8) -> Exploration {
        self.ensemble.timeouts = Some(timeouts);
        self
    }

    /// How many fsyncs of servers' logs may fail, with any part of what they were to make durable
    /// lost; the server leaves its role.
    #[must_use]
    pub fn fsync_errors(mut self, fsync_errors: u8) -> Exploration {
        self.ensemble.fsync_errors = Some(fsync_errors);
        self
    }

    /// How many elections may choose a server that needs the vote of one that is ahead of it, with [`Election::Any`]: 1
    /// unless this is called.
    #[must_use]
    pub fn upsets(mut self, upsets: u8) -> Exploration {
        self.ensemble.upsets = Some(upsets);
        self
    }

    /// How leaders are elected.
    #[must_use]
    pub fn election(mut self, election: Election) -> Exploration {
        self.ensemble.election = Some(election);
        self
    }

    /// A coarser grain: a server applies what is committed in the step in which it learns of that. A search is smaller,
    /// and misses what happens in between (rule 4.5.8); its report says so.
    #[must_use]
    pub fn applies_at_once(mut self) -> Exploration {
        self.ensemble.applies_at_once = true;
        self
    }

    /// So many threads.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Exploration {
        self.options.threads = threads;
        self
    }

    /// Stops when there are more distinct states than this.
    #[must_use]
    pub fn max_states(mut self, states: u64) -> Exploration {
        self.options.max_states = Some(states);
        self
    }

    /// Goes on for as many states as there are.
    #[must_use]
    pub fn unbounded(mut self) -> Exploration {
        self.options.max_states = None;
        self
    }

    /// Stops when the process takes more bytes than this: three quarters of what the machine has, unless
    /// this is called (and where that can be found out, which is on Linux).
    #[must_use]
    pub fn max_memory(mut self, bytes: u64) -> Exploration {
        self.options.max_memory = Some(bytes);
        self
    }

    /// Stops after this long.
    #[must_use]
    pub fn max_time(mut self, time: Duration) -> Exploration {
        self.options.max_time = Some(time);
        self
    }

    /// Goes depth first: less memory, but a violation found is a long one (it is shortened).
    #[must_use]
    pub fn depth_first(mut self) -> Exploration {
        self.options.strategy = Strategy::DepthFirst;
        self
    }

    /// Takes every step by itself: many more states, and the same answer.
    #[must_use]
    pub fn without_reductions(mut self) -> Exploration {
        self.reductions = false;
        self
    }

    /// Says that all clients run the same program and that nobody puts names, sessions or random
    /// numbers in an order: which of those that have not acted yet acts first is then tried once. With
    /// n clients that leaves as little as one in n! states. Of the programs this is checked: each is
    /// told what another one was told, under its own names, and the first that does something else
    /// ends the search. Of the properties it is your claim, and the report says so.
    #[must_use]
    pub fn interchangeable(mut self) -> Exploration {
        self.interchangeable = true;
        self
    }

    /// A test is content with a search that could not see everything.
    #[must_use]
    pub fn may_be_bounded(mut self) -> Exploration {
        self.may_be_bounded = true;
        self
    }

    /// Stops when somebody sets this.
    #[must_use]
    pub fn stop(mut self, stop: Arc<AtomicBool>) -> Exploration {
        self.options.stop = Some(stop);
        self
    }

    /// Whether what is said makes sense, and nothing that the other grain alone has.
    fn check(&self, scenario: &Scenario) -> Result<(), ExploreError> {
        scenario.check().map_err(ExploreError::Scenario)?;
        self.check_numbers()?;
        let scenario_name = || scenario.name.clone();
        if self.interchangeable && scenario.settings.tell_clients_apart() {
            return Err(ExploreError::ClientsDiffer { scenario: scenario_name() });
        }
        let service = self.clients.is_some() || !self.setup.is_empty();
        let (other, grain) = match &scenario.explored {
            Explored::Programs { .. } => (self.ensemble != Ensemble::default(), GrainKind::Service),
            Explored::Servers(_) => {
                let service = service || self.budget != UNASKED || !self.delays.is_empty();
                (service, GrainKind::Ensemble)
            }
            Explored::No(_) => return Ok(()),
        };
        match other {
            true => Err(ExploreError::OtherGrain { scenario: scenario_name(), grain }),
            false => Ok(()),
        }
    }

    fn strategy(&self) -> String {
        match self.options.strategy {
            Strategy::BreadthFirst => "breadth first".to_string(),
            Strategy::DepthFirst => "depth first".to_string(),
        }
    }

    /// Whether its numbers make sense.
    fn check_numbers(&self) -> Result<(), OutOfBounds> {
        let Options { max_states, max_memory, max_time, .. } = self.options;
        if let Some(states) = max_states {
            within(&format!("max_states({states})"), states, 1, u64::MAX)?;
        }
        if let Some(bytes) = max_memory {
            within(&format!("max_memory({bytes})"), bytes, 1, u64::MAX)?;
        }
        let Budget { lost, expiries, cancels, timers, kills, delays } = self.budget;
        let kinds = [
            ("lost", lost),
            ("expiries", expiries),
            ("cancels", cancels),
            ("timers", timers),
            ("kills", kills),
            ("delays", delays),
        ];
        for (kind, number) in kinds {
            within(&format!("{kind}({number})"), number.into(), 0, MOST.into())?;
        }
        self.delays.iter().try_for_each(|span| some_time("delay", *span))?;
        max_time.map_or(Ok(()), |time| some_time("max_time", time))
    }

    /// How many clients there are.
    fn clients_of(&self, scenario: &Scenario) -> Result<u8, ExploreError> {
        let name = || scenario.name.clone();
        if let Some(clients) = self.clients {
            let said = format!("clients({clients})");
            let roles = scenario.settings.roles.len();
            if roles != 0 && roles != usize::from(clients) {
                return Err(ExploreError::RolesSayHowMany { scenario: name(), clients });
            }
            within(&said, clients.into(), 1, SEARCHED_CLIENTS.into())?;
            return Ok(clients);
        }
        let fewest = scenario.clients.range().map_or(1, |(fewest, _most)| fewest);
        let few = u8::try_from(fewest).ok().filter(|clients| *clients <= SEARCHED_CLIENTS);
        few.ok_or_else(|| ExploreError::TooManyClients { scenario: name(), clients: fewest })
    }

    /// The scenario with what is there from the start of this search.
    fn set_up(&self, scenario: &Scenario, setup: &Setup) -> Result<Scenario, ExploreError> {
        let mut setup = scenario.setup.clone().and(setup);
        for path in &self.setup {
            match setup.add(path) {
                // The scenario may have it too.
                Ok(()) | Err(SetupError::Twice(_)) => {}
                Err(error) => return Err(ExploreError::Setup(error)),
            }
        }
        Ok(Scenario { explored: Explored::Programs { setup }, ..scenario.clone() })
    }
}

/// What an exploration found, and the way to a violation as a case.
pub(crate) struct Answer {
    pub(crate) report: ExplorationReport,
    pub(crate) case: Option<Case>,
    /// What came of telling histories of programs again with other values.
    told_again: ToldAgain,
    /// The search was stopped: by the person at the keyboard, for time, or for memory.
    is_stopped: bool,
}

/// Explores a scenario of the catalogue, or one of your own.
///
/// # Errors
/// It cannot be explored, or not so: [`ExploreError`] says why in one sentence. That something was violated, or
/// that a bound stopped the search, is no error: the report's verdict says that.
pub fn explore(
    scenario: &Scenario,
    exploration: &Exploration,
) -> Result<ExplorationReport, ExploreError> {
    answer(scenario, &[], exploration, Arc::new(Silent)).map(|answer| answer.report)
}

/// Explores. `bugs` are the names of what is switched on in the scenario.
///
/// # Errors
/// As [`explore`].
pub(crate) fn answer(
    scenario: &Scenario,
    bugs: &[String],
    exploration: &Exploration,
    observer: Arc<dyn Observer + Send + Sync>,
) -> Result<Answer, ExploreError> {
    exploration.check(scenario)?;
    unseen::check(scenario, bugs, exploration)?;
    match &scenario.explored {
        Explored::Programs { setup } => {
            let searchable = scenario.settings.check_searchable();
            searchable.map_err(|what| ExploreError::Unknown { what })?;
            let clients = exploration.clients_of(scenario)?;
            let scenario = exploration.set_up(scenario, setup)?;
            programs::explore(scenario, bugs, clients, exploration, observer)
        }
        Explored::Servers(smallest) => {
            servers::explore(scenario, bugs, *smallest, exploration, &*observer)
        }
        Explored::No(why) => Err(cannot(scenario, why)),
    }
}

/// [`serve`], at an address as people write it, once that is told.
///
/// # Errors
/// Nothing can be served there, or it cannot be explored.
pub(crate) fn serve_at(
    scenario: &Scenario,
    exploration: &Exploration,
    text: &str,
    tell: &dyn Fn(&str),
) -> Result<(), ExploreError> {
    let refused = |why: String| ExploreError::NotServed { address: text.to_string(), why };
    let mut addresses = text
        .to_socket_addrs()
        .map_err(|error| refused(format!("{error}; write e.g. `localhost:3000`")))?;
    let address = addresses.next().ok_or_else(|| refused("no such host".into()))?;
    // Asked here, because stateright would panic.
    TcpListener::bind(address).map_err(|error| refused(error.to_string()))?;
    tell(&format!("The states of {} are at http://{address}/ until Ctrl-C", scenario.name));
    serve(scenario, exploration, address)
}

/// Serves a browser for a scenario's states at an address, until the process ends.
///
/// # Errors
/// It cannot be explored.
fn serve(
    scenario: &Scenario,
    exploration: &Exploration,
    address: std::net::SocketAddr,
) -> Result<(), ExploreError> {
    exploration.check(scenario)?;
    match &scenario.explored {
        Explored::Programs { setup } => {
            let clients = exploration.clients_of(scenario)?;
            programs::serve(exploration.set_up(scenario, setup)?, clients, exploration, address);
            Ok(())
        }
        Explored::Servers(smallest) => servers::serve(scenario, *smallest, exploration, address),
        Explored::No(why) => Err(cannot(scenario, why)),
    }
}

/// Takes the steps of a case again that a search has written; `None` where a sweep has.
///
/// # Errors
/// One sentence about what is wrong with the case.
pub(crate) fn replay(scenario: &Scenario, case: &Case) -> Result<Option<ServiceReplay>, String> {
    match (&scenario.explored, case.grain) {
        (_, GrainKind::Service) => vivarium_sim::service::replay(scenario, case).map(Some),
        (Explored::Servers(_), GrainKind::Ensemble) => servers::replay(case).map(Some),
        (_, GrainKind::Ensemble) => Ok(None),
    }
}

fn figures(statistics: &Statistics, programs: Option<u64>) -> Figures {
    Figures {
        generated: statistics.generated,
        distinct: statistics.distinct,
        depth: u64::from(statistics.depth),
        peak_frontier: statistics.peak_frontier,
        visited_bytes: statistics.visited_bytes,
        pieces_bytes: statistics.peak_pieces_bytes,
        programs,
        wall: statistics.elapsed,
    }
}

/// Something that can go wrong so often, brought in by a flag.
fn faults(name: &str, number: u8, flag: &str, what: &str) -> Dimension {
    match number {
        0 => Dimension::new(name, false, format!("{flag} brings it in")),
        _ => Dimension::new(name, true, format!("up to {number} on a path: {what}")),
    }
}

fn cannot(scenario: &Scenario, why: &str) -> ExploreError {
    ExploreError::NotExplorable { scenario: scenario.name.clone(), why: why.to_string() }
}
