//! Mutants of the counter and of the queues, found by exploring within small budgets, by a way that is
//! proven to be the shortest; and the recipes as they should be, held in every state within some of these.
//!
//! Budgets whose search takes more than some ten thousand states are left to the command line:
//! `vivarium explore ack-queue --expiries 1` finds four more mutants, and of a search without clocks `WakeMeansDue`
//! is out of reach.

use vivarium::catalogue::{Switches, catalogue};
use vivarium::prelude::*;
use vivarium::{ExplorationReport, explore};
use vivarium_model::verdict::Verdict;
use vivarium_sim::Scenario;

/// A mutant, what can go wrong, who objects, and in how many steps.
struct Exhibit {
    scenario: &'static str,
    mutant: &'static str,
    budget: fn(Exploration) -> Exploration,
    property: &'static str,
    length: usize,
}

const fn exhibit(
    scenario: &'static str,
    mutant: &'static str,
    budget: fn(Exploration) -> Exploration,
    property: &'static str,
    length: usize,
) -> Exhibit {
    Exhibit { scenario, mutant, budget, property, length }
}

const NO_FAULT: fn(Exploration) -> Exploration = |two| two;
const LOST: fn(Exploration) -> Exploration = |two| two.lost(1);
const EXPIRY: fn(Exploration) -> Exploration = |two| two.expiries(1);
const CANCEL: fn(Exploration) -> Exploration = |two| two.cancels(1);

const EXHIBITS: &[Exhibit] = &[
    exhibit("counter", "NonIdempotentCas", LOST, "counter C1 counted once", 26),
    exhibit("counter", "CasFalseNegative", LOST, "counter C1 counted once", 22),
    exhibit("counter", "NoVersion", NO_FAULT, "counter C1 counted once", 26),
    exhibit("queue", "NoNodeMeansOther", LOST, "queue Q1 no loss", 50),
    exhibit("queue", "BlindCreateRetry", LOST, "queue Q4 put once", 17),
    exhibit("queue", "QueueNoClaim", NO_FAULT, "queue Q2 taken once", 47),
    exhibit("queue", "QueueUnpadded", NO_FAULT, "progress", 37),
    exhibit("queue", "QueueEphemeralItems", EXPIRY, "queue Q1 no loss", 45),
    exhibit("queue", "NoRecheckOnReconnect", EXPIRY, "progress", 52),
    exhibit("queue", "RootExistsEscapes", CANCEL, "program", 33),
    exhibit("queue", "ParentReapedUnderWatch", CANCEL, "progress", 55),
    exhibit("priority-queue", "StalePriorityList", NO_FAULT, "queue P1 nothing passed over", 44),
    exhibit("priority-queue", "PriorityUnpadded", NO_FAULT, "queue P1 nothing passed over", 47),
    exhibit("ack-queue", "NodeExistsMeansOther", LOST, "progress", 54),
    exhibit("ack-queue", "ClaimLeakOnCancel", CANCEL, "progress", 48),
    exhibit("ack-queue", "NoLookAfterClaim", NO_FAULT, "ack-queue LQ2 one claimer", 55),
    exhibit("delay-queue", "NoTimer", NO_FAULT, "progress", 34),
];

fn explored(
    scenario: &str,
    mutant: Option<&'static str>,
    exploration: &Exploration,
) -> ExplorationReport {
    let switches = Switches { mutants: mutant.into_iter().collect(), ..Switches::default() };
    let entry = catalogue().into_iter().find(|entry| entry.name == scenario);
    let scenario: Scenario = (entry.expect("it is in the catalogue").build)(&switches);
    explore(&scenario, exploration).expect("it can be explored")
}

#[test]
fn mutants_are_found_by_a_shortest_way() {
    for Exhibit { scenario, mutant, budget, property, length } in EXHIBITS {
        let report = explored(scenario, Some(mutant), &budget(Exploration::new().clients(2)));
        let Verdict::Violated(violation) = &report.verdict else {
            panic!("{scenario} with {mutant}: {}", report.verdict)
        };
        let way = report.finding.as_ref().and_then(|finding| finding.way);
        let way = way.expect("a search found it");
        let found = (&*violation.objection.property, way.length, way.proven);
        assert_eq!(found, (*property, *length, true), "{scenario} with {mutant}");
    }
}

/// What can go wrong in a search.
type Budget = fn(Exploration) -> Exploration;

#[test]
fn the_recipes_hold_within_small_budgets() {
    let questions: [(&str, Budget); 7] = [
        ("counter", LOST),
        ("counter", EXPIRY),
        ("queue", LOST),
        ("ack-queue", NO_FAULT),
        ("delay-queue", NO_FAULT),
        ("priority-queue", NO_FAULT),
        ("queue", NO_FAULT),
    ];
    for (scenario, budget) in questions {
        let report = explored(scenario, None, &budget(Exploration::new().clients(2)));
        let verdict = &report.verdict;
        assert!(matches!(verdict, Verdict::Exhausted { .. }), "{scenario}: {verdict}");
    }
}
