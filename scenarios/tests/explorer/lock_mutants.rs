//! Every mutant of the lock, found by a search within small budgets, by a way that is proven to be the shortest; and
//! the correct recipe, which holds in every state within the same budgets.
//!
//! A sweep finds the same mutants by luck, in a few to some hundreds of runs (`museum`). Here no luck is involved:
//! two clients, and at most one fault of a kind.

use super::exhibit::{self, Budget, assert_holds, two};
use vivarium::ExplorationReport;
use vivarium::prelude::*;
use vivarium_recipes::lock::Mutant;

/// A mutant, the budget of its search, and the violated property.
struct Exhibit {
    mutant: Mutant,
    budget: Budget,
    /// The same budget, or a larger one, for the recipe: a search is exhaustive only if it can also end each sleep
    /// early.
    recipe: Budget,
    property: &'static str,
    /// The number of steps.
    length: usize,
}

/// In the order of `Mutant::ALL`.
const EXHIBITS: [Exhibit; 17] = [
    Exhibit {
        mutant: Mutant::NoGuid,
        budget: |two| two.lost(1),
        recipe: |two| two.lost(1),
        property: "lock M6 no self-wait",
        length: 25,
    },
    Exhibit {
        mutant: Mutant::RecoverWithoutSync,
        budget: |two| two.lost(1),
        recipe: |two| two.lost(1),
        property: "lock M6 no self-wait",
        length: 28,
    },
    Exhibit {
        mutant: Mutant::RecoverBySync,
        budget: |two| two.lost(1),
        recipe: |two| two.lost(1),
        property: "lock M6 no self-wait",
        length: 31,
    },
    Exhibit {
        mutant: Mutant::LeakOnCancel,
        budget: |two| two.cancels(1),
        recipe: |two| two.cancels(1).timers(2),
        property: "lock M5 no leak at rest",
        length: 30,
    },
    Exhibit {
        mutant: Mutant::ExistsNullSleeps,
        budget: |two| two,
        recipe: |two| two,
        property: "progress",
        length: 43,
    },
    Exhibit {
        mutant: Mutant::RecreateOnBlip,
        budget: |two| two.lost(1),
        recipe: |two| two.lost(1),
        property: "lock M6 no self-wait",
        length: 39,
    },
    // A cancellation in the budget keeps the programs connected at the end. Without it, this mutant does not show:
    // the znode that it leaves is deleted with the session of a program that ends.
    Exhibit {
        mutant: Mutant::ReleaseGivesUp,
        budget: |two| two.lost(1).cancels(1),
        recipe: |two| two.lost(1).cancels(1).timers(2),
        property: "lock M5 no leak at rest",
        length: 37,
    },
    Exhibit {
        mutant: Mutant::BeliefSurvivesExpiry,
        budget: |two| two.expiries(1),
        recipe: |two| two.expiries(1),
        property: "lock M2 belief",
        length: 29,
    },
    Exhibit {
        mutant: Mutant::RecoverWrongName,
        budget: |two| two.lost(1),
        recipe: |two| two.lost(1),
        property: "lock M1 exclusion",
        length: 28,
    },
    Exhibit {
        mutant: Mutant::NoBackgroundCleanup,
        budget: |two| two.lost(1).cancels(1),
        recipe: |two| two.lost(1).cancels(1).timers(2),
        property: "lock M5 no leak at rest",
        length: 24,
    },
    Exhibit {
        mutant: Mutant::LeakOnErrorAfterCreate,
        budget: |two| two.lost(1).cancels(1),
        recipe: |two| two.lost(1).cancels(1).timers(2),
        property: "lock M5 no leak at rest",
        length: 26,
    },
    Exhibit {
        mutant: Mutant::CleanupWrongPath,
        budget: |two| two.cancels(1),
        recipe: |two| two.cancels(1).timers(2),
        property: "lock M5 no leak at rest",
        length: 36,
    },
    Exhibit {
        mutant: Mutant::OrderByName,
        budget: |two| two,
        recipe: |two| two,
        property: "lock M1 exclusion",
        length: 23,
    },
    Exhibit {
        mutant: Mutant::ResetOnMissingPredecessor,
        budget: |two| two,
        recipe: |two| two,
        property: "lock M8 keeps its place",
        length: 41,
    },
    Exhibit {
        mutant: Mutant::FailOnVanishedPeer,
        budget: |two| two.cancels(1),
        recipe: |two| two.cancels(1).timers(2),
        property: "lock M5 no leak at rest",
        length: 36,
    },
    Exhibit {
        mutant: Mutant::BodyAfterRelease,
        budget: |two| two,
        recipe: |two| two,
        property: "lock M2 belief",
        length: 37,
    },
    Exhibit {
        mutant: Mutant::LossBeforeCallback,
        budget: |two| two.expiries(1),
        recipe: |two| two.expiries(1),
        property: "lock M2 belief",
        length: 29,
    },
];

/// The first three need longer searches than a test allows, and `vivarium mutants` makes them. The next two need what
/// no search has: a counter at its end, and a directory that is created again. The next one needs a missing
/// directory, and clients that are woken in vain are counted in sweeps only.
const NOT_HERE: [Mutant; 7] = [
    Mutant::AdoptDeadSessionNode,
    Mutant::NoOwnerCheckOnGrant,
    Mutant::BestEffortCleanup,
    Mutant::IntOrderAtWrap,
    Mutant::LateDeleteReusedName,
    Mutant::ParentGoneGivesUp,
    Mutant::WatchDirectory,
];

/// Without reductions, a search visits some thousand states before it finds these, and hundreds of thousands before
/// the others.
const QUICK: [Mutant; 1] = [Mutant::NoGuid];

fn explored(mutant: Option<Mutant>, exploration: &Exploration) -> ExplorationReport {
    exhibit::explored("lock", mutant.map(Mutant::name), exploration)
}

fn found(mutant: Mutant, report: &ExplorationReport) -> (String, usize) {
    exhibit::found(mutant.name(), report)
}

#[test]
fn every_mutant_is_shown() {
    let shown = EXHIBITS.map(|exhibit| exhibit.mutant);
    let to_show = Mutant::ALL.into_iter().filter(|mutant| !NOT_HERE.contains(mutant));
    assert_eq!(shown.to_vec(), to_show.collect::<Vec<_>>());
}

#[test]
fn every_mutant_is_found_by_a_shortest_way() {
    for Exhibit { mutant, budget, property, length, .. } in EXHIBITS {
        let reduced = explored(Some(mutant), &budget(two()));
        assert_eq!(found(mutant, &reduced), (property.to_string(), length), "{mutant}");
    }
}

/// A search with reductions reports ways as short as those of a search that takes every step by itself, breadth
/// first.
#[test]
fn a_search_without_reductions_finds_the_same_and_nothing_shorter() {
    for Exhibit { mutant, budget, property, length, .. } in EXHIBITS {
        if !QUICK.contains(&mutant) {
            continue;
        }
        let unreduced = explored(Some(mutant), &budget(two()).without_reductions());
        assert_eq!(found(mutant, &unreduced), (property.to_string(), length), "{mutant}");
    }
}

/// If a budget includes timers, the recipe has too many states for a test build: CI searches those.
#[test]
fn the_recipe_holds_within_the_same_budgets() {
    let mut seen = Vec::new();
    for Exhibit { recipe, .. } in EXHIBITS {
        let exploration = recipe(two());
        let question = format!("{exploration:?}");
        if seen.contains(&question) || question.contains("\"cancels\": Some(1)") {
            continue;
        }
        assert_holds("lock", &exploration);
        seen.push(question);
    }
    assert_eq!(seen.len(), 3);
}

/// If the only sleep is the programs' last one, a search that cannot end it early is not exhaustive, and says so; it
/// finds no violation. By default, it ends as many sleeps early as necessary.
#[test]
fn without_early_timers_a_search_that_cancels_is_bounded() {
    let Verdict::Bounded { by, .. } = explored(None, &two().cancels(1).timers(0)).verdict else {
        panic!("it keeps the programs' last sleep from ending")
    };
    assert_eq!(by, "the budget of timers (2 would be enough)");
    assert_holds("lock", &two().cancels(1));
}
