//! With the defects of older synchronisations, servers break promises; but no learner waits for a step that never comes.

use super::{entry, look_on};
use std::collections::BTreeSet;
use vivarium::catalogue::Switches;
use vivarium_model::release::{Bug, Bugs, Release};
use vivarium_sim::demands::PROGRESS;

/// Seeds of `churn` that contain one (230) in which a learner with [`Bug::ProposalsAckedFirst`] alone once waited for its
/// log thread for good: the step that ends the wait was due before the log thread had ended, and never again.
const SEEDS: std::ops::Range<u64> = 200..260;

/// Returns the properties that runs with these defects violate.
fn violated(bugs: &[Bug]) -> BTreeSet<String> {
    let bugs: Bugs = bugs.iter().copied().collect();
    let bugs = Release::Repaired.bugs().and(bugs);
    let switches = Switches { bugs, ..Switches::default() };
    let report = look_on(&entry("churn"), &switches, SEEDS);
    report.totals.violating.into_values().collect()
}

#[test]
fn no_learner_waits_for_good_with_a_defect_of_synchronisation() {
    for bug in Bug::OF_SYNCHRONISATION {
        let violated = violated(&[bug]);
        assert!(!violated.contains(PROGRESS), "{bug}: {violated:?}");
    }
    let pairs = Bug::OF_SYNCHRONISATION.map(|other| [Bug::ProposalsAckedFirst, other]);
    for pair in pairs.into_iter().filter(|[one, other]| one != other) {
        let violated = violated(&pair);
        assert!(!violated.contains(PROGRESS), "{pair:?}: {violated:?}");
    }
}
