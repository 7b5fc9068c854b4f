//! Mutants of the revocable lock and of the partitioner and the published texts, found by exploring within small
//! budgets, by a way that is proven to be the shortest; and the revocable lock as it should be, held in every state
//! within such budgets.
//!
//! Left out are what takes time to tell (`RevokeWithoutGrace`), a second set (`UnequalSets`) or more states than a test
//! has: the museum has them.

use vivarium::catalogue::{Switches, catalogue};
use vivarium::prelude::*;
use vivarium::{ExplorationReport, explore};
use vivarium_model::verdict::Verdict;

/// What is wrong, who objects, and behind how many steps.
struct Exhibit {
    scenario: &'static str,
    mutant: Option<&'static str>,
    property: &'static str,
    length: usize,
}

const fn exhibit(
    scenario: &'static str,
    mutant: &'static str,
    property: &'static str,
    length: usize,
) -> Exhibit {
    Exhibit { scenario, mutant: Some(mutant), property, length }
}

const fn text(scenario: &'static str, property: &'static str, length: usize) -> Exhibit {
    Exhibit { scenario, mutant: None, property, length }
}

/// Two clients, and no fault.
const EXHIBITS: &[Exhibit] = &[
    exhibit("revocable-lock", "RevokeInitialIgnored", "revocable lock RV1 informed at rest", 45),
    exhibit("revocable-lock", "RevokeReadBeforeCreate", "revocable lock RV1 informed at rest", 45),
    exhibit("revocable-lock", "RevokeReleaseBlind", "revocable lock RV1 told", 35),
    exhibit("revocable-lock", "RevokeWithoutConsent", "revocable lock RV2 consent", 22),
    exhibit("partitioner", "ChangeDuringAcquireLost", "partitioner PT2 shares at rest", 68),
    exhibit("partitioner", "ReleaseBeforeStop", "partitioner PT3 under the lock", 49),
    exhibit("partitioner", "StopWithoutRelease", "partitioner PT2 shares at rest", 69),
    exhibit("partitioner", "ShareWithoutLock", "partitioner PT3 under the lock", 20),
    exhibit("partitioner", "OwnOrder", "partitioner PT2 shares at rest", 63),
    text("published-revocable-page", "revocable lock RV1 informed at rest", 45),
    text("published-revocable-translation", "revocable lock RV1 informed at rest", 45),
];

fn explored(exhibit: &Exhibit, exploration: &Exploration) -> ExplorationReport {
    let mutants = exhibit.mutant.into_iter().collect();
    let switches = Switches { mutants, ..Switches::default() };
    let mut entries = catalogue().into_iter();
    let entry = entries.find(|entry| entry.name == exhibit.scenario);
    let scenario = (entry.expect("it is in the catalogue").build)(&switches);
    explore(&scenario, exploration).expect("it can be explored")
}

fn two() -> Exploration {
    Exploration::new().clients(2)
}

#[test]
fn each_goes_wrong_by_a_shortest_way() {
    for exhibit in EXHIBITS {
        let report = explored(exhibit, &two());
        let name = exhibit.mutant.unwrap_or(exhibit.scenario);
        let Verdict::Violated(violation) = &report.verdict else {
            panic!("{name}: {}", report.verdict)
        };
        let way = report.finding.as_ref().and_then(|finding| finding.way);
        let way = way.expect("a search found it");
        assert!(way.proven, "{name}: {way}");
        let found = (violation.objection.property.as_str(), way.length);
        assert_eq!(found, (exhibit.property, exhibit.length), "{name}");
    }
}

/// The command line asks for more. The partitioner has too many states for a test.
#[test]
fn the_recipes_hold_within_small_budgets() {
    for scenario in ["revocable-lock", "revocable-lock-by-force"] {
        let verdict = explored(&text(scenario, "", 0), &two()).verdict;
        assert!(matches!(verdict, Verdict::Exhausted { .. }), "{scenario}: {verdict}");
    }
}
