//! Mutants of the counter and of the queues, found by a search within small budgets, by a way that is proven to be
//! the shortest; and the correct recipes, which hold in every state within some of these budgets.
//!
//! Budgets whose search takes more than some ten thousand states are left to the command line: `vivarium explore
//! ack-queue --expiries 1` finds four more mutants. `WakeMeansDue` is out of reach for a search without clocks.

use super::exhibit::{Budget, CANCEL, EXPIRY, Exhibit, LOST, NO_FAULT, assert_holds, exhibit, two};

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
    exhibit("delay-queue", "NoTimer", NO_FAULT, "progress", 37),
];

#[test]
fn mutants_are_found_by_a_shortest_way() {
    EXHIBITS.iter().for_each(Exhibit::assert_found);
}

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
        assert_holds(scenario, &budget(two()));
    }
}
