//! Draws everything that a seed decides before its run begins.
//!
//! As in swarm testing, each seed has its own sizes, timeouts, latencies and probabilities, and each kind of fault is
//! on or off for the whole run, so that many seeds cover every combination of few and many faults.

use crate::random::{Random, Seeds};
use crate::scenario::aftermath::{Aftermath, failed_lots};
use crate::scenario::faults::{Fault, purpose};
use crate::scenario::run::Run;
use crate::scenario::{Limits, Scenario};
use crate::seeded::containers::Containers;
use crate::seeded::drawn::Drawn;
use crate::seeded::pace::Pace;
use crate::seeded::plan::Plan;
use crate::seeded::timings::{Outlier, Timings};
use crate::seeded::transport::Transport;
use vivarium_model::config::{ClientConfig, Config, Election, TxnLogSync};
use vivarium_model::file_system::Metadata;
use vivarium_model::id::ServerId;
use vivarium_model::time::Duration;

impl Drawn {
    /// Draws the options of a scenario's run with this seed.
    pub fn draw(scenario: &Scenario, seed: u64) -> Drawn {
        let seeds = Seeds::new(seed);
        let random = &mut seeds.stream("options", 0);
        let voters = scenario.servers.draw_small(random, 1);
        let observers = scenario.observers.draw_small(&mut seeds.stream("observers", 0), 0);
        let joiners = scenario.joiners.draw_small(&mut seeds.stream("joiners", 0), 0);
        let servers = voters + observers + joiners;
        let clients = scenario.clients.draw_small(random, 0);
        let rounds = scenario.rounds.draw(random);
        let mut config =
            draw_config(servers, clients, scenario.limits, &mut seeds.stream("config", 0));
        config.observers = observers;
        config.joiners = joiners;
        config.txn_log_sync =
            draw_txn_log_sync(scenario.limits, &mut seeds.stream("txn log sync", 0));
        config.metadata = draw_metadata(&mut seeds.stream("metadata", 0));
        config.bugs = scenario.bugs;
        config.setup = scenario.setup.clone();
        scenario.settings.apply(&mut config);
        let containers = Containers::draw(scenario, &seeds);
        containers.apply(scenario, &mut config);
        let mut timings = Timings::draw(servers, clients, &mut seeds.stream("timings", 0));
        if scenario.limits == Limits::Steady {
            timings.network_outlier = Outlier::NONE;
            timings.disk_outlier = Outlier::NONE;
        }
        let aftermath = Aftermath::draw(scenario, &config, &seeds);
        config.election = draw_election(scenario, voters, &seeds);
        let transport = Transport::draw(scenario, &config, &aftermath, &seeds);
        transport.apply(&mut config);
        let progress_bound = scenario.progress_bound + failed_lots(&config);
        let pace = Pace::draw(scenario.faults, servers, clients, &seeds);
        let run = Run {
            scenario: scenario.name.clone(),
            seed,
            roles: scenario.settings.roles.clone(),
            rounds,
            config,
            chaos: scenario.chaos,
            longest_reaction: pace.longest(),
            aftermath,
            search: None,
        };
        let plan = Plan::draw(scenario.faults, scenario.chaos, &seeds);
        let script = scenario.script.clone();
        Drawn { run, timings, plan, script, pace, containers, transport, progress_bound }
    }
}

/// Draws the election. A single voter elects itself, so the fault has no effect there.
fn draw_election(scenario: &Scenario, voters: u8, seeds: &Seeds) -> Election {
    let kind = Fault::ElectionByLot;
    let on = seeds.stream(&purpose(kind), 0).chance(scenario.faults.rate(kind).share(kind));
    match on && voters > 1 && scenario.faults.has(kind) {
        true => Election::ByLot,
        false => Election::Fast,
    }
}

fn milliseconds(span: u64) -> Duration {
    Duration::from_millis(span)
}

/// Draws the configuration. Small limits reach the rare paths (SNAP, TRUNC, fuzzy snapshots) within seconds; short
/// ticks make sessions expire within a run.
fn draw_config(servers: u8, clients: u8, limits: Limits, random: &mut Random) -> Config {
    let (ticks, commit_log_counts, snap_counts, largest_piece): (&[u64], &[usize], &[u32], u64) =
        match limits {
            Limits::Varied => {
                (&[200, 300, 500, 1_000, 2_000], &[2, 5, 20, 500], &[4, 10, 40, 100_000], 4)
            }
            Limits::Tight | Limits::Steady => {
                (&[100, 200, 300], &[1, 2, 3, 5], &[2, 3, 5, 10, 40], 2)
            }
        };
    let tick = *random.pick(ticks);
    // A machine is considered dead after at least a second and a half of silence: an fsync or two and a delayed
    // packet must not end every leadership.
    let least_ticks = 1_500_u64.div_ceil(tick).max(2);
    let mut config = Config::new(servers, clients);
    config.tick = milliseconds(tick);
    config.init_limit = random.between(2 * least_ticks, 3 * least_ticks) as u32;
    config.sync_limit = random.between(least_ticks, 2 * least_ticks) as u32;
    config.commit_log_count = *random.pick(commit_log_counts);
    config.snap_count = *random.pick(snap_counts);
    config.snapshot_piece = random.between(1, largest_piece) as usize;
    for client in &mut config.clients {
        *client = draw_client(servers, tick, random);
    }
    config
}

/// Draws snapshotSizeFactor. Trees are small in a run, and a fraction of a small tree is soon exceeded by the log, so
/// the limit is often absent.
fn draw_txn_log_sync(limits: Limits, random: &mut Random) -> TxnLogSync {
    let default = TxnLogSync::default();
    let (second, third) = match limits {
        Limits::Varied => (default, TxnLogSync::Unlimited),
        Limits::Tight | Limits::Steady => (TxnLogSync::Unlimited, TxnLogSync::Unlimited),
    };
    *random.pick(&[default, second, third, TxnLogSync::Off])
}

/// Draws the order of metadata: what POSIX promises, or what most file systems do.
fn draw_metadata(random: &mut Random) -> Metadata {
    *random.pick(&[Metadata::Unordered, Metadata::Ordered])
}

/// Draws a client with a session timeout of 2 to 10 ticks, neither so short that every reconnect (which waits up to a
/// second) loses the session, nor so long that no session ever expires in a run.
fn draw_client(servers: u8, tick: u64, random: &mut Random) -> ClientConfig {
    let timeout = (tick * random.between(2, 10)).clamp(1_200, 6_000);
    let mut list: Vec<ServerId> = (1..=servers).map(ServerId).collect();
    random.shuffle(&mut list);
    ClientConfig::new(milliseconds(timeout), list)
}
