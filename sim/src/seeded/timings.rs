//! The latencies of one run, drawn from its seed.

use crate::random::{Random, Ratio};
use std::fmt;
use vivarium_model::time::Duration;

/// A latency, uniformly distributed between base and base plus jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// The minimum.
    pub base: Duration,
    /// The largest addition to the minimum.
    pub jitter: Duration,
}

impl Latency {
    pub(crate) fn draw(self, random: &mut Random) -> Duration {
        self.base + random.span(Duration::ZERO, self.jitter)
    }
}

/// An occasional operation that takes much longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlier {
    /// The probability.
    pub ratio: Ratio,
    /// The mean of the additional time (nearly exponentially distributed).
    pub mean: Duration,
}

impl Outlier {
    /// No outliers.
    pub const NONE: Outlier = Outlier { ratio: Ratio::NEVER, mean: Duration::ZERO };
}

/// The latencies of a run.
#[derive(Clone, Debug)]
pub struct Timings {
    /// Per server: its links to other servers.
    pub servers: Vec<Latency>,
    /// Per client machine: its links to the servers.
    pub clients: Vec<Latency>,
    /// Packets that take much longer.
    pub network_outlier: Outlier,
    /// An append to the log, or one streamed piece of a snapshot.
    pub append: Latency,
    /// An fsync, or another durable write.
    pub fsync: Latency,
    /// Disk operations that take much longer.
    pub disk_outlier: Outlier,
    /// A program's reaction.
    pub program: Latency,
    /// A request to an outside resource.
    pub resource: Latency,
}

impl Timings {
    /// Draws the latencies of one run.
    pub(crate) fn draw(servers: u8, clients: u8, random: &mut Random) -> Timings {
        // Upper bounds of (base, jitter) in microseconds: one machine room, a region, a slow region.
        let profiles = [(300, 200), (300, 200), (2_000, 3_000), (10_000, 10_000)];
        let (base, jitter) = *random.pick(&profiles);
        let mut links = |count: u8| -> Vec<Latency> {
            (0..count).map(|_| draw_latency(random, base, jitter)).collect()
        };
        Timings {
            servers: links(servers),
            clients: links(clients),
            network_outlier: Outlier {
                ratio: *random.pick(&[Ratio::NEVER, Ratio::one_in(1_000), Ratio::one_in(100)]),
                mean: random.span(milliseconds(5), milliseconds(60)),
            },
            append: draw_latency(random, 20, 60),
            fsync: *random.pick(&[
                Latency { base: microseconds(100), jitter: microseconds(400) },
                Latency { base: milliseconds(1), jitter: milliseconds(2) },
                Latency { base: milliseconds(4), jitter: milliseconds(8) },
            ]),
            disk_outlier: Outlier {
                ratio: *random.pick(&[Ratio::NEVER, Ratio::one_in(500), Ratio::one_in(50)]),
                mean: random.span(milliseconds(10), milliseconds(100)),
            },
            program: Latency { base: microseconds(1), jitter: microseconds(20) },
            resource: draw_latency(random, 1_000, 2_000),
        }
    }
}

fn draw_latency(random: &mut Random, base: u64, jitter: u64) -> Latency {
    Latency {
        base: microseconds(random.between(base / 4, base)),
        jitter: microseconds(random.between(jitter / 4, jitter)),
    }
}

fn milliseconds(span: u64) -> Duration {
    Duration::from_millis(span)
}

fn microseconds(span: u64) -> Duration {
    Duration::from_micros(span)
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
