//! Slow reactions and priorities, which make narrow interleavings common.
//!
//! A program reacts within microseconds, so steps of others rarely happen between two of its calls. Two kinds of
//! faults change that in some seeds. Neither breaks anything.
//!
//! * **Slow reactions** ([`Fault::SlowReactions`], [`SlowReactions`]): some programs occasionally react slowly (and
//!   so learn of a watch event late, or act late on what they have read), and so do packets between some clients and
//!   their servers, and between servers. The delays cover orders of magnitude, from a round trip to seconds.
//! * **Priorities** ([`Fault::Priorities`], [`Priorities`]): a program waits with its next step for those of higher
//!   priority, and a few times in a run the program that would react falls behind all others. The idea is
//!   *probabilistic concurrency testing* (Burckhardt, Kothari, Musuvathi and Nagarakatte, "A randomized scheduler
//!   with probabilistic guarantees of finding bugs", ASPLOS 2010): an error that needs d steps in a certain order
//!   shows if d - 1 changes of priority happen at the right places. Threads there have no clock; here a sleeping
//!   program would keep all others waiting, so the wait is bounded: see [`Priorities`].
//!
//! Such a run is nevertheless a legal one. The model has no upper bound on latencies (rule 6.1.2: the network is
//! asynchronous, and so are all schedulers). Connections stay first in, first out, and a program gets its inputs in
//! order. Only the reactions of programs take seconds, while their client machines continue to answer pings; packets
//! are delayed by less than the shortest session timeout. Both faults end when faults are healed: whatever is then
//! delayed happens within [`Pace::longest`], long before the bound on progress.

mod priorities;
mod slow;

pub use priorities::Priorities;
pub(crate) use priorities::Waiting;
pub(crate) use slow::Stretched;
pub use slow::{SlowReactions, Stretch};

use crate::random::{Random, Seeds};
use crate::scenario::faults::{Fault, FaultSet, purpose};
use std::fmt;
use vivarium_model::time::Duration;

/// The slow reactions and priorities of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Who is occasionally slow.
    pub slow: Option<SlowReactions>,
    /// Which programs wait for which.
    pub priorities: Option<Priorities>,
}

impl Pace {
    /// Draws the pace of a seed. Each of the two kinds has a random stream of its own.
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

    /// Returns true if the run has neither fault.
    pub fn is_empty(&self) -> bool {
        self.kinds().next().is_none()
    }

    /// Returns the kinds of faults in this run.
    pub fn kinds(&self) -> impl Iterator<Item = Fault> {
        let slow = self.slow.as_ref().map(|_| Fault::SlowReactions);
        slow.into_iter().chain(self.priorities.as_ref().map(|_| Fault::Priorities))
    }

    /// Returns the longest delay that they cause for a program's reaction.
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
