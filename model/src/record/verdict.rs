//! The final result of an engine, in a form that cannot be misread.
//!
//! A sweep of seeds never proves anything, so it reports [`Verdict::Held`] with the number of seeds, and lists the
//! marks that it should have reached and did not. A search reports [`Verdict::Exhausted`] only if no state was left;
//! one that stopped early reports [`Verdict::Bounded`] and the limit. Neither ever prints "ok".

use crate::property::Objection;
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The outcome of a sweep, a search or a replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// No monitor objected in any of the runs.
    Held {
        /// Number of seeds that ran.
        seeds: u64,
        /// Marks that the scenario must reach and no run reached; the result does not cover them.
        unreached: Vec<String>,
    },
    /// No monitor objected, but a sweep that is long enough to reach all marks did not: a scenario of the catalogue
    /// with its own number of seeds.
    Unreached {
        /// Number of seeds that ran.
        seeds: u64,
        /// The marks that no run reached.
        unreached: Vec<String>,
    },
    /// Every reachable state was visited, and no monitor objected.
    Exhausted {
        /// Distinct states.
        states: u64,
        /// Length of the longest among the shortest paths to each state, in steps.
        depth: u64,
    },
    /// No monitor objected, but the engine stopped before it had covered everything.
    Bounded {
        /// The limit that stopped it, such as `10 minutes` or `2 million states`.
        by: String,
        /// Distinct states visited.
        states: u64,
        /// States that are known but not expanded.
        frontier: u64,
    },
    /// A monitor objected.
    Violated(Box<Violation>),
    /// The engine could not start; the text is one sentence.
    Error(String),
}

impl Verdict {
    /// Returns the exit code of a process that ends with this verdict: 0 held or exhausted, 1 violated, 2
    /// inconclusive, 3 error.
    ///
    /// Unreached marks leave the code of [`Verdict::Held`] at 0, because a few seeds cannot reach everything. The
    /// text of the [`Verdict`] lists them nevertheless.
    pub fn exit_code(&self) -> u8 {
        match self {
            Verdict::Held { .. } | Verdict::Exhausted { .. } => 0,
            Verdict::Violated(_) => 1,
            Verdict::Bounded { .. } | Verdict::Unreached { .. } => 2,
            Verdict::Error(_) => 3,
        }
    }

    /// Returns the exit code of several verdicts together. A violation outranks an error, which outranks an
    /// inconclusive result.
    pub fn exit_code_of_all<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>) -> u8 {
        let importance = |code: u8| [0, 3, 1, 2][usize::from(code)];
        verdicts
            .into_iter()
            .map(Verdict::exit_code)
            .max_by_key(|code| importance(*code))
            .unwrap_or(0)
    }

    /// Returns one word for tables and machines.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Held { .. } => "held",
            Verdict::Unreached { .. } => "unreached",
            Verdict::Exhausted { .. } => "exhausted",
            Verdict::Bounded { .. } => "bounded",
            Verdict::Violated(_) => "violated",
            Verdict::Error(_) => "error",
        }
    }

    /// Converts the verdict of a sweep that is long enough to reach all its marks: without some of them it is
    /// inconclusive.
    #[must_use]
    pub fn demanding_marks(self) -> Verdict {
        match self {
            Verdict::Held { seeds, unreached } if !unreached.is_empty() => {
                Verdict::Unreached { seeds, unreached }
            }
            other => other,
        }
    }

    /// Returns the violation, if the verdict is one.
    pub fn violation(&self) -> Option<&Violation> {
        match self {
            Verdict::Violated(violation) => Some(violation),
            _ => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Held { seeds, unreached } => {
                write!(f, "held for {seeds} seed{}", if *seeds == 1 { "" } else { "s" })?;
                if !unreached.is_empty() {
                    write!(f, ", but did not reach: {}", unreached.join(", "))?;
                }
                Ok(())
            }
            Verdict::Unreached { seeds, unreached } => write!(
                f,
                "inconclusive: held for {seeds} seeds, the scenario's default, but did not reach: {}",
                unreached.join(", ")
            ),
            Verdict::Exhausted { states, depth } => {
                write!(f, "held in all {states} states, to depth {depth}")
            }
            Verdict::Bounded { by, states, frontier } => {
                write!(f, "inconclusive: stopped by {by} after {states} states, {frontier} left")
            }
            Verdict::Violated(violation) => write!(f, "violated {}", violation.objection),
            Verdict::Error(sentence) => write!(f, "error: {sentence}"),
        }
    }
}

/// A monitor's objection and its place in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// The property, and what the monitor saw.
    pub objection: Objection,
    /// The seed of the run; `None` for a search.
    pub seed: Option<u64>,
    /// Virtual time of the step.
    pub at: Time,
    /// The step's number in its run, from 1.
    pub step: u64,
    /// The run's rolling hash at that step: a replay that ends with the same hash is the same run.
    pub hash: Fingerprint,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(unreached: &[&str]) -> Verdict {
        Verdict::Held { seeds: 7, unreached: unreached.iter().map(ToString::to_string).collect() }
    }

    fn violated() -> Verdict {
        Verdict::Violated(Box::new(Violation {
            objection: Objection::new("lock M1", "two holders"),
            seed: Some(3),
            at: Time(1),
            step: 2,
            hash: Fingerprint(4),
        }))
    }

    fn bounded() -> Verdict {
        Verdict::Bounded { by: "1 minute".into(), states: 10, frontier: 4 }
    }

    #[test]
    fn each_verdict_has_its_exit_code() {
        let error = Verdict::Error("no".into());
        let exhausted = Verdict::Exhausted { states: 1, depth: 1 };
        let verdicts = [held(&[]), held(&["DIFF"]), exhausted, violated(), bounded(), error];
        assert_eq!(verdicts.clone().map(|verdict| verdict.exit_code()), [0, 0, 0, 1, 2, 3]);
        let demanding = verdicts.map(|verdict| verdict.demanding_marks().exit_code());
        assert_eq!(demanding, [0, 2, 0, 1, 2, 3]);
    }

    #[test]
    fn together_a_violation_outranks_an_error_and_that_an_open_question() {
        let error = Verdict::Error("no".into());
        let all = |verdicts: &[Verdict]| Verdict::exit_code_of_all(verdicts);
        assert_eq!(all(&[]), 0);
        assert_eq!(all(&[held(&[]), bounded()]), 2);
        assert_eq!(all(&[bounded(), error.clone(), held(&[])]), 3);
        assert_eq!(all(&[error, violated(), bounded()]), 1);
    }

    #[test]
    fn a_verdict_says_what_it_did_not_see() {
        assert_eq!(held(&[]).to_string(), "held for 7 seeds");
        let text = held(&["sync by SNAP"]).to_string();
        assert_eq!(text, "held for 7 seeds, but did not reach: sync by SNAP");
        let text = held(&["sync by SNAP"]).demanding_marks().to_string();
        assert_eq!(
            text,
            "inconclusive: held for 7 seeds, the scenario's default, but did not reach: sync by SNAP"
        );
        let text = bounded().to_string();
        assert_eq!(text, "inconclusive: stopped by 1 minute after 10 states, 4 left");
    }
}
