//! What a search is asked for: how far it goes, and how.

use super::varied::Varied;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use vivarium_model::config::Election;
use vivarium_model::file_system::Metadata;
use vivarium_sim::Servers;
use vivarium_sim::every::programs::Budget;
use vivarium_sim::every::servers::Budget as EnsembleBudget;
use vivarium_sim::every::{Options, Strategy};

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
    pub(crate) varied: Varied,
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
    pub(super) servers: Option<u8>,
    pub(super) txns: Option<u8>,
    pub(super) crashes: Option<u8>,
    pub(super) breaks: Option<u8>,
    pub(super) timeouts: Option<u8>,
    pub(super) fsync_errors: Option<u8>,
    pub(super) upsets: Option<u8>,
    pub(super) election: Option<Election>,
    pub(super) applies_at_once: bool,
    pub(super) snap_count: Option<u32>,
    pub(super) metadata: Metadata,
}

/// What may go wrong in programs by default.
pub(super) const UNASKED: Budget =
    Budget { lost: 0, expiries: 0, cancels: 0, timers: 0, kills: 0, delays: 1, deletions: 0 };

impl Ensemble {
    pub(super) fn election_of(&self, smallest: Servers) -> Election {
        self.election.unwrap_or(smallest.election)
    }

    /// What may happen on a path.
    pub(super) fn budget(&self, smallest: Servers) -> EnsembleBudget {
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
            varied: Varied::default(),
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
    /// after, or before the reply is read. If the reply to a connect request is lost, the session exists and its client
    /// never learns of it.
    ///
    /// An attempt to connect again that is refused is one more: an outage that fails two calls in a row, the second
    /// while it was queued for the next connection, is two.
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

    /// How many containers and TTL znodes the leader may delete on one path although something else could happen first:
    /// none, unless this is called. A container can go when it is empty and was not always, a TTL znode when it has no
    /// children, however long its time to live.
    ///
    /// Where nothing else can happen they go anyway, as long as a program has not finished. (If this is 0 and servers have no
    /// [`extended_types`](vivarium_model::config::ServerOptions::extended_types), none ever goes: a container then stays.)
    #[must_use]
    pub fn deletions(mut self, deletions: u8) -> Exploration {
        self.budget.deletions = deletions;
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
