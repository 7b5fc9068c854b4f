//! Who is fast and who is slow: what makes narrow interleavings common.
//!
//! A program reacts within microseconds, so what others do hardly ever falls between two of its calls. Two
//! kinds of faults change that in some seeds. Neither breaks anything.
//!
//! * **Slow reactions** ([`Fault::SlowReactions`], [`SlowReactions`]): some programs now and then take long
//!   before they go on (and so hear of a watch late, or act late upon what they have read), and so do packets
//!   between some clients and their servers, and between servers. How long is spread over orders of magnitude,
//!   from a round trip to seconds.
//! * **Priorities** ([`Fault::Priorities`], [`Priorities`]): a program waits with its next step for those of
//!   higher priority, and a few times in a run the one whose turn it is falls behind all others. The idea is
//!   *probabilistic concurrency testing* (Burckhardt, Kothari, Musuvathi and Nagarakatte, "A randomized
//!   scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010): a mistake that takes d steps in
//!   the wrong order shows if d - 1 changes of priority come at the right places. Threads there have no clock;
//!   here a program that sleeps would keep all others waiting, so the wait has bounds: see [`Priorities`].
//!
//! All the same such a run is a legal one. No latency has an upper bound in the model (rule 6.1.2: the network
//! is asynchronous, and so is everybody's scheduler); connections stay first in, first out, and a program gets
//! its inputs in their order; only programs' reactions take seconds, while their client machines go on to
//! answer pings, and packets are delayed by less than the shortest session timeout. Both end when faults are
//! healed: what is then under way comes within [`Pace::longest`], long before the bound on progress.

mod priorities;
mod slow;

pub use priorities::Priorities;
pub(crate) use priorities::Waiting;
pub(crate) use slow::Stretched;
pub use slow::{SlowReactions, Stretch};

use crate::seeded::faults::{Fault, FaultSet, purpose};
use crate::seeded::random::{Random, Seeds};
use std::fmt;
use vivarium_model::time::Duration;

/// Who is fast and who is slow in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Who now and then takes long.
    pub slow: Option<SlowReactions>,
    /// Who waits for whom.
    pub priorities: Option<Priorities>,
}

impl Pace {
    /// Draws the pace of a seed. Each of the two kinds has a stream of its own.
    pub fn draw(kinds: FaultSet, servers: u8, clients: u8, seeds: &Seeds) -> Pace {
        let on = |kind: Fault| -> Option<Random> {
            let mut random = seeds.stream(&purpose(kind), 0);
            let on = random.chance(kinds.rate(kind).share(kind));
            (on && kinds.has(kind)).then_some(random)
        };
        Pace {
            slow: on(Fault::SlowReactions)
                .map(|mut random| SlowReactions::draw(servers, clients, &mut random)),
            priorities: on(Fault::Priorities)
                .map(|mut random| Priorities::draw(clients, &mut random)),
        }
    }

    /// Whether everybody is as fast as ever.
    pub fn is_empty(&self) -> bool {
        self.kinds().next().is_none()
    }

    /// The kinds of faults that this run has.
    pub fn kinds(&self) -> impl Iterator<Item = Fault> {
        let slow = self.slow.as_ref().map(|_| Fault::SlowReactions);
        slow.into_iter().chain(self.priorities.as_ref().map(|_| Fault::Priorities))
    }

    /// The longest that a program's reaction takes because of it.
    pub fn longest(&self) -> Duration {
        let slow = self.slow.as_ref().map(SlowReactions::longest_reaction).unwrap_or_default();
        slow + self.priorities.as_ref().map(|waits| waits.longest).unwrap_or_default()
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.slow.iter().try_for_each(|slow| slow.fmt(f))?;
        self.priorities.iter().try_for_each(|priorities| priorities.fmt(f))
    }
}

#[cfg(test)]
mod tests;
