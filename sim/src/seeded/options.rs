//! Everything that a seed decides before its run begins, drawn here and printed.
//!
//! Swarm style: each seed has its own sizes, timeouts, latencies and probabilities, and each kind
//! of fault is on or off for the whole run, so that over many seeds every combination of few and
//! many faults comes up.

use crate::scenario::{Explored, Limits, Scenario};
use crate::seeded::faults::FaultSet;
use crate::seeded::latency::{Latency, Outlier};
use crate::seeded::pace::Pace;
use crate::seeded::plan::Plan;
use crate::seeded::random::{Random, Ratio, Seeds};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use vivarium_model::config::{ClientConfig, Config};
use vivarium_model::id::ServerId;
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
    /// For how long faults happen.
    pub chaos: Duration,
    /// How long after that everything must be done.
    pub progress_bound: Duration,
    /// If this is no run of a seed but a search: what it can do to programs that let it.
    pub search: Option<Search>,
}

/// What a search can do to programs that give it an opportunity. Each one that they give and it
/// does not take costs states, so they should give no other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// It cancels.
    pub cancels: bool,
    /// It lets a timer fire although something else could happen first.
    pub timers: bool,
}

/// How long things take.
#[derive(Clone, Debug)]
pub struct Timings {
    /// Per server: its links to other servers.
    pub servers: Vec<Latency>,
    /// Per client machine: its links to the servers.
    pub clients: Vec<Latency>,
    /// Packets that take much longer.
    pub network_outlier: Outlier,
    /// An append to the log, or one piece of a snapshot streamed.
    pub append: Latency,
    /// An fsync, or one other durable write.
    pub fsync: Latency,
    /// Disk operations that take much longer.
    pub disk_outlier: Outlier,
    /// A program's reaction.
    pub program: Latency,
    /// A request to an outside resource.
    pub resource: Latency,
}

impl Drawn {
    /// Draws the options of a scenario's run with this seed.
    pub fn draw(scenario: &Scenario, seed: u64) -> Drawn {
        let seeds = Seeds::new(seed);
        let random = &mut seeds.stream("options", 0);
        let servers = scenario.servers.draw_small(random, 1);
        let clients = scenario.clients.draw_small(random, 0);
        let rounds = scenario.rounds.draw(random);
        let mut config =
            draw_config(servers, clients, scenario.limits, &mut seeds.stream("config", 0));
        config.bugs = scenario.bugs;
        config.setup = scenario.setup.clone();
        scenario.settings.apply(&mut config);
        let timings = draw_timings(servers, clients, &mut seeds.stream("timings", 0));
        Drawn {
            scenario: scenario.name.clone(),
            seed,
            clients,
            roles: scenario.settings.roles.clone(),
            rounds,
            config,
            timings,
            plan: Plan::draw(scenario.faults, scenario.chaos, &seeds),
            pace: Pace::draw(scenario.faults, servers, clients, &seeds),
            chaos: scenario.chaos,
            progress_bound: scenario.progress_bound,
            search: None,
        }
    }

    /// The smallest form of a scenario, for a search: one round, nothing drawn.
    pub fn explored(scenario: &Scenario, clients: u8, search: Search) -> Drawn {
        let quiet = Scenario { faults: FaultSet::NONE, ..scenario.clone() };
        let setup = match &scenario.explored {
            Explored::Programs { setup } => scenario.setup.clone().and(setup),
            Explored::Servers(_) | Explored::No(_) => scenario.setup.clone(),
        };
        let mut config = Config { bugs: scenario.bugs, setup, ..Config::new(1, clients) };
        scenario.settings.apply(&mut config);
        let timings = draw_timings(1, clients, &mut Seeds::new(0).stream("timings", 0));
        let search = Some(search);
        Drawn { clients, rounds: 1, config, timings, search, ..Drawn::draw(&quiet, 0) }
    }

    /// Whether this is for a search.
    pub fn is_explored(&self) -> bool {
        self.search.is_some()
    }

    /// What a replay must know beside the configuration, by name, as text.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        let rounds = ("rounds".to_string(), self.rounds.to_string());
        BTreeMap::from([rounds])
    }
}

fn milliseconds(span: u64) -> Duration {
    Duration::from_millis(span)
}

fn microseconds(span: u64) -> Duration {
    Duration::from_micros(span)
}

/// Small limits reach the rare paths (SNAP, TRUNC, fuzzy snapshots) within seconds; short ticks
/// make sessions expire within a run.
fn draw_config(servers: u8, clients: u8, limits: Limits, random: &mut Random) -> Config {
    let (ticks, commit_log_counts, snap_counts, largest_piece): (&[u64], &[usize], &[u32], u64) =
        match limits {
            Limits::Varied => {
                (&[200, 300, 500, 1_000, 2_000], &[2, 5, 20, 500], &[4, 10, 40, 100_000], 4)
            }
            Limits::Tight => (&[100, 200, 300], &[1, 2, 3, 5], &[2, 3, 5, 10, 40], 2),
        };
    let tick = *pick(random, ticks);
    // At least a second and a half of silence before anyone is taken for dead: an fsync or two and
    // a delayed packet must not end every leadership.
    let least_ticks = 1_500_u64.div_ceil(tick).max(2);
    let mut config = Config::new(servers, clients);
    config.tick = milliseconds(tick);
    config.init_limit = random.between(2 * least_ticks, 3 * least_ticks) as u32;
    config.sync_limit = random.between(least_ticks, 2 * least_ticks) as u32;
    config.commit_log_count = *pick(random, commit_log_counts);
    config.snap_count = *pick(random, snap_counts);
    config.snapshot_piece = random.between(1, largest_piece) as usize;
    for client in &mut config.clients {
        *client = draw_client(servers, tick, random);
    }
    config
}

/// A session timeout of 2 to 10 ticks, but neither so short that a reconnect (up to a second of
/// waiting) must lose the session nor so long that no session ever expires in a run.
fn draw_client(servers: u8, tick: u64, random: &mut Random) -> ClientConfig {
    let timeout = (tick * random.between(2, 10)).clamp(1_200, 6_000);
    let mut list: Vec<ServerId> = (1..=servers).map(ServerId).collect();
    random.shuffle(&mut list);
    ClientConfig::new(milliseconds(timeout), list)
}

fn draw_timings(servers: u8, clients: u8, random: &mut Random) -> Timings {
    // Upper bounds in microseconds of (base, jitter): one machine room, a region, a slow region.
    let profiles = [(300, 200), (300, 200), (2_000, 3_000), (10_000, 10_000)];
    let (base, jitter) = *pick(random, &profiles);
    let mut links = |count: u8| -> Vec<Latency> {
        (0..count).map(|_| draw_latency(random, base, jitter)).collect()
    };
    Timings {
        servers: links(servers),
        clients: links(clients),
        network_outlier: Outlier {
            ratio: *pick(random, &[Ratio::NEVER, Ratio::one_in(1_000), Ratio::one_in(100)]),
            mean: random.span(milliseconds(5), milliseconds(60)),
        },
        append: draw_latency(random, 20, 60),
        fsync: *pick(
            random,
            &[
                Latency { base: microseconds(100), jitter: microseconds(400) },
                Latency { base: milliseconds(1), jitter: milliseconds(2) },
                Latency { base: milliseconds(4), jitter: milliseconds(8) },
            ],
        ),
        disk_outlier: Outlier {
            ratio: *pick(random, &[Ratio::NEVER, Ratio::one_in(500), Ratio::one_in(50)]),
            mean: random.span(milliseconds(10), milliseconds(100)),
        },
        program: Latency { base: microseconds(1), jitter: microseconds(20) },
        resource: draw_latency(random, 1_000, 2_000),
    }
}

fn draw_latency(random: &mut Random, base: u64, jitter: u64) -> Latency {
    Latency {
        base: microseconds(random.between(base / 4, base)),
        jitter: microseconds(random.between(jitter / 4, jitter)),
    }
}

fn pick<'a, T>(random: &mut Random, items: &'a [T]) -> &'a T {
    &items[random.below(items.len() as u64) as usize]
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}..{:?}", self.base, self.base + self.jitter)
    }
}

impl fmt::Display for Outlier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ratio.times == 0 {
            return f.write_str("none");
        }
        write!(f, "{} by {:?} on average", self.ratio, self.mean)
    }
}

impl fmt::Display for Timings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |latencies: &[Latency]| {
            let texts: Vec<String> = latencies.iter().map(ToString::to_string).collect();
            texts.join(", ")
        };
        writeln!(f, "links of servers   {}", list(&self.servers))?;
        writeln!(f, "links of clients   {}", list(&self.clients))?;
        writeln!(f, "slow packets       {}", self.network_outlier)?;
        writeln!(f, "disk               append {}, fsync {}", self.append, self.fsync)?;
        writeln!(f, "slow disk          {}", self.disk_outlier)?;
        writeln!(f, "programs           react in {}, resource {}", self.program, self.resource)
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
             snapCount {}, {} znodes per snapshot piece",
            config.tick,
            config.init_limit,
            config.sync_limit,
            config.commit_log_count,
            config.snap_count,
            config.snapshot_piece
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
        if self.plan.is_empty() && self.pace.is_empty() {
            return writeln!(f, "faults             none");
        }
        self.plan.fmt(f)?;
        self.pace.fmt(f)
    }
}
