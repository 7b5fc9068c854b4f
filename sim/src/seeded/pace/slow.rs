//! Some who now and then take long over a step.

use crate::seeded::random::{Random, Ratio};
use std::fmt;
use vivarium_model::time::Duration;

/// What it takes longer than, at least.
const LEAST: Duration = Duration::from_millis(1);

/// The longest that a packet is delayed in milliseconds. A session timeout is a second and more, and a
/// learner is missed after as much.
const PACKETS: [u64; 3] = [5, 50, 300];

/// The longest that a server takes until it applies what is committed, in milliseconds: its CommitProcessor waits
/// for reads that take long, for its turn, or for the watches of the transaction before.
const COMMITS: [u64; 3] = [5, 50, 500];

/// The longest that a program takes, in milliseconds.
const PROGRAMS: [u64; 4] = [20, 200, 1_000, 5_000];

/// Who now and then takes long, and how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowReactions {
    /// Per client: its program, before it goes on with an input.
    pub programs: Vec<Stretch>,
    /// Per client: a packet from or to its server, what either does before it sends or reads it included.
    pub clients: Vec<Stretch>,
    /// Per server: a packet from or to another server.
    pub servers: Vec<Stretch>,
    /// Per server: its CommitProcessor, before it applies what is committed.
    pub commits: Vec<Stretch>,
}

/// How often something takes longer, and by how much at most. How much longer is spread evenly over the
/// orders of magnitude from a millisecond up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// How often.
    pub ratio: Ratio,
    /// By how much at most.
    pub longest: Duration,
}

impl Stretch {
    /// As fast as ever.
    const NONE: Stretch = Stretch { ratio: Ratio::NEVER, longest: Duration::ZERO };

    fn draw(longest: &[u64], rarest: u32, random: &mut Random) -> Stretch {
        let ratio = Ratio::one_in(1 << random.between(0, rarest.into()));
        let longest = random.choose(longest).map(Duration::from_millis).unwrap_or_default();
        Stretch { ratio, longest }
    }

    fn is_none(self) -> bool {
        self.ratio.times == 0
    }
}

impl SlowReactions {
    /// Draws who is slow: one program and about every other one of the rest; nobody else in every other run.
    pub(super) fn draw(servers: u8, clients: u8, random: &mut Random) -> SlowReactions {
        let mut some = |count: u8, always: bool, longest: &[u64], rarest: u32| -> Vec<Stretch> {
            let on = random.chance(Ratio::one_in(2)) || always;
            let first = random.below(count.into()) as u8;
            let draw = |at| {
                let stretch = Stretch::draw(longest, rarest, random);
                let is_slow = random.chance(Ratio::one_in(2)) || at == first;
                if on && is_slow { stretch } else { Stretch::NONE }
            };
            (0..count).map(draw).collect()
        };
        SlowReactions {
            programs: some(clients, true, &PROGRAMS, 3),
            clients: some(clients, false, &PACKETS, 5),
            servers: some(servers, false, &PACKETS, 5),
            commits: some(servers, false, &COMMITS, 3),
        }
    }

    /// The longest that a program takes.
    pub(super) fn longest_reaction(&self) -> Duration {
        self.programs.iter().map(|stretch| stretch.longest).max().unwrap_or_default()
    }
}

/// One who now and then takes long, in a run.
#[derive(Clone, Debug)]
pub(crate) struct Stretched {
    stretch: Stretch,
    random: Random,
}

impl Stretched {
    /// `None` for one who never does.
    pub(crate) fn new(stretch: Option<Stretch>, random: Random) -> Option<Stretched> {
        let stretch = stretch.filter(|stretch| !stretch.is_none())?;
        Some(Stretched { stretch, random })
    }

    /// How much longer the next one takes.
    pub(crate) fn longer(&mut self) -> Duration {
        if !self.random.chance(self.stretch.ratio) {
            return Duration::ZERO;
        }
        self.random.magnitude_span(LEAST, self.stretch.longest)
    }
}

impl fmt::Display for Stretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            return f.write_str("none");
        }
        write!(f, "{} by up to {:?}", self.ratio, self.longest)
    }
}

impl fmt::Display for SlowReactions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            ("programs", &self.programs),
            ("clients' packets", &self.clients),
            ("servers' packets", &self.servers),
            ("servers' commits", &self.commits),
        ];
        for (what, stretches) in all {
            if stretches.iter().all(|stretch| stretch.is_none()) {
                continue;
            }
            let texts: Vec<String> = stretches.iter().map(ToString::to_string).collect();
            writeln!(f, "fault              slow reactions of {what}: {}", texts.join(", "))?;
        }
        Ok(())
    }
}
