//! What a search is asked for: how far it goes, and how.

use super::varied::Varied;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use vivarium_model::config::Election;
use vivarium_model::file_system::Metadata;
use vivarium_sim::Servers;
use vivarium_sim::budget::programs::Budget;
use vivarium_sim::budget::servers::Budget as ServersBudget;
use vivarium_sim::budget::{Account, ByAccount};
use vivarium_sim::every::{Options, Strategy};

/// How far to explore, and how.
///
/// Unless told otherwise: no faults, reductions on, breadth first (so that a violation found is a
/// short one), one thread per core, at most ten million
/// states and three quarters of the machine's memory.
///
/// Each `lost`, `expiries`, … is how often that may happen on one path; together they are the
/// dimensions in which a search is exhaustive. `lost` to `deletions`, `clients` and `setup` are for programs, over
/// the service grain; `servers` to `upsets` and `election` for servers alone, over the ensemble grain (`broadcast`
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
    pub(super) said: ByAccount<Option<u8>>,
    /// By how much a reading of a clock can be late, beside an hour and the sessions' timeouts.
    pub(crate) delays: Vec<Duration>,
    pub(crate) varied: Varied,
    pub(crate) setup: Vec<String>,
    pub(crate) ensemble: Ensemble,
    pub(crate) reductions: bool,
    pub(crate) interchangeable: bool,
    pub(crate) may_be_bounded: bool,
    pub(crate) options: Options,
}

/// What is said of servers alone, beside the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ensemble {
    pub(super) election: Option<Election>,
    pub(super) applies_at_once: bool,
    pub(super) snap_count: Option<u32>,
    pub(super) metadata: Metadata,
}

impl Ensemble {
    pub(super) fn election_of(&self, smallest: Servers) -> Election {
        self.election.unwrap_or(smallest.election)
    }
}

/// The most states of a search by default: a test should not run for ever.
const MAX_STATES: u64 = 10_000_000;

/// Three quarters of the machine's memory: a search that takes more ends with a verdict, and not by the
/// system's hand. None where it is not known how much there is.
fn most_memory() -> Option<u64> {
    let about = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = about.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024 / 4 * 3)
}

macro_rules! methods {
    ($(
        $grain:ident over $Grain:ident {
            $($(#[$doc:meta])* $field:ident: $Account:ident { $($rest:tt)* })*
        }
    )*) => {
        /// The budget: one method for each account.
        impl Exploration {
            $($(
                $(#[$doc])*
                #[must_use]
                pub fn $field(self, $field: u8) -> Exploration {
                    self.with(Account::$Account, $field)
                }
            )*)*
        }
    };
}

vivarium_sim::accounts!(methods);

impl Exploration {
    /// With so much of an account.
    #[must_use]
    pub(crate) fn with(mut self, account: Account, number: u8) -> Exploration {
        self.said[account] = Some(number);
        self
    }

    /// With this budget.
    #[must_use]
    pub(super) fn with_all(self, budget: Budget) -> Exploration {
        budget.each().fold(self, |asked, (account, number)| asked.with(account, number))
    }

    /// The number that was given.
    pub(super) fn said(&self, account: Account) -> Option<u8> {
        self.said[account]
    }

    /// The numbers that were given, as flags of the command line.
    #[cfg(feature = "conform")]
    pub(crate) fn flags(&self) -> String {
        let said = |account: Account| Some(format!("{} {}", account.flag(), self.said(account)?));
        let snap_count = self.ensemble.snap_count.map(|count| format!("--snap-count {count}"));
        let flags = Account::ALL.into_iter().filter_map(said).chain(snap_count);
        flags.collect::<Vec<_>>().join(" ")
    }

    /// What may happen to programs on a path.
    pub(crate) fn budget(&self) -> Budget {
        Budget::by(|account| self.said(account).unwrap_or(account.usual()))
    }

    /// What may happen to servers on a path.
    pub(super) fn budget_of_servers(&self, smallest: Servers) -> ServersBudget {
        // Only where any server can be elected can there be an upset.
        let any = self.ensemble.election_of(smallest) == Election::Any;
        let usual = |account: Account| match account {
            Account::Upsets if any => account.usual(),
            Account::Upsets => 0,
            _ => smallest.budget[account],
        };
        ServersBudget::by(|account| self.said(account).unwrap_or(usual(account)))
    }
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
            said: ByAccount::default(),
            delays: Vec::new(),
            varied: Varied::default(),
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

    /// A server takes a background snapshot when its log thread has written between half of `snap_count` transactions and
    /// all of them since the last one (`snapCount`): 2 to 510. Unless this is called there are none.
    #[must_use]
    pub fn snap_count(mut self, snap_count: u32) -> Exploration {
        self.ensemble.snap_count = Some(snap_count);
        self
    }

    /// When servers' file systems make changes of directories and of files' lengths durable. Unless this is called, in any
    /// order, or never.
    #[must_use]
    pub fn metadata(mut self, metadata: Metadata) -> Exploration {
        self.ensemble.metadata = metadata;
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
}
