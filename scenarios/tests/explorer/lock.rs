//! Exhaustive searches of the lock. (Its mutants: `lock_mutants`.)

use super::exhibit::{explored, scenario, two};
use vivarium::explore;
use vivarium::prelude::*;

/// The whole finding, way and hash included, is the same for any number of threads.
#[test]
fn what_is_found_does_not_depend_on_the_threads() {
    let found = |threads| {
        let threads = std::num::NonZeroUsize::new(threads).expect("some");
        let exploration = two().lost(1).threads(threads);
        explored("lock", Some("NoGuid"), &exploration).finding.expect("a violation")
    };
    assert_eq!(found(1), found(3));
}

#[test]
fn without_faults_the_lock_is_seen_through_to_the_end() {
    let report = explored("lock", None, &Exploration::new());
    assert!(matches!(report.verdict, Verdict::Exhausted { .. }), "{}", report.verdict);
    let unasked = ["lock M5 no leak", "herd HM1 woken clients", "lock M9 names once"];
    assert_eq!(report.unasked, unasked);
    let is_in = |name: &str| {
        let found = report.dimensions.iter().find(|dimension| dimension.name == name);
        found.unwrap_or_else(|| panic!("no {name}")).is_in
    };
    assert!(is_in("clients") && is_in("stale views"));
    assert!(!is_in("fates of a lost reply") && !is_in("session expiry") && !is_in("kills"));
}

/// Three clients with the least work that uses the lock: two that interact, and a third one in line after them. (With
/// a lost reply there are too many states for a test build: CI searches that.)
#[test]
fn three_clients_hold_the_lock_in_turn() {
    let exploration = Exploration::new().clients(3);
    let report = explored("lock", None, &exploration);
    assert!(matches!(report.verdict, Verdict::Exhausted { .. }), "{}", report.verdict);
    assert!(report.properties.iter().any(|name| name == "lock M5 no leak at rest"));
}

#[test]
fn churn_says_why_it_cannot_be_explored() {
    let error =
        explore(&scenario("churn", None), &Exploration::new()).expect_err("it cannot be explored");
    assert!(matches!(error, ExploreError::NotExplorable { .. }), "{error:?}");
    let sentence = error.to_string();
    assert!(sentence.starts_with("`churn` cannot be explored: its programs try the servers"));
}
