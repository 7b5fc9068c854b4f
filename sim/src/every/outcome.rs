//! The result of a search, in types that cannot be misread.
//!
//! A search is exhausted only if nothing was left: no bound ended the search, no state was beyond the greatest depth,
//! and the model withheld nothing.

use super::estimate::Estimate;
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;
use vivarium_model::property::Objection;
use vivarium_model::verdict::Verdict;

/// The ending and the statistics of a search.
#[derive(Clone, Debug)]
pub struct Outcome<A> {
    /// How the search ended.
    pub ending: Ending<A>,
    /// The figures of the search.
    pub statistics: Statistics,
}

/// How a search ended.
#[derive(Clone, Debug)]
pub enum Ending<A> {
    /// Every reachable state was visited and no property was violated.
    Exhausted {
        /// Distinct states.
        states: u64,
        /// Breadth first: the greatest distance of a state from the start, in world steps. Depth first: the most steps
        /// on any path taken.
        depth: u32,
    },
    /// No property was violated, but not every state was visited.
    Bounded {
        /// The bound that stopped the search.
        by: Bound,
        /// Distinct states.
        states: u64,
        /// States that are known but not fully expanded. Depth first: actions that were not taken.
        frontier: u64,
    },
    /// A monitor objected, a state is stuck, or the model panicked.
    Violated(Box<Counterexample<A>>),
}

/// A path to a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample<A> {
    /// The violation.
    pub objection: Objection,
    /// The index of the model's initial state at which the path starts.
    pub initial: usize,
    /// The actions from the initial state on.
    pub path: Vec<A>,
    /// The number of world steps in all actions together. (An action that panicked counts as one.)
    pub length: u32,
    /// True if no shorter path exists: the search was breadth first and was not stopped early.
    pub shortest: bool,
}

/// The reason why a search did not visit every state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The number of distinct states exceeded this limit.
    States(u64),
    /// The memory exceeded this limit, in bytes.
    Memory(u64),
    /// The search took this long.
    Time(Duration),
    /// The user, or a signal to end the process, interrupted the search.
    Interrupted,
    /// Some states are beyond this many steps.
    Depth(u32),
    /// The model withheld steps, for these reasons.
    Withheld(BTreeSet<&'static str>),
    /// Some states are outside of the model's own boundary (`within_boundary`).
    Boundary,
    /// The table of visited states is full; it has about four billion numbers.
    Numbers,
    /// The search could not be resumed from its checkpoint, as this sentence says.
    Checkpoint(String),
    /// The processes that search together could not connect, or one of them was lost, as this sentence says.
    Cluster(String),
}

impl Bound {
    /// Returns true if the bound comes from outside of the model, so that the search could go on without it.
    pub(super) fn is_external(&self) -> bool {
        match self {
            Bound::States(_)
            | Bound::Memory(_)
            | Bound::Time(_)
            | Bound::Interrupted
            | Bound::Cluster(_) => true,
            Bound::Depth(_)
            | Bound::Withheld(_)
            | Bound::Boundary
            | Bound::Numbers
            | Bound::Checkpoint(_) => false,
        }
    }
}

/// What the search knows about cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycles {
    /// Proven: there is no cycle of actions. An action can be a block of steps, and cycles within it are not looked for.
    None,
    /// There are cycles.
    Found {
        /// The number of actions that led back to a state on the current path.
        count: u64,
    },
    /// The search did not look for cycles.
    NotExamined {
        /// The number of actions that may be part of a cycle. Every cycle contains one of them.
        may_close: u64,
    },
}

/// The statistics of a search.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// The states that actions led to, known or new, and the initial states.
    pub generated: u64,
    /// Distinct states.
    pub distinct: u64,
    /// The greatest depth visited, in world steps.
    pub depth: u32,
    /// The duration of the search.
    pub elapsed: Duration,
    /// How many distinct states the search would have had if no bound had stopped it. `None` if none did, and in the
    /// cases of [`Progress::estimate`](super::Progress::estimate).
    pub estimate: Option<Estimate>,
    /// The greatest number of waiting states (depth first: actions).
    pub peak_frontier: u64,
    /// The estimated greatest size of the frontier, in bytes. Not part of `visited_bytes`.
    pub peak_frontier_bytes: u64,
    /// The memory kept until the end, in bytes: the visited states with their predecessors, as allocated.
    pub visited_bytes: u64,
    /// The estimated greatest memory of the model, in bytes: the pieces of states, and cached results. Not part of
    /// `visited_bytes`.
    pub peak_pieces_bytes: u64,
    /// How often the model was replaced by one without the pieces that no waiting state needed.
    pub renewals: u64,
    /// What the search knows about cycles.
    pub cycles: Cycles,
    /// The number of visited states in the checkpoint from which the search went on.
    pub resumed_at: Option<u64>,
}

impl Statistics {
    /// Returns the generated states per second.
    pub fn generated_per_second(&self) -> f64 {
        self.generated as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Returns the memory per distinct state, in bytes, of what is kept until the end.
    pub fn bytes_per_state(&self) -> f64 {
        self.visited_bytes as f64 / self.distinct.max(1) as f64
    }
}

impl<A> Outcome<A> {
    /// Returns the verdict of a search without a violation.
    ///
    /// # Errors
    /// Returns the counterexample, for which only the caller can compute the time and hash.
    pub fn verdict(&self) -> Result<Verdict, &Counterexample<A>> {
        match &self.ending {
            Ending::Exhausted { states, depth } => {
                Ok(Verdict::Exhausted { states: *states, depth: u64::from(*depth) })
            }
            Ending::Bounded { by, states, frontier } => {
                Ok(Verdict::Bounded { by: by.to_string(), states: *states, frontier: *frontier })
            }
            Ending::Violated(counterexample) => Err(counterexample),
        }
    }

    /// Returns true if an external limit stopped the search, so that another search would get no further.
    pub fn is_stopped(&self) -> bool {
        matches!(&self.ending, Ending::Bounded { by, .. } if by.is_external())
    }

    /// Returns why the search could not go on from its checkpoint.
    pub fn unresumable(&self) -> Option<&str> {
        match &self.ending {
            Ending::Bounded { by: Bound::Checkpoint(sentence), .. } => Some(sentence),
            _ => None,
        }
    }

    /// Returns why the processes that were to search together could not begin.
    pub fn unconnected(&self) -> Option<&str> {
        match &self.ending {
            Ending::Bounded { by: Bound::Cluster(sentence), states: 0, .. } => Some(sentence),
            _ => None,
        }
    }

    /// Returns the counterexample, if a property was violated.
    pub fn counterexample(&self) -> Option<&Counterexample<A>> {
        match &self.ending {
            Ending::Violated(counterexample) => Some(counterexample),
            _ => None,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::States(states) => write!(f, "{} states", grouped(*states)),
            Bound::Memory(bytes) => write!(f, "{} of memory", memory(*bytes)),
            Bound::Time(time) => f.write_str(&duration(*time)),
            Bound::Interrupted => f.write_str("Ctrl-C or another signal to end"),
            Bound::Depth(depth) => write!(f, "a depth of {depth} steps"),
            Bound::Withheld(reasons) => {
                f.write_str(&reasons.iter().copied().collect::<Vec<_>>().join(" and "))
            }
            Bound::Boundary => f.write_str("the model's boundary"),
            Bound::Numbers => f.write_str("the size of the table of visited states"),
            Bound::Checkpoint(sentence) => write!(f, "its checkpoint: {sentence}"),
            Bound::Cluster(sentence) => f.write_str(sentence),
        }
    }
}

impl fmt::Display for Cycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cycles::None => f.write_str("no cycles of actions"),
            Cycles::Found { count: 1 } => f.write_str("1 action closes a cycle"),
            Cycles::Found { count } => write!(f, "{} actions close a cycle", grouped(*count)),
            Cycles::NotExamined { may_close: 0 } => {
                f.write_str("no cycles of actions in what was searched")
            }
            Cycles::NotExamined { may_close } => {
                let edges = grouped(*may_close);
                write!(f, "cycles were not examined ({edges} actions may be part of one)")
            }
        }
    }
}

/// Formats a number with thousands separators.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats bytes in the largest unit that leaves a whole number.
fn memory(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    for (shift, unit) in units {
        if bytes >> shift > 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{} {unit}", grouped(bytes >> shift));
        }
    }
    format!("{} bytes", grouped(bytes))
}

/// Formats a duration in the largest unit that leaves a whole number.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    if time.subsec_nanos() != 0 || seconds == 0 {
        return format!("{time:?}");
    }
    let (number, unit) = match seconds {
        _ if seconds.is_multiple_of(3600) => (seconds / 3600, "hour"),
        _ if seconds.is_multiple_of(60) => (seconds / 60, "minute"),
        _ => (seconds, "second"),
    };
    format!("{} {unit}{}", grouped(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_reads_as_it_was_asked_for() {
        let text = |bound: Bound| bound.to_string();
        assert_eq!(text(Bound::States(2_000_000)), "2,000,000 states");
        assert_eq!(text(Bound::Memory(4 << 30)), "4 GiB of memory");
        assert_eq!(text(Bound::Memory(1_536 << 20)), "1,536 MiB of memory");
        assert_eq!(text(Bound::Memory(1_000)), "1,000 bytes of memory");
        assert_eq!(text(Bound::Time(Duration::from_secs(600))), "10 minutes");
        assert_eq!(text(Bound::Time(Duration::from_secs(3_600))), "1 hour");
        assert_eq!(text(Bound::Time(Duration::from_secs(90))), "90 seconds");
        assert_eq!(text(Bound::Time(Duration::from_millis(1_500))), "1.5s");
        let reasons = BTreeSet::from(["2 timers", "1 backup"]);
        assert_eq!(text(Bound::Withheld(reasons)), "1 backup and 2 timers");
    }
}
