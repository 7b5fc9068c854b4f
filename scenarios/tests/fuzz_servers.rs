//! Searches over servers come to the same, and a mistake planted in a reduction is found.
#![cfg(feature = "explore")]

use vivarium::fuzz::servers::fuzz;

const STATES: usize = 400;

#[test]
fn all_searches_come_to_the_same() {
    let fuzzed = fuzz(1, 0..60, None, STATES, &|_| true);
    let told = fuzzed.difference.map(|(number, case, what)| format!("{number}: {what}\n{case}"));
    assert_eq!(told, None);
    assert!(fuzzed.compared > 10, "only {} cases were small enough", fuzzed.compared);
}
