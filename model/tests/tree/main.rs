//! The data tree compared with an independent reference, over transactions that `prep` makes of random requests.
//!
//! Five promises: the tree follows rules 1.3, 1.5, 1.9 and 1.10, field by field; it shows all clients what they may
//! see (rule 1.8.1); its digest is that of its content; `prep` makes the same transactions however far the tree lags;
//! and from every snapshot, clean or fuzzy, the replay of the transactions after its label leads to the same tree
//! (S6; rules 1.3.2, 1.3.3 and 6.9). Each check is shown to fail for a planted fault.

mod compare;
mod fuzzy;
mod planted;
mod random;
mod reads;
mod recovery;
mod reference;
mod statistics;

use compare::{compare, compare_recovered};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use random::{Action, Who, actions, lead, lead_lagging};
use reference::Reference;
use std::collections::BTreeMap;
use vivarium_model::tree::DataTree;
use vivarium_model::zxid::Zxid;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_tree_does_what_the_reference_does(actions in actions()) {
        let mut tree = DataTree::new();
        let mut reference = Reference::new();
        for txn in lead(&actions) {
            let (expected, changes) = reference.apply(&txn);
            let applied = tree.apply(&txn);
            prop_assert_eq!(applied.result, expected, "{}", txn);
            prop_assert_eq!(applied.changes, changes, "{}", txn);
            prop_assert_eq!(compare(&tree, &reference), Ok(()), "after {}", txn);
        }
    }

    /// Hard limits of quotas are the exception: they are compared with the tree as applied so far (rule 1.10.2).
    #[test]
    fn prep_decides_alike_however_far_the_tree_lags(actions in actions(), lag in 1_usize..40) {
        prop_assert_eq!(lead_lagging(&actions, 0, false), lead_lagging(&actions, lag, false));
    }

    /// Statistics that a client wrote are the exception: later changes are counted twice.
    #[test]
    fn applying_a_transaction_twice_is_applying_it_once(actions in actions()) {
        let txns = lead(&actions);
        let mut tree = DataTree::new();
        let reference = Reference::of(&txns);
        for txn in &txns {
            tree.apply(txn);
            tree.apply(txn);
        }
        prop_assert_eq!(compare_recovered(&tree, &reference, Zxid::ZERO), Ok(()));
        for txn in &txns {
            tree.apply(txn);
        }
        let again = compare_recovered(&tree, &reference, Zxid::ZERO);
        prop_assert_eq!(again, Ok(()), "all of them again");
    }
}

/// Checks the kinds of the random requests: without enough of each kind, the properties above would hold vacuously.
#[test]
fn the_random_requests_reach_every_kind_of_transaction() {
    let mut seen = BTreeMap::<String, usize>::new();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut exact, mut refused) = (0, 0);
    for _ in 0..200 {
        let actions: Vec<Action> = actions().new_tree(&mut runner).expect("a value").current();
        let txns = lead_lagging(&actions, 3, true);
        for txn in &txns {
            *seen.entry(random::kind(&txn.body)).or_default() += 1;
        }
        let middle = txns[txns.len() / 2].zxid;
        let reference = Reference::of(&txns);
        exact += reference.quotas.exact_since(middle);
        let mut tree = DataTree::new();
        for txn in &txns {
            tree.apply(txn);
        }
        refused += reads::compare(&tree, &reference, Who::Nobody).expect("the same answers");
    }
    for kind in random::KINDS {
        let count = seen.remove(kind).unwrap_or(0);
        assert!(count >= 20, "only {count} of {kind}");
    }
    assert!(seen.is_empty(), "kinds not listed: {seen:?}");
    assert!(refused >= 100, "only {refused} reads that are refused");
    assert!(exact >= 20, "only {exact} statistics that a replay must keep right");
}
