//! Mutants of the revocable lock and of the partitioner, and the published texts, found by a search within small
//! budgets, by a way that is proven to be the shortest; and the correct revocable lock, which holds in every state
//! within such budgets.
//!
//! Mutants that need time (`RevokeWithoutGrace`), a second set (`UnequalSets`) or more states than a test allows are
//! left out: the museum has them.

use super::exhibit::{Exhibit, NO_FAULT, assert_holds, exhibit, text, two};

/// Two clients, and no fault.
const EXHIBITS: &[Exhibit] = &[
    exhibit(
        "revocable-lock",
        "RevokeInitialIgnored",
        NO_FAULT,
        "revocable lock RV1 informed at rest",
        45,
    ),
    exhibit(
        "revocable-lock",
        "RevokeReadBeforeCreate",
        NO_FAULT,
        "revocable lock RV1 informed at rest",
        45,
    ),
    exhibit("revocable-lock", "RevokeReleaseBlind", NO_FAULT, "revocable lock RV1 told", 35),
    exhibit("revocable-lock", "RevokeWithoutConsent", NO_FAULT, "revocable lock RV2 consent", 22),
    exhibit(
        "partitioner",
        "ChangeDuringAcquireLost",
        NO_FAULT,
        "partitioner PT2 shares at rest",
        68,
    ),
    exhibit("partitioner", "ReleaseBeforeStop", NO_FAULT, "partitioner PT3 under the lock", 49),
    exhibit("partitioner", "StopWithoutRelease", NO_FAULT, "partitioner PT2 shares at rest", 69),
    exhibit("partitioner", "ShareWithoutLock", NO_FAULT, "partitioner PT3 under the lock", 20),
    exhibit("partitioner", "OwnOrder", NO_FAULT, "partitioner PT2 shares at rest", 63),
    text("published-revocable-page", NO_FAULT, "revocable lock RV1 informed at rest", 45),
    text("published-revocable-translation", NO_FAULT, "revocable lock RV1 informed at rest", 45),
];

#[test]
fn each_goes_wrong_by_a_shortest_way() {
    EXHIBITS.iter().for_each(Exhibit::assert_found);
}

/// CI and the command line search with larger budgets. The partitioner has too many states for a test.
#[test]
fn the_recipes_hold_within_small_budgets() {
    for scenario in ["revocable-lock", "revocable-lock-by-force"] {
        assert_holds(scenario, &two());
    }
}
