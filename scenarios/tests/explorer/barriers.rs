//! The mutants of barriers and double barriers, and the published texts, each found by a search within small budgets,
//! by a way that is proven to be the shortest; and the correct recipes, which hold in every state within such
//! budgets.

use super::exhibit::{
    Budget, CANCEL, Exhibit, KILL, LOST, NO_FAULT, assert_holds, exhibit, text, two,
};
use vivarium::catalogue::catalogue;

/// This list leaves out `DbReadyLeftover` and `DbNeverCloses`, which need a second generation, and `DbLeaveSpins`,
/// whose property is checked in sweeps only: the museum has them. `DbEqualsN` needs a third client.
const EXHIBITS: &[Exhibit] = &[
    exhibit("barrier", "BarrierInvertedRecheck", NO_FAULT, "barrier B1 witness", 36),
    exhibit("barrier", "EventTypeFilterNoRearm", NO_FAULT, "progress", 43),
    exhibit("barrier", "NoSyncBeforeRead", NO_FAULT, "barrier B1 witness", 29),
    exhibit("double-barrier", "ReadyExistsIgnored", NO_FAULT, "progress", 48),
    exhibit("double-barrier", "DbEqualsN", |two| two.clients(3), "progress", 51),
    exhibit("double-barrier", "DbRecount", NO_FAULT, "progress", 48),
    exhibit("double-barrier", "DbReadyCounts", NO_FAULT, "progress", 54),
    exhibit("double-barrier", "DbAnyWakeOpens", LOST, "double barrier DB1 enough", 19),
    exhibit(
        "double-barrier",
        "DbTimeoutLeavesNode",
        |two| two.timers(1),
        "double barrier DB4 one verdict",
        33,
    ),
    exhibit("double-barrier", "DbLeaveUnconditional", LOST, "double barrier DB2 emptiness", 45),
];

/// The published texts.
const TEXTS: &[Exhibit] = &[
    text("published-barrier-chapter", NO_FAULT, "barrier B1 witness", 29),
    text("published-barrier-as-lock", KILL, "progress", 29),
    text("published-barrier-same-view", NO_FAULT, "barrier B1 witness", 29),
    text("published-double-barrier-page", NO_FAULT, "progress", 59),
    text("published-double-barrier-tutorial", NO_FAULT, "progress", 31),
    text("published-double-barrier-chapter", NO_FAULT, "progress", 41),
    text("published-double-barrier-chain-exit", NO_FAULT, "double barrier DB2 emptiness", 33),
    text("published-double-barrier-any-leaves", NO_FAULT, "double barrier DB2 emptiness", 36),
];

#[test]
fn every_mutant_is_found_by_a_shortest_way() {
    EXHIBITS.iter().for_each(Exhibit::assert_found);
}

#[test]
fn every_published_text_goes_wrong_where_it_says() {
    TEXTS.iter().for_each(Exhibit::assert_found);
    let texts = catalogue().into_iter().map(|entry| entry.name);
    let texts: Vec<_> = texts.filter(|name| name.contains("barrier")).collect();
    for name in texts.iter().filter(|name| name.starts_with("published-")) {
        assert!(TEXTS.iter().any(|exhibit| exhibit.scenario == *name), "{name} is missing");
    }
}

/// CI searches with larger budgets.
#[test]
fn the_recipes_hold_within_small_budgets() {
    let budgets: [(&str, Budget); 5] = [
        ("barrier", LOST),
        ("barrier", CANCEL),
        ("double-barrier", NO_FAULT),
        ("double-barrier", LOST),
        ("double-barrier", |two| two.timers(2)),
    ];
    for (scenario, budget) in budgets {
        assert_holds(scenario, &budget(two()));
    }
}
