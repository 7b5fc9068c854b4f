//! What a run is of its scenario: every number that was left open, decided, and printed.

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
    /// How many client machines there are.
    pub clients: u8,
    /// The role of each client, where they have different ones.
    pub roles: Vec<Arc<str>>,
    /// How often each program does what it does.
    pub rounds: u32,
    /// The ensemble and its clients.
    pub config: Config,
    /// How long things take.
    pub timings: Timings,
    /// Which faults happen, and when or how often.
    pub plan: Plan,
    /// Who is fast and who is slow while they do.
    pub pace: Pace,
    /// What is said of the setup's containers.
    pub containers: Containers,
    /// Which clients know one server, and whether packets are sent again late.
    pub transport: Transport,
    /// What it is like when all faults have ended.
    pub aftermath: Aftermath,
    /// For how long faults happen.
    pub chaos: Duration,
    /// How long after that everything must be done.
    pub progress_bound: Duration,
    /// If this is no run of a seed but a search: what it can do to programs that let it. Each opportunity that they give to
    /// cancel and to end sleeps early, and that it does not take, costs states, so they should give no other; and where it
    /// has faults they may do less.
    pub search: Option<Budget>,
}

impl Drawn {
    /// Whether this is for a search.
    pub fn is_explored(&self) -> bool {
        self.search.is_some()
    }

    /// The kinds of faults that hold throughout this run.
    pub fn throughout(&self) -> impl Iterator<Item = Fault> {
        let by_lot = self.votes_by_lot().then_some(Fault::ElectionByLot);
        let Drawn { pace, containers, transport, aftermath, .. } = self;
        let while_chaotic = pace.kinds().chain(containers.kinds()).chain(transport.kinds());
        while_chaotic.chain(aftermath.kinds()).chain(by_lot)
    }

    fn votes_by_lot(&self) -> bool {
        self.config.election == Election::ByLot
    }

    /// What a replay must know beside the configuration, by name, as text.
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
