//! Each property over a user's own observations finds a planted fault and accepts a correct program, in sweeps and in
//! searches; and each agrees with a plain reference.

mod counts;
mod exclusion;
mod mistakes;
mod orders;
mod processes;
mod readme;
mod reductions;
mod reference;
mod trees;
mod typed;

use vivarium::prelude::*;
use vivarium::seeds::SeedRange;
#[cfg(feature = "explore")]
use vivarium_model::verdict::Verdict;

/// Replaces the options of a search in builds without searches.
#[cfg(not(feature = "explore"))]
#[derive(Clone)]
pub struct Exploration;

#[cfg(not(feature = "explore"))]
impl Exploration {
    fn new() -> Exploration {
        Exploration
    }
    fn clients(self, _: u8) -> Exploration {
        self
    }
    fn expiries(self, _: u8) -> Exploration {
        self
    }
    fn kills(self, _: u8) -> Exploration {
        self
    }
}

/// Asserts that both engines find a violation, with this text.
fn falls(make: impl Fn() -> Test, seeds: u64, exploration: &Exploration, says: &str) {
    let seeds = SeedRange::count(seeds).expect("some");
    let text = make().run_seeds(&seeds).expect_err("a sweep finds it").to_string();
    assert!(text.contains(says), "a sweep says {text}");
    falls_in_a_search(make, exploration, says);
}

#[cfg(feature = "explore")]
fn falls_in_a_search(make: impl Fn() -> Test, exploration: &Exploration, says: &str) {
    for exploration in [exploration.clone(), exploration.clone().without_reductions()] {
        let verdict = make().explored(&exploration).expect("it can be").verdict;
        let violation = verdict.violation().unwrap_or_else(|| panic!("a search says {verdict}"));
        let text = violation.objection.to_string();
        assert!(text.contains(says), "a search says {text}");
    }
}

#[cfg(not(feature = "explore"))]
fn falls_in_a_search(_: impl Fn() -> Test, _: &Exploration, _: &str) {}

/// Asserts that the properties hold in both engines.
fn holds(make: impl Fn() -> Test, seeds: u64, exploration: &Exploration) {
    let seeds = SeedRange::count(seeds).expect("some");
    make().run_seeds(&seeds).unwrap_or_else(|failure| panic!("{failure}"));
    holds_in_a_search(make, exploration);
}

#[cfg(feature = "explore")]
fn holds_in_a_search(make: impl Fn() -> Test, exploration: &Exploration) {
    for exploration in [exploration.clone(), exploration.clone().without_reductions()] {
        let report = make().explored(&exploration).expect("it can be");
        assert!(matches!(report.verdict, Verdict::Exhausted { .. }), "{}", report.verdict);
        assert_eq!(report.unseen, Vec::<String>::new());
    }
}

#[cfg(not(feature = "explore"))]
fn holds_in_a_search(_: impl Fn() -> Test, _: &Exploration) {}

fn two() -> Exploration {
    Exploration::new().clients(2)
}

fn words(error: Error) -> String {
    error.to_string()
}
