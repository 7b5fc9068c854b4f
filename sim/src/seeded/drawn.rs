//! What a seed draws: every number that a scenario leaves open, in a form that can be printed.

use crate::scenario::faults::Fault;
use crate::scenario::run::Run;
use crate::scenario::script::Script;
use crate::seeded::containers::Containers;
use crate::seeded::pace::Pace;
use crate::seeded::plan::Plan;
use crate::seeded::timings::Timings;
use crate::seeded::transport::Transport;
use std::fmt;
use vivarium_model::config::Config;
use vivarium_model::config::Election;
use vivarium_model::file_system::Metadata;
use vivarium_model::time::Duration;

/// What a seed draws: a run, and the latencies and faults by which its steps are chosen.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The run.
    pub run: Run,
    /// Latencies and durations.
    pub timings: Timings,
    /// The faults, with their times or rates.
    pub plan: Plan,
    /// The scenario's script, which no seed changes.
    pub script: Script,
    /// The relative speeds of machines during the faults.
    pub pace: Pace,
    /// The values drawn for the containers of the setup.
    pub containers: Containers,
    /// Which clients know only one server, and whether packets are retransmitted late.
    pub transport: Transport,
    /// The duration after the faults within which everything must be done.
    pub progress_bound: Duration,
}

impl Drawn {
    /// Returns the kinds of faults that last for the whole run.
    pub fn throughout(&self) -> impl Iterator<Item = Fault> {
        let by_lot = self.votes_by_lot().then_some(Fault::ElectionByLot);
        let Drawn { run, pace, containers, transport, .. } = self;
        let while_chaotic = pace.kinds().chain(containers.kinds()).chain(transport.kinds());
        while_chaotic.chain(run.aftermath.kinds()).chain(by_lot)
    }

    fn votes_by_lot(&self) -> bool {
        self.run.config.election == Election::ByLot
    }
}

/// Says how many of the servers do not vote at first.
fn roles_of_servers(config: &Config) -> String {
    let said = [(config.observers, "observers"), (config.joiners, "to join")];
    let said = said.iter().filter(|(number, _)| *number > 0);
    let said: Vec<String> = said.map(|(number, what)| format!("{number} of them {what}")).collect();
    if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) }
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Run { config, roles, rounds, chaos, .. } = &self.run;
        writeln!(f, "scenario           {}, seed {}", self.run.scenario, self.run.seed)?;
        writeln!(
            f,
            "sizes              {} servers{}, {} clients, {} rounds",
            config.servers,
            roles_of_servers(config),
            self.run.clients(),
            rounds
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
            let role = roles.get(number - 1).map(|role| format!("{role}, "));
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
        writeln!(f, "chaos              {:?}, then done in {:?}", chaos, self.progress_bound)?;
        for rule in self.script.rules() {
            writeln!(f, "script             {rule}")?;
        }
        if self.plan.is_empty() && self.throughout().next().is_none() {
            writeln!(f, "faults             none")?;
        }
        self.plan.fmt(f)?;
        self.pace.fmt(f)?;
        self.containers.fmt(f)?;
        self.transport.fmt(f)?;
        self.run.aftermath.fmt(f)?;
        if self.votes_by_lot() {
            writeln!(f, "fault              {}", Fault::ElectionByLot)?;
        }
        Ok(())
    }
}
