//! The mutants of barriers and double barriers and the published texts, found by exploring within small budgets,
//! by a way that is proven to be the shortest; and the recipes as they should be, held in every state within
//! such budgets.

use vivarium::catalogue::{Switches, catalogue};
use vivarium::prelude::*;
use vivarium::{ExplorationReport, explore};
use vivarium_model::verdict::Verdict;

/// What can go wrong.
type Budget = fn(Exploration) -> Exploration;

/// What is wrong, what can go wrong with it, and who objects behind how many steps.
struct Exhibit {
    scenario: &'static str,
    mutant: Option<&'static str>,
    budget: Budget,
    property: &'static str,
    length: usize,
}

const fn exhibit(
    scenario: &'static str,
    mutant: &'static str,
    budget: Budget,
    property: &'static str,
    length: usize,
) -> Exhibit {
    Exhibit { scenario, mutant: Some(mutant), budget, property, length }
}

const fn text(
    scenario: &'static str,
    budget: Budget,
    property: &'static str,
    length: usize,
) -> Exhibit {
    Exhibit { scenario, mutant: None, budget, property, length }
}

/// Left out are `DbReadyLeftover` and `DbNeverCloses`, which need a second generation, and `DbLeaveSpins`, whose property is one of
/// sweeps: the museum has them. `DbEqualsN` needs a third client.
const EXHIBITS: &[Exhibit] = &[
    exhibit("barrier", "BarrierInvertedRecheck", |two| two, "barrier B1 witness", 36),
    exhibit("barrier", "EventTypeFilterNoRearm", |two| two, "progress", 43),
    exhibit("barrier", "NoSyncBeforeRead", |two| two, "barrier B1 witness", 29),
    exhibit("double-barrier", "ReadyExistsIgnored", |two| two, "progress", 48),
    exhibit("double-barrier", "DbEqualsN", |two| two.clients(3), "progress", 51),
    exhibit("double-barrier", "DbRecount", |two| two, "progress", 48),
    exhibit("double-barrier", "DbReadyCounts", |two| two, "progress", 54),
    exhibit("double-barrier", "DbAnyWakeOpens", |two| two.lost(1), "double barrier DB1 enough", 19),
    exhibit(
        "double-barrier",
        "DbTimeoutLeavesNode",
        |two| two.timers(1),
        "double barrier DB1 enough",
        33,
    ),
    exhibit(
        "double-barrier",
        "DbLeaveUnconditional",
        |two| two.lost(1),
        "double barrier DB2 emptiness",
        45,
    ),
];

/// The published texts.
const TEXTS: &[Exhibit] = &[
    text("published-barrier-chapter", |two| two, "barrier B1 witness", 29),
    text("published-barrier-as-lock", |two| two.kills(1), "progress", 29),
    text("published-barrier-same-view", |two| two, "barrier B1 witness", 29),
    text("published-double-barrier-page", |two| two, "progress", 59),
    text("published-double-barrier-tutorial", |two| two, "progress", 31),
    text("published-double-barrier-chapter", |two| two, "progress", 41),
    text("published-double-barrier-chain-exit", |two| two, "double barrier DB2 emptiness", 33),
    text("published-double-barrier-any-leaves", |two| two, "double barrier DB2 emptiness", 36),
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

/// Who objected, and the steps on a way that is proven to be the shortest.
fn found(exhibit: &Exhibit) -> (String, usize) {
    let report = explored(exhibit, &(exhibit.budget)(two()));
    let name = exhibit.mutant.unwrap_or(exhibit.scenario);
    let Verdict::Violated(violation) = &report.verdict else {
        panic!("{name}: {}", report.verdict)
    };
    let way = report.finding.as_ref().and_then(|finding| finding.way);
    let way = way.expect("a search found it");
    assert!(way.proven, "{name}: {way}");
    (violation.objection.property.clone(), way.length)
}

#[test]
fn every_mutant_is_found_by_a_shortest_way() {
    for exhibit in EXHIBITS {
        let expected = (exhibit.property.to_string(), exhibit.length);
        assert_eq!(found(exhibit), expected, "{:?}", exhibit.mutant);
    }
}

#[test]
fn every_published_text_goes_wrong_where_it_says() {
    for exhibit in TEXTS {
        let expected = (exhibit.property.to_string(), exhibit.length);
        assert_eq!(found(exhibit), expected, "{}", exhibit.scenario);
    }
    let texts = catalogue().into_iter().map(|entry| entry.name);
    let texts: Vec<_> = texts.filter(|name| name.contains("barrier")).collect();
    for name in texts.iter().filter(|name| name.starts_with("published-")) {
        assert!(TEXTS.iter().any(|exhibit| exhibit.scenario == *name), "{name} is missing");
    }
}

/// CI asks for more.
#[test]
fn the_recipes_hold_within_small_budgets() {
    let budgets: [(&str, Budget); 5] = [
        ("barrier", |two| two.lost(1)),
        ("barrier", |two| two.cancels(1)),
        ("double-barrier", |two| two),
        ("double-barrier", |two| two.lost(1)),
        ("double-barrier", |two| two.timers(2)),
    ];
    for (scenario, budget) in budgets {
        let recipe = text(scenario, budget, "", 0);
        let verdict = explored(&recipe, &budget(two())).verdict;
        assert!(matches!(verdict, Verdict::Exhausted { .. }), "{scenario}: {verdict}");
    }
}
