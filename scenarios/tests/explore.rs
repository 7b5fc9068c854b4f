//! The lock, explored: its mutants by their shortest ways, the recipe itself to the end. And servers
//! alone.
#![cfg(feature = "explore")]

use vivarium::catalogue::{Switches, catalogue};
use vivarium::prelude::*;
use vivarium::{Election, ExplorationReport, explore};
use vivarium_model::release::{Bug, Bugs};
use vivarium_model::verdict::Verdict;
use vivarium_sim::Scenario;

/// A scenario of the catalogue.
fn scenario(name: &str, switches: &Switches) -> Scenario {
    let entry = catalogue().into_iter().find(|entry| entry.name == name);
    (entry.expect("it is in the catalogue").build)(switches)
}

/// The lock with these mutants.
fn lock(mutants: &[&'static str]) -> Scenario {
    scenario("lock", &Switches { mutants: mutants.to_vec(), ..Switches::default() })
}

fn explored(mutant: &'static str, exploration: &Exploration) -> ExplorationReport {
    explore(&lock(&[mutant]), exploration).expect("the lock can be explored")
}

/// The steps after the first sessions on the way to the violation.
fn length(report: &ExplorationReport) -> usize {
    let finding = report.finding.as_ref().expect("a violation");
    let way = finding.way.expect("a search found it");
    assert!(way.proven, "{way}");
    way.length
}

/// A search with reductions tells ways that are as short as those of one that takes every step by
/// itself, breadth first.
#[test]
fn a_reduced_search_tells_the_shortest_way() {
    let none = Exploration::new().clients(2);
    let cases = [
        ("NoGuid", none.clone().lost(1), "lock M6 no self-wait"),
        ("RecoverWithoutSync", none.clone().lost(1), "lock M6 no self-wait"),
        ("RecoverBySync", none.clone().lost(1), "lock M6 no self-wait"),
        ("ExistsNullSleeps", none, "progress"),
    ];
    for (mutant, exploration, property) in cases {
        let reduced = explored(mutant, &exploration);
        let unreduced = explored(mutant, &exploration.clone().without_reductions());
        assert_eq!(length(&reduced), length(&unreduced), "{mutant}");
        let Verdict::Violated(violation) = &reduced.verdict else { panic!("{mutant}") };
        assert_eq!(violation.objection.property, property, "{mutant}");
        assert!(reduced.figures.generated < unreduced.figures.generated, "{mutant}");
    }
}

/// The whole finding, way and hash included, is the same for any number of threads.
#[test]
fn what_is_found_does_not_depend_on_the_threads() {
    let found = |threads| {
        let threads = std::num::NonZeroUsize::new(threads).expect("some");
        let exploration = Exploration::new().clients(2).lost(1).threads(threads);
        explored("NoGuid", &exploration).finding.expect("a violation")
    };
    assert_eq!(found(1), found(3));
}

#[test]
fn without_faults_the_lock_is_seen_through_to_the_end() {
    let report = explore(&lock(&[]), &Exploration::new()).expect("the lock can be explored");
    assert!(matches!(report.verdict, Verdict::Exhausted { .. }), "{}", report.verdict);
    assert_eq!(report.unasked, ["lock M5 no leak"]);
    let is_in = |name: &str| {
        let found = report.dimensions.iter().find(|dimension| dimension.name == name);
        found.unwrap_or_else(|| panic!("no {name}")).is_in
    };
    assert!(is_in("clients") && is_in("stale views"));
    assert!(!is_in("fates of a lost reply") && !is_in("session expiry") && !is_in("kills"));
}

#[test]
fn churn_says_why_it_cannot_be_explored() {
    let churn = scenario("churn", &Switches::default());
    let sentence = explore(&churn, &Exploration::new()).expect_err("it cannot be explored");
    assert!(sentence.starts_with("`churn` cannot be explored: its programs try the servers"));
}

#[test]
fn servers_alone_are_seen_through_to_the_end() {
    let broadcast = scenario("broadcast", &Switches::default());
    let two = Exploration::new().servers(2).breaks(1);
    let report = explore(&broadcast, &two.clone().crashes(0)).expect("it can be explored");
    assert!(matches!(report.verdict, Verdict::Exhausted { .. }), "{}", report.verdict);
    let is_in = |name: &str| {
        let found = report.dimensions.iter().find(|dimension| dimension.name == name);
        found.unwrap_or_else(|| panic!("no {name}")).is_in
    };
    assert!(is_in("transactions") && is_in("broken connections") && is_in("elections"));
    assert!(!is_in("crashes") && !is_in("timeouts") && !is_in("clients, sessions"));
    let fast = two.txns(0).crashes(0).election(Election::Fast);
    let report = explore(&broadcast, &fast).expect("it can be explored");
    assert!(matches!(report.verdict, Verdict::Bounded { .. }), "{}", report.verdict);
}

/// What a way to a violation does not need is left out: the second transaction here, and more.
#[test]
fn a_way_of_servers_is_as_short_as_without_reductions() {
    let bugs = Bugs::NONE.with(Bug::TruncKeepsRecordBeyond);
    let broken = scenario("broadcast", &Switches { bugs, ..Switches::default() });
    let two = Exploration::new().servers(2).txns(2).crashes(1);
    let way = |exploration: &Exploration| {
        let report = explore(&broken, exploration).expect("it can be explored");
        report.finding.expect("a violation").way.expect("a search found it")
    };
    let shortest = way(&two.clone().without_reductions());
    assert!(shortest.proven && shortest.left_out == 0, "{shortest}");
    let one = std::num::NonZeroUsize::MIN;
    let deep = way(&two.clone().depth_first().threads(one));
    assert!(deep.left_out > 0, "{deep}");
    assert_eq!((way(&two).length, deep.length), (shortest.length, shortest.length));
}

#[test]
fn what_only_the_other_grain_has_is_refused() {
    let broadcast = scenario("broadcast", &Switches::default());
    let sentence = explore(&broadcast, &Exploration::new().lost(1)).expect_err("no clients");
    assert!(sentence.starts_with("`broadcast` is explored over the ensemble grain"), "{sentence}");
    let sentence = explore(&lock(&[]), &Exploration::new().crashes(1)).expect_err("no servers");
    assert!(sentence.starts_with("`lock` is explored over the service grain"), "{sentence}");
    let sentence = explore(&broadcast, &Exploration::new().servers(0)).expect_err("no servers");
    assert_eq!(sentence, "`broadcast` is explored with 1 to 9 servers, not with 0");
}
