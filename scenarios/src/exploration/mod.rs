//! Exploring: every order of events within stated budgets, instead of those that seeds pick.
//!
//! [`Exploration`] says how far; a scenario says which programs and properties. There is one kind of
//! exploration per grain ([`programs`]: recipes and users' programs over the service grain); what
//! they share is here: the options of the search and the parts of the report.

mod programs;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use vivarium_model::case::Case;
use vivarium_model::explore::recipes::Budget;
use vivarium_model::explore::{Observer, Options, Silent, Strategy};
use vivarium_reports::exploration::ExplorationReport;
use vivarium_sim::{Choice, Explored, Scenario};

/// How far to explore, and how.
///
/// Unless told otherwise: no faults, reductions on, breadth first (so that a violation found is a
/// short one), one thread per core, at most ten million states.
///
/// Each `lost`, `expiries`, … is how often that may happen on one path; together they are the
/// dimensions in which a search is exhaustive.
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
    pub(crate) setup: Vec<Arc<str>>,
    pub(crate) reductions: bool,
    pub(crate) may_be_bounded: bool,
    pub(crate) options: Options,
}

/// So many states are looked at where nobody says how many: a test should not run for ever.
const MAX_STATES: u64 = 10_000_000;

impl Default for Exploration {
    fn default() -> Exploration {
        Exploration::new()
    }
}

impl Exploration {
    /// No faults.
    pub fn new() -> Exploration {
        let threads = NonZeroUsize::new(crate::engine::all_cores()).unwrap_or(NonZeroUsize::MIN);
        Exploration {
            clients: None,
            budget: Budget::default(),
            setup: Vec::new(),
            reductions: true,
            may_be_bounded: false,
            options: Options {
                threads,
                max_states: Some(MAX_STATES),
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
    /// time passes, and they end anyway.)
    #[must_use]
    pub fn timers(mut self, timers: u8) -> Exploration {
        self.budget.timers = timers;
        self
    }

    /// How many programs may crash, each followed by a replacement.
    #[must_use]
    pub fn kills(mut self, kills: u8) -> Exploration {
        self.budget.kills = kills;
        self
    }

    /// A persistent znode that is there from the start. Parents first.
    #[must_use]
    pub fn setup(mut self, path: &str) -> Exploration {
        self.setup.push(path.into());
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

    /// Stops when the process takes more bytes than this.
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

    fn clients_of(&self, scenario: &Scenario) -> u8 {
        let fewest = match &scenario.clients {
            Choice::Exactly(number) => *number,
            Choice::Between(low, high) => *low.min(high),
            Choice::OneOf(numbers) => numbers.iter().copied().min().unwrap_or(1),
        };
        self.clients.unwrap_or_else(|| u8::try_from(fewest).unwrap_or(u8::MAX).max(1))
    }
}

/// What an exploration found, and the way to a violation as a case.
pub(crate) struct Answer {
    pub(crate) report: ExplorationReport,
    pub(crate) case: Option<Case>,
}

/// Explores a scenario of the catalogue, or one of your own.
///
/// # Errors
/// It cannot be explored: one sentence.
pub fn explore(
    scenario: &Scenario,
    exploration: &Exploration,
) -> Result<ExplorationReport, String> {
    answer(scenario, &[], exploration, &Silent).map(|answer| answer.report)
}

/// Explores. `bugs` are the names of what is switched on in the scenario.
///
/// # Errors
/// It cannot be explored: one sentence.
pub(crate) fn answer(
    scenario: &Scenario,
    bugs: &[String],
    exploration: &Exploration,
    observer: &dyn Observer,
) -> Result<Answer, String> {
    match &scenario.explored {
        Explored::Programs { setup } => {
            Ok(programs::explore(scenario, bugs, setup, exploration, observer))
        }
        Explored::No(why) => Err(cannot(scenario, why)),
    }
}

/// Serves a browser for a scenario's states at an address, until the process ends.
///
/// # Errors
/// It cannot be explored: one sentence.
pub(crate) fn serve(
    scenario: &Scenario,
    exploration: &Exploration,
    address: std::net::SocketAddr,
) -> Result<(), String> {
    match &scenario.explored {
        Explored::Programs { setup } => {
            programs::serve(scenario, setup, exploration, address);
            Ok(())
        }
        Explored::No(why) => Err(cannot(scenario, why)),
    }
}

fn cannot(scenario: &Scenario, why: &str) -> String {
    format!("`{}` cannot be explored: {why}", scenario.name)
}
