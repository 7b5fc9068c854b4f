//! The options of a search: its bounds and its strategy.

use super::varied::Varied;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use vivarium_model::config::Election;
use vivarium_model::file_system::Metadata;
use vivarium_sim::Servers;
use vivarium_sim::budget::programs::Budget;
use vivarium_sim::budget::servers::Budget as ServersBudget;
use vivarium_sim::budget::{Account, ByAccount};
#[cfg(feature = "cluster")]
use vivarium_sim::every::Cluster;
use vivarium_sim::every::programs::Apart;
use vivarium_sim::every::{Checkpoint, Checkpoints, Options, Strategy};

/// The options of a search: its bounds and its strategy.
///
/// By default there are no faults, reductions are on, and the search is breadth first (so that a violation found is a
/// short one), with one thread per core, at most ten million states and three quarters of the machine's memory.
///
/// Each of `lost`, `expiries`, … is the number of times that this may happen on one path; together they are the
/// dimensions in which a search is exhaustive. `lost` to `deletions`, `clients` and `setup` apply to programs, over
/// the service grain; `servers` to `upsets` and `election` apply to servers alone, over the ensemble grain
/// (`broadcast` and `election` of the catalogue), which have defaults of their own.
///
/// A program that can retry without end has runs without end, and only a bound ends its search. Beware of retrying
/// immediately after [`Error::SessionExpired`](crate::prelude::Error): a leader returns it before the client's server
/// knows, so [`connect`](crate::prelude::ZooKeeper::connect) still returns the old session, and the next request is
/// refused again. First wait for the end of the session in
/// [`session_events`](crate::prelude::ZooKeeper::session_events).
#[derive(Clone, Debug)]
pub struct Exploration {
    pub(crate) clients: Option<u8>,
    pub(super) said: ByAccount<Option<u8>>,
    /// The spans by which a reading of a clock can be late, in addition to an hour and the sessions' timeouts.
    pub(crate) delays: Vec<Duration>,
    pub(crate) varied: Varied,
    pub(crate) setup: Vec<String>,
    pub(crate) ensemble: Ensemble,
    pub(crate) reductions: bool,
    pub(crate) symmetry: bool,
    /// Clients that a search found to be told apart.
    pub(crate) apart: Vec<Apart>,
    pub(crate) may_be_bounded: bool,
    pub(crate) options: Options,
}

/// The options for servers alone, other than the budget.
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

/// The default for the most states of a search, so that a test ends.
const MAX_STATES: u64 = 10_000_000;

/// Returns three quarters of the machine's memory: a search that needs more ends with a verdict, before the system
/// kills the process. Returns `None` if the size of the memory is unknown.
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
    /// Sets one account of the budget.
    #[must_use]
    pub(crate) fn with(mut self, account: Account, number: u8) -> Exploration {
        self.said[account] = Some(number);
        self
    }

    /// Sets the whole budget.
    #[must_use]
    pub(super) fn with_all(self, budget: Budget) -> Exploration {
        budget.each().fold(self, |asked, (account, number)| asked.with(account, number))
    }

    /// Returns the number that was set for an account.
    pub(super) fn said(&self, account: Account) -> Option<u8> {
        self.said[account]
    }

    /// Returns the numbers that were set, as flags of the command line.
    #[cfg(feature = "conform")]
    pub(crate) fn flags(&self) -> String {
        let said = |account: Account| {
            Some(format!("{} {}", account.flag(), account.noted(self.said(account)?)))
        };
        let snap_count = self.ensemble.snap_count.map(|count| format!("--snap-count {count}"));
        let flags = Account::ALL.into_iter().filter_map(said).chain(snap_count);
        flags.collect::<Vec<_>>().join(" ")
    }

    /// Returns the number of processes that search together.
    pub(super) fn processes(&self) -> usize {
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &self.options.cluster {
            return cluster.processes();
        }
        1
    }

    /// Returns true if this process reports a violation in full.
    pub(super) fn reports(&self) -> bool {
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &self.options.cluster {
            return cluster.is_first();
        }
        true
    }

    /// Returns the options of a search that this process makes alone.
    pub(super) fn alone(&self) -> Options {
        Options {
            #[cfg(feature = "cluster")]
            cluster: None,
            #[cfg(feature = "cluster")]
            resume_together: None,
            ..self.options.clone()
        }
    }

    /// Returns the budget of programs on a path.
    pub(crate) fn budget(&self) -> Budget {
        Budget::by(|account| self.said(account).unwrap_or(account.usual()))
    }

    /// Returns the budget of servers on a path.
    pub(super) fn budget_of_servers(&self, smallest: Servers) -> ServersBudget {
        // An upset is possible only if any server can be elected.
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
    /// Creates the default options: no faults.
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
            symmetry: true,
            apart: Vec::new(),
            may_be_bounded: false,
            options: Options {
                threads,
                max_states: Some(MAX_STATES),
                max_memory: most_memory(),
                ..Options::new(Strategy::BreadthFirst)
            },
        }
    }

    /// Sets the number of clients. The default is the smallest number that the scenario allows.
    #[must_use]
    pub fn clients(mut self, clients: u8) -> Exploration {
        self.clients = Some(clients);
        self
    }

    /// Adds a span by which a reading of a program's clock can be late; choose one between two limits with which the
    /// program compares the time.
    #[must_use]
    pub fn delay(mut self, span: Duration) -> Exploration {
        self.delays.push(span);
        self
    }

    /// Adds a persistent znode without data that exists from the start, in every view. Add parents first.
    #[must_use]
    pub fn setup(mut self, path: &str) -> Exploration {
        self.setup.push(path.to_string());
        self
    }

    /// Sets how leaders are elected.
    #[must_use]
    pub fn election(mut self, election: Election) -> Exploration {
        self.ensemble.election = Some(election);
        self
    }

    /// Selects a coarser grain: a server applies a commit in the step in which it learns of the commit. The search is
    /// smaller, and misses what happens in between (rule 4.5.8); its report says so.
    #[must_use]
    pub fn applies_at_once(mut self) -> Exploration {
        self.ensemble.applies_at_once = true;
        self
    }

    /// Lets servers take background snapshots: a server begins one when its log thread has written between half of
    /// `snap_count` transactions and all of them since the last one (`snapCount`); from 2 to 510. By default there
    /// are none.
    #[must_use]
    pub fn snap_count(mut self, snap_count: u32) -> Exploration {
        self.ensemble.snap_count = Some(snap_count);
        self
    }

    /// Sets when the servers' file systems make changes of directories and of files' lengths durable. By default in
    /// any order, or never.
    #[must_use]
    pub fn metadata(mut self, metadata: Metadata) -> Exploration {
        self.ensemble.metadata = metadata;
        self
    }

    /// Sets the number of threads.
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

    /// Removes the bound on the number of states.
    #[must_use]
    pub fn unbounded(mut self) -> Exploration {
        self.options.max_states = None;
        self
    }

    /// Stops when the process uses more bytes of memory than this. The default is three quarters of the machine's
    /// memory, where its size is known (on Linux).
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

    /// Searches depth first, which needs less memory, but finds a long violation (which is then shortened).
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

    /// Searches all states, also those that differ only in which client is which. By default, if clients have the same
    /// role and options, one of these is searched, as long as neither programs nor properties tell the clients apart. The
    /// search checks that at each step that it computes. With n clients, it leaves as little as one in n! states.
    #[must_use]
    pub fn without_symmetry(mut self) -> Exploration {
        self.symmetry = false;
        self
    }

    /// Lets a test pass although a bound has stopped the search.
    #[must_use]
    pub fn may_be_bounded(mut self) -> Exploration {
        self.may_be_bounded = true;
        self
    }

    /// Breadth first: writes a checkpoint to this file every so often, and when a bound or the caller stops the search.
    /// A later search of the same goes on from it ([`Exploration::resume`]).
    #[must_use]
    pub fn checkpoints(mut self, file: impl Into<PathBuf>, every: Duration) -> Exploration {
        self.options.checkpoints = Some(Checkpoints { file: file.into(), every });
        self
    }

    /// Goes on from a checkpoint of the same search ([`Checkpoint::read`]). Its bounds and the number of threads may
    /// differ.
    #[must_use]
    pub fn resume(mut self, checkpoint: Checkpoint) -> Exploration {
        self.options.resume = Some(checkpoint);
        self
    }

    /// Breadth first: searches together with other processes, which all make the same search. The first of them
    /// reports a violation in full; the others know only that there is one.
    #[cfg(feature = "cluster")]
    #[must_use]
    pub fn cluster(mut self, cluster: Arc<Cluster>) -> Exploration {
        self.options.cluster = Some(cluster);
        self
    }

    /// In several processes: goes on from the last checkpoint that all of them have written, with this name
    /// ([`Exploration::checkpoints`]). The numbers of processes and of threads must be the same.
    #[cfg(feature = "cluster")]
    #[must_use]
    pub fn resume_together(mut self, file: impl Into<PathBuf>) -> Exploration {
        self.options.resume_together = Some(file.into());
        self
    }

    /// Stops when the caller sets this flag.
    #[must_use]
    pub fn stop(mut self, stop: Arc<AtomicBool>) -> Exploration {
        self.options.stop = Some(stop);
        self
    }
}
