//! What an engine has to say at the end, in a form that cannot be misread.
//!
//! A sweep of seeds never proves anything, so it says [`Verdict::Held`] and for how many seeds, and
//! names what it set out to reach and did not. A search says [`Verdict::Exhausted`] only when
//! nothing was left; one that stopped early says [`Verdict::Bounded`] and by what. Neither ever
//! prints "ok".

use crate::property::Objection;
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The outcome of a sweep, a search or a replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// No monitor objected in any of these runs.
    Held {
        /// How many seeds ran.
        seeds: u64,
        /// Marks that the scenario must reach and that no run reached: what held, held without them.
        unreached: Vec<String>,
    },
    /// No monitor objected, but marks were not reached by a sweep that is long enough to reach them: of a scenario of
    /// the catalogue, at its own number of seeds.
    Unreached {
        /// How many seeds ran.
        seeds: u64,
        /// The marks that no run reached.
        unreached: Vec<String>,
    },
    /// Every reachable state was visited, and no monitor objected.
    Exhausted {
        /// Distinct states.
        states: u64,
        /// Steps on the longest of the shortest ways to a state.
        depth: u64,
    },
    /// No monitor objected, but something kept the engine from seeing everything it set out to see.
    Bounded {
        /// What stopped it, e.g. `10 minutes` or `2 million states`.
        by: String,
        /// Distinct states visited.
        states: u64,
        /// States known and not looked into.
        frontier: u64,
    },
    /// A monitor objected.
    Violated(Box<Violation>),
    /// The question could not be put: one clear sentence.
    Error(String),
}

impl Verdict {
    /// The exit code of a process that ends with this verdict: 0 held or exhausted, 1 violated,
    /// 2 inconclusive, 3 error.
    ///
    /// Unreached marks leave the code of [`Verdict::Held`] at 0: a few seeds cannot reach everything, and whoever
    /// runs few of them asked for no more. [`Verdict`]'s text says so all the same.
    pub fn exit_code(&self) -> u8 {
        match self {
            Verdict::Held { .. } | Verdict::Exhausted { .. } => 0,
            Verdict::Violated(_) => 1,
            Verdict::Bounded { .. } | Verdict::Unreached { .. } => 2,
            Verdict::Error(_) => 3,
        }
    }

    /// The exit code of several verdicts together: a violation is the most important news, then an
    /// error, then an inconclusive answer.
    pub fn exit_code_of_all<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>) -> u8 {
        let importance = |code: u8| [0, 3, 1, 2][usize::from(code)];
        verdicts
            .into_iter()
            .map(Verdict::exit_code)
            .max_by_key(|code| importance(*code))
            .unwrap_or(0)
    }

    /// One word for tables and machines.
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

    /// A sweep was as long as it must be to reach all of its marks: one that did not is inconclusive.
    #[must_use]
    pub fn demanding_marks(self) -> Verdict {
        match self {
            Verdict::Held { seeds, unreached } if !unreached.is_empty() => {
                Verdict::Unreached { seeds, unreached }
            }
            other => other,
        }
    }

    /// The violation, if it is one.
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
                "inconclusive: held for {seeds} seeds, which are the scenario's own number, but did not reach: {}",
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

/// A monitor's objection, and where in which run it was raised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// The property and what was seen.
    pub objection: Objection,
    /// The seed of the run; a search has none.
    pub seed: Option<u64>,
    /// Virtual time of the step.
    pub at: Time,
    /// The step's number in its run, from 1.
    pub step: u64,
    /// The run's rolling hash at that moment: a replay that ends with the same hash is the same run.
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
            "inconclusive: held for 7 seeds, which are the scenario's own number, but did not reach: sync by SNAP"
        );
        let text = bounded().to_string();
        assert_eq!(text, "inconclusive: stopped by 1 minute after 10 states, 4 left");
    }
}
