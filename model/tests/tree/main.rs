//! The data tree against an independent reference, over transactions that `prep` makes of random
//! requests.
//!
//! Four promises: the tree does what semantics 1.3 says, field by field; its digest is that of its
//! content; `prep` makes the same transactions however far the tree lags behind it; and a fuzzy
//! snapshot, replayed, is the same tree (semantics 1.3 † and ‡). Each check is shown to object to a
//! planted fault.

mod fuzzy;
mod planted;
mod random;
mod reference;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use random::{Action, actions, lead};
use reference::{Reference, compare};
use std::collections::BTreeMap;
use vivarium_model::tree::DataTree;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_tree_does_what_the_reference_does(actions in actions()) {
        let mut tree = DataTree::new();
        let mut reference = Reference::new();
        for txn in lead(&actions, 0) {
            let (expected, changes) = reference.apply(&txn);
            let applied = tree.apply(&txn);
            prop_assert_eq!(applied.result, expected, "{}", txn);
            prop_assert_eq!(applied.changes, changes, "{}", txn);
            prop_assert_eq!(compare(&tree, &reference), Ok(()), "after {}", txn);
        }
    }

    #[test]
    fn prep_decides_alike_however_far_the_tree_lags(actions in actions(), lag in 1_usize..40) {
        prop_assert_eq!(lead(&actions, 0), lead(&actions, lag));
    }

    #[test]
    fn applying_a_transaction_twice_is_applying_it_once(actions in actions()) {
        let txns = lead(&actions, 0);
        let mut tree = DataTree::new();
        let mut reference = Reference::new();
        for txn in &txns {
            tree.apply(txn);
            tree.apply(txn);
            let _ = reference.apply(txn);
        }
        prop_assert_eq!(compare(&tree, &reference), Ok(()));
        for txn in &txns {
            tree.apply(txn);
        }
        prop_assert_eq!(compare(&tree, &reference), Ok(()), "all of them again");
    }

    #[test]
    fn a_fuzzy_snapshot_recovers(actions in actions(), plans in fuzzy::plans()) {
        let txns = lead(&actions, 0);
        let mut reference = Reference::new();
        for txn in &txns {
            let _ = reference.apply(txn);
        }
        for plan in plans {
            let recovered = fuzzy::Snapshot::take(&txns, &plan).recover(&txns);
            prop_assert_eq!(compare(&recovered, &reference), Ok(()), "{:?}", plan);
        }
    }
}

/// What the random requests amount to: without enough of each kind the properties above would hold
/// of nothing.
#[test]
fn the_random_requests_reach_every_kind_of_transaction() {
    let mut seen = BTreeMap::<String, usize>::new();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..200 {
        let actions: Vec<Action> = actions().new_tree(&mut runner).expect("a value").current();
        for txn in lead(&actions, 3) {
            *seen.entry(random::kind(&txn.body)).or_default() += 1;
        }
    }
    for kind in random::KINDS {
        let count = seen.remove(kind).unwrap_or(0);
        assert!(count >= 20, "only {count} of {kind}");
    }
    assert!(seen.is_empty(), "kinds not listed: {seen:?}");
}
