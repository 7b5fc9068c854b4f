//! Searches of recipes that line up by sequence numbers, with the counter at its end (recipe rule 1.2.6): all names
//! have the same number, and only czxids tell the order of arrival.
//!
//! A search has no outstanding creates, so the counter does not continue below zero, as it can in a real server (rule
//! 1.4.3); sweeps cover this too.

use super::exhibit::{self, scenario};
use vivarium::prelude::*;
use vivarium::{ExplorationReport, explore};
use vivarium_sim::{Explored, Scenario};

/// Returns a scenario of the catalogue whose directories' counters are at their end.
fn at_the_end(name: &str, mutant: Option<&'static str>) -> Scenario {
    let scenario = scenario(name, mutant);
    let Explored::Programs { setup } = scenario.explored else { panic!("{name} has programs") };
    let setup = setup.with_creates(i32::MAX);
    assert!(setup.znodes().iter().any(|znode| znode.container.is_some()), "{name}");
    Scenario { explored: Explored::Programs { setup }, ..scenario }
}

fn two() -> Exploration {
    exhibit::two().unbounded()
}

fn explored(name: &str, mutant: Option<&'static str>, asked: &Exploration) -> ExplorationReport {
    explore(&at_the_end(name, mutant), asked).expect("it can be explored")
}

#[test]
fn recipes_hold_where_numbers_say_nothing() {
    for name in ["lock", "rwlock", "multilock", "semaphore", "leader", "revocable-lock", "queue"] {
        let verdict = explored(name, None, &two()).verdict;
        assert!(matches!(verdict, Verdict::Exhausted { .. }), "{name}: {verdict}");
    }
    // The watch of a client that has lost its connection misses creates (recipe rule 1.2.7).
    for name in ["lock", "rwlock", "queue", "membership", "children-cache"] {
        let verdict = explored(name, None, &two().lost(1)).verdict;
        assert!(matches!(verdict, Verdict::Exhausted { .. }), "{name}: {verdict}");
    }
}

/// Integers give no order there: both contenders are the first.
#[test]
fn who_goes_by_integers_is_found() {
    let report = explored("lock", Some("IntOrderAtWrap"), &two());
    let Verdict::Violated(violation) = report.verdict else { panic!("{}", report.verdict) };
    assert_eq!(violation.objection.property, "lock M1 exclusion");
}
