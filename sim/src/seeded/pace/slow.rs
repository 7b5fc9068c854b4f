//! Programs, packets and commits that are occasionally slow.

use crate::random::{Random, Ratio};
use std::fmt;
use vivarium_model::time::Duration;

/// The smallest additional time.
const LEAST: Duration = Duration::from_millis(1);

/// The longest delays of a packet, in milliseconds. A session timeout is at least a second, and a learner's
/// connection is closed after a similar time.
const PACKETS: [u64; 3] = [5, 50, 300];

/// The longest times until a server applies a commit, in milliseconds: its CommitProcessor waits for slow reads, for
/// its turn, or for the watches of the previous transaction.
const COMMITS: [u64; 3] = [5, 50, 500];

/// The longest delays of a program, in milliseconds.
const PROGRAMS: [u64; 4] = [20, 200, 1_000, 5_000];

/// Who is occasionally slow, and how slow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowReactions {
    /// Per client: its program, before it handles an input.
    pub programs: Vec<Stretch>,
    /// Per client: a packet from or to its server, including the work of either before sending or after receiving.
    pub clients: Vec<Stretch>,
    /// Per server: a packet from or to another server.
    pub servers: Vec<Stretch>,
    /// Per server: its CommitProcessor, before it applies a commit.
    pub commits: Vec<Stretch>,
}

/// How often something takes longer, and how much longer at most. The additional time is uniformly distributed over
/// the orders of magnitude from a millisecond up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The probability of an additional time.
    pub ratio: Ratio,
    /// The largest additional time.
    pub longest: Duration,
}

impl Stretch {
    /// Never slower.
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
    /// Draws who is slow: one program and about half of the others. Each of the other groups (packets of clients,
    /// packets of servers, commits) is slow in about half of the runs, drawn in the same way.
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

    /// Returns the longest delay of a program.
    pub(super) fn longest_reaction(&self) -> Duration {
        self.programs.iter().map(|stretch| stretch.longest).max().unwrap_or_default()
    }
}

/// The delays of one program, link or server in a run.
#[derive(Clone, Debug)]
pub(crate) struct Stretched {
    stretch: Stretch,
    random: Random,
}

impl Stretched {
    /// Returns `None` if it is never slow.
    pub(crate) fn new(stretch: Option<Stretch>, random: Random) -> Option<Stretched> {
        let stretch = stretch.filter(|stretch| !stretch.is_none())?;
        Some(Stretched { stretch, random })
    }

    /// Returns the additional time of the next step.
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
