//! What a search found, in a form that cannot be misread.
//!
//! Exhausted is said only when nothing was left: not when a bound ended the search, not when a
//! state lay beyond the greatest depth, and not when the model withheld anything.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;
use vivarium_model::property::Objection;
use vivarium_model::verdict::Verdict;

/// A search's ending and its figures.
#[derive(Clone, Debug)]
pub struct Outcome<A> {
    /// How it ended.
    pub ending: Ending<A>,
    /// What it took.
    pub statistics: Statistics,
}

/// How a search ended.
#[derive(Clone, Debug)]
pub enum Ending<A> {
    /// Every reachable state was visited and nobody objected.
    Exhausted {
        /// Distinct states.
        states: u64,
        /// Breadth first: the most world steps that the cheapest way to any state takes. Depth
        /// first: the most steps on any way that was taken.
        depth: u32,
    },
    /// Nobody objected, but not everything was seen.
    Bounded {
        /// What stopped it.
        by: Bound,
        /// Distinct states.
        states: u64,
        /// States known and not wholly looked into. Depth first: actions not taken yet.
        frontier: u64,
    },
    /// A monitor objected, a state is stuck, or the model panicked.
    Violated(Box<Counterexample<A>>),
}

/// A way to a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample<A> {
    /// What was objected to.
    pub objection: Objection,
    /// Which of the model's initial states it starts from.
    pub initial: usize,
    /// The actions, from the initial state on.
    pub path: Vec<A>,
    /// World steps that the actions take together. (An action that panicked counts as one.)
    pub length: u32,
    /// Proven to be the shortest: the search went breadth first and was not stopped early.
    pub shortest: bool,
}

/// What kept a search from seeing everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// More than this many distinct states.
    States(u64),
    /// More than this many bytes of memory.
    Memory(u64),
    /// This much time.
    Time(Duration),
    /// The person at the keyboard, or who ends processes.
    Interrupted,
    /// States lie beyond this many steps.
    Depth(u32),
    /// The model left things out, and why.
    Withheld(BTreeSet<&'static str>),
    /// States lie outside of the model's own boundary (`within_boundary`).
    Boundary,
    /// The table of visited states has no more numbers to give: about four thousand million.
    Numbers,
}

/// What is known about ways that lead back to where they started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycles {
    /// Proven: there are none, every run comes to an end.
    None,
    /// There are.
    Found {
        /// Times that an action led back to a state on the way it was taken from.
        count: u64,
    },
    /// Nobody looked.
    NotExamined {
        /// Actions that led to a known state that is no deeper: every cycle has one of these.
        edges_back: u64,
    },
}

/// What a search took.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// States that actions led to, known or not, with the initial ones.
    pub generated: u64,
    /// Distinct states.
    pub distinct: u64,
    /// The greatest depth looked into, in world steps.
    pub depth: u32,
    /// How long it took.
    pub elapsed: Duration,
    /// The most states (depth first: actions) that waited at once.
    pub peak_frontier: u64,
    /// About what the frontier took at most, in bytes. Not part of `visited_bytes`.
    pub peak_frontier_bytes: u64,
    /// What is kept to the end, in bytes: the visited states with their predecessors, as allocated.
    pub visited_bytes: u64,
    /// About what the model held at most, in bytes: what the states are numbers of, and what it has
    /// worked out. Not part of `visited_bytes`.
    pub peak_pieces_bytes: u64,
    /// How often the model was made anew, without what no waiting state needed any more.
    pub renewals: u64,
    /// Ways that lead back.
    pub cycles: Cycles,
}

impl Statistics {
    /// States generated in a second.
    pub fn generated_per_second(&self) -> f64 {
        self.generated as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Bytes kept for ever for each distinct state.
    pub fn bytes_per_state(&self) -> f64 {
        self.visited_bytes as f64 / self.distinct.max(1) as f64
    }
}

impl<A> Outcome<A> {
    /// The verdict; or the counterexample, of which only the caller can tell time and hash.
    ///
    /// # Errors
    /// The counterexample.
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

    /// Whether something from outside stopped it: asking again would come no further.
    pub fn is_stopped(&self) -> bool {
        let stops = |by: &Bound| match by {
            Bound::States(_) | Bound::Memory(_) | Bound::Time(_) | Bound::Interrupted => true,
            Bound::Depth(_) | Bound::Withheld(_) | Bound::Boundary | Bound::Numbers => false,
        };
        matches!(&self.ending, Ending::Bounded { by, .. } if stops(by))
    }

    /// The counterexample, if it is one.
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
        }
    }
}

impl fmt::Display for Cycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cycles::None => f.write_str("no cycles"),
            Cycles::Found { count: 1 } => f.write_str("1 action closes a cycle"),
            Cycles::Found { count } => write!(f, "{} actions close a cycle", grouped(*count)),
            Cycles::NotExamined { edges_back } => {
                let edges = grouped(*edges_back);
                write!(f, "cycles were not examined ({edges} actions lead to a state no deeper)")
            }
        }
    }
}

/// A number with its thousands set apart.
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

/// Bytes in the largest unit that leaves a whole number.
fn memory(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    for (shift, unit) in units {
        if bytes >> shift > 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{} {unit}", grouped(bytes >> shift));
        }
    }
    format!("{} bytes", grouped(bytes))
}

/// A duration in the largest unit that leaves a whole number.
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
