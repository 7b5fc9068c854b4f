//! What workers send each other.

use super::super::super::outcome::Bound;
use super::super::shared::Totals;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A generated state, for its owner.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Candidate {
    /// Its fingerprint.
    pub(super) state: u128,
    /// The fingerprint of the previous state; its own for an initial state.
    pub(super) from: u128,
    /// The index of the action, or that of the initial state.
    pub(super) action: u32,
    /// World steps from the start.
    pub(super) level: u32,
    /// Whether the action may be part of a cycle if the state is known and no deeper.
    pub(super) is_flat: bool,
    /// The number by which its maker knows it in this round.
    pub(super) number: u32,
}

/// Candidates of one worker for one owner.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Batch {
    pub(super) to: u32,
    pub(super) by: u32,
    /// The level of the states before them; `None` if they are initial states.
    pub(super) below: Option<u32>,
    pub(super) candidates: Vec<Candidate>,
    /// What the sender owns and found stale itself.
    pub(super) stale: Vec<(u128, u32)>,
}

/// An owner's answer to a batch. Whatever is not in it is known.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) to: u32,
    /// The numbers of new states.
    pub(super) new: Vec<u32>,
    /// The numbers of states that were reached in fewer steps than before, and now wait at a lower level.
    pub(super) cheaper: Vec<u32>,
    /// The states' copies that became useless by this, by their levels: for all workers, since any may hold one.
    pub(super) stale: Vec<(u128, u32)>,
}

impl Answer {
    /// Returns the answer, and what it says is stale, for all workers. The owner `own` has also sent what is stale.
    pub(super) fn spread(
        self,
        own: u32,
        stale: Vec<(u128, u32)>,
        workers: u32,
    ) -> impl Iterator<Item = Answer> {
        let workers = if self.stale.is_empty() { 0 } else { workers };
        let others = (0..workers).filter(|to| *to != self.to);
        let others = others.map(|to| Answer { to, stale: self.stale.clone(), ..Answer::default() });
        let own = Answer { to: own, stale, ..Answer::default() };
        let all: Vec<Answer> = others.chain([own]).collect();
        all.into_iter().chain([self]).filter(|answer| !answer.is_empty())
    }

    fn is_empty(&self) -> bool {
        self.new.is_empty() && self.cheaper.is_empty() && self.stale.is_empty()
    }
}

/// A state that another worker takes over, by the way to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Given {
    pub(super) state: u128,
    /// How much of the way is that of the one before.
    pub(super) shared: u32,
    /// The rest: the index of an initial state if nothing is shared, then the indices of actions.
    pub(super) rest: Vec<u32>,
}

/// States that another worker takes over, in the order of their ways.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Gift {
    pub(super) to: u32,
    pub(super) level: u32,
    pub(super) states: Vec<Given>,
}

/// What a worker tells all others after a round.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) to: u32,
    pub(super) worker: u32,
    /// The number of the report. A fast worker may send the next one early.
    pub(super) time: u64,
    /// The least level with states, and how many states this worker holds there.
    pub(super) least: Option<(u32, u64)>,
    /// The first worker of each process tells what its process counted.
    pub(super) totals: Option<Totals>,
    /// The best violation of its process, as JSON.
    pub(super) found: Option<String>,
    /// Why its process wants to stop.
    pub(super) halt: Option<Halt>,
    /// How the state that all look for was reached, if this worker owns it: the previous state and the action.
    pub(super) link: Option<(u128, u32)>,
    /// The first worker: whether it is time for a checkpoint.
    pub(super) is_due: bool,
    /// Why this worker's part of a checkpoint could not be written.
    pub(super) unwritten: Option<String>,
    /// Whether this worker has a part of a checkpoint, if only of another search that the same call makes.
    pub(super) has_part: bool,
    /// The moments that this worker has a part of.
    pub(super) moments: Vec<(u64, u64)>,
    /// Outside of a search: what a process says to all.
    pub(super) said: String,
}

/// A bound that stops the search in all processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Halt {
    States(u64),
    Memory(u64),
    Time(Duration),
    Interrupted,
    Numbers,
    Checkpoint(String),
    Cluster(String),
}

impl Halt {
    /// Returns `None` for a bound that does not stop a search.
    pub(super) fn of(bound: Bound) -> Option<Halt> {
        Some(match bound {
            Bound::States(states) => Halt::States(states),
            Bound::Memory(bytes) => Halt::Memory(bytes),
            Bound::Time(time) => Halt::Time(time),
            Bound::Interrupted => Halt::Interrupted,
            Bound::Numbers => Halt::Numbers,
            Bound::Checkpoint(sentence) => Halt::Checkpoint(sentence),
            Bound::Cluster(sentence) => Halt::Cluster(sentence),
            Bound::Depth(_) | Bound::Withheld(_) | Bound::Boundary => return None,
        })
    }

    pub(super) fn bound(self) -> Bound {
        match self {
            Halt::States(states) => Bound::States(states),
            Halt::Memory(bytes) => Bound::Memory(bytes),
            Halt::Time(time) => Bound::Time(time),
            Halt::Interrupted => Bound::Interrupted,
            Halt::Numbers => Bound::Numbers,
            Halt::Checkpoint(sentence) => Bound::Checkpoint(sentence),
            Halt::Cluster(sentence) => Bound::Cluster(sentence),
        }
    }
}
