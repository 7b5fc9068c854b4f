//! S6: from every snapshot point of a random log, the snapshot and the log above its label recover the tree of the
//! prefix.
//!
//! A log is recovered from each of its prefixes, by a snapshot that was taken at once and by one that was taken while
//! transactions were applied. Undoing works in the same way: a server that must undo transactions loads an older
//! snapshot and replays up to the wanted zxid, so each transaction replayed over a clean snapshot must lead to the
//! tree that existed before.

use crate::compare::{compare, compare_recovered};
use crate::fuzzy::{AT_ONCE, Rhythm, Snapshot, rhythm};
use crate::random::{actions_below, lead};
use crate::reference::Reference;
use proptest::prelude::*;
use std::sync::Arc;
use vivarium_model::tree::DataTree;
use vivarium_model::txn::Txn;

/// Returns the trees and references of all prefixes of a log, the empty one first.
fn prefixes(txns: &[Arc<Txn>]) -> Vec<(DataTree, Reference)> {
    let mut prefixes = vec![(DataTree::new(), Reference::new())];
    for txn in txns {
        let (mut tree, mut reference) = prefixes.last().expect("the empty one").clone();
        tree.apply(txn);
        let _ = reference.apply(txn);
        prefixes.push((tree, reference));
    }
    prefixes
}

fn check(txns: &[Arc<Txn>], rhythm: &Rhythm) -> Result<(), String> {
    let prefixes = prefixes(txns);
    let (_, whole) = prefixes.last().expect("the empty one");
    let mut rhythm = rhythm.clone();
    for (begin, (tree, reference)) in prefixes.iter().enumerate() {
        let label = reference.last_processed;
        let fault = |how: &str, fault| format!("{how} snapshot of {begin}: {fault}");

        let clean = Snapshot::take(tree, &[], &[AT_ONCE]);
        let mut undone = clean.load();
        compare_recovered(&undone, reference, label).map_err(|it| fault("clean", it))?;
        for (txn, (there, _)) in txns[begin..].iter().zip(&prefixes[begin + 1..]) {
            undone.apply(txn);
            let (at, was) = (undone.last_processed(), there.last_processed());
            if (at, undone.digest()) != (was, there.digest()) {
                return Err(fault("clean", format!("not the tree after {txn}")));
            }
        }
        compare_recovered(&undone, whole, label).map_err(|it| fault("clean", it))?;

        let fuzzy = Snapshot::take(tree, &txns[begin..], &rhythm);
        let recovered = fuzzy.recover(txns);
        compare_recovered(&recovered, whole, label).map_err(|it| fault("fuzzy", it))?;
        rhythm.rotate_left(1);
    }
    let (tree, _) = prefixes.last().expect("the empty one");
    compare(tree, whole)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_snapshot_point_of_a_log_recovers(actions in actions_below(50), rhythm in rhythm()) {
        prop_assert_eq!(check(&lead(&actions), &rhythm), Ok(()));
    }
}
