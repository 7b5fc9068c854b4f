//! The options of one run: every number that a scenario leaves open, as drawn from a seed, in a form that can be
//! printed.

use crate::budget::programs::Budget;
use crate::seeded::aftermath::Aftermath;
use crate::seeded::containers::Containers;
use crate::seeded::faults::Fault;
use crate::seeded::pace::Pace;
use crate::seeded::plan::Plan;
use crate::seeded::timings::Timings;
use crate::seeded::transport::Transport;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use vivarium_model::config::{Config, Election};
use vivarium_model::file_system::Metadata;
use vivarium_model::time::Duration;

/// The options of one run.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The scenario's name.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// The number of client machines.
    pub clients: u8,
    /// The role of each client; empty if the scenario has no roles.
    pub roles: Vec<Arc<str>>,
    /// How often each program repeats its task.
    pub rounds: u32,
    /// The ensemble and its clients.
    pub config: Config,
    /// Latencies and durations.
    pub timings: Timings,
    /// The faults, with their times or rates.
    pub plan: Plan,
    /// The relative speeds of machines during the faults.
    pub pace: Pace,
    /// The values drawn for the containers of the setup.
    pub containers: Containers,
    /// Which clients know only one server, and whether packets are retransmitted late.
    pub transport: Transport,
    /// The state of the ensemble after all faults have ended.
    pub aftermath: Aftermath,
    /// The duration of the faults.
    pub chaos: Duration,
    /// The duration after the faults within which everything must be done.
    pub progress_bound: Duration,
    /// If these options are for a search instead of a run of a seed: what the search can do to programs that allow it.
    /// Each opportunity to cancel or to end a sleep early costs states even if the search never takes it, so programs
    /// should offer only those for which the budget has some. In a search with faults, programs may also do less.
    pub search: Option<Budget>,
}

impl Drawn {
    /// Returns true if these options are for a search.
    pub fn is_explored(&self) -> bool {
        self.search.is_some()
    }

    /// Returns the kinds of faults that last for the whole run.
    pub fn throughout(&self) -> impl Iterator<Item = Fault> {
        let by_lot = self.votes_by_lot().then_some(Fault::ElectionByLot);
        let Drawn { pace, containers, transport, aftermath, .. } = self;
        let while_chaotic = pace.kinds().chain(containers.kinds()).chain(transport.kinds());
        while_chaotic.chain(aftermath.kinds()).chain(by_lot)
    }

    fn votes_by_lot(&self) -> bool {
        self.config.election == Election::ByLot
    }

    /// Returns what a case file must record besides the configuration, as text by name.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        let rounds = ("rounds".to_string(), self.rounds.to_string());
        [rounds].into_iter().chain(self.aftermath.parameters()).collect()
    }
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.config;
        writeln!(f, "scenario           {}, seed {}", self.scenario, self.seed)?;
        writeln!(
            f,
            "sizes              {} servers, {} clients, {} rounds",
            config.servers, self.clients, self.rounds
        )?;
        writeln!(
            f,
            "ensemble           tickTime {:?}, initLimit {}, syncLimit {}, commitLogCount {}, \
             snapshotSizeFactor {}, snapCount {}, {} znodes per snapshot piece{}",
            config.tick,
            config.init_limit,
            config.sync_limit,
            config.commit_log_count,
            config.txn_log_sync,
            config.snap_count,
            config.snapshot_piece,
            match config.metadata {
                Metadata::Unordered => "",
                Metadata::Ordered => ", metadata durable in their order",
            }
        )?;
        for (number, client) in (1..).zip(&config.clients) {
            let list: Vec<String> = client.servers.iter().map(|id| id.0.to_string()).collect();
            let timeout = client.session_timeout;
            let role = self.roles.get(number - 1).map(|role| format!("{role}, "));
            let chroot = match &*client.chroot {
                "" | "/" => String::new(),
                chroot => format!(", chroot {chroot}"),
            };
            writeln!(
                f,
                "client {number:<11} {}session timeout {timeout:?}, servers {}{chroot}",
                role.unwrap_or_default(),
                list.join(",")
            )?;
        }
        self.timings.fmt(f)?;
        writeln!(f, "chaos              {:?}, then done in {:?}", self.chaos, self.progress_bound)?;
        if self.plan.is_empty() && self.throughout().next().is_none() {
            writeln!(f, "faults             none")?;
        }
        self.plan.fmt(f)?;
        self.pace.fmt(f)?;
        self.containers.fmt(f)?;
        self.transport.fmt(f)?;
        self.aftermath.fmt(f)?;
        if self.votes_by_lot() {
            writeln!(f, "fault              {}", Fault::ElectionByLot)?;
        }
        Ok(())
    }
}
