//! `observers`: plain clients keep an ensemble with observers busy under all faults (`churn`, with one or two observers).

use super::{Entry, Switches, churn};
use vivarium_model::mark::Mark;
use vivarium_sim::{Choice, Scenario};

/// The marks that a sweep must reach, beside those of `churn`.
const MARKS: [Mark; 3] = [Mark::ObserverByDiff, Mark::ObserverBySnap, Mark::MovedToObserver];

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry::of_zookeeper(
        "observers",
        "plain clients keep an ensemble with observers busy that never rests",
        3_000,
        build,
    )
}

fn build(switches: &Switches) -> Scenario {
    let churn = churn::scenario(&entry(), switches);
    Scenario {
        observers: Choice::from(1..=2),
        marks: churn.marks.iter().copied().chain(MARKS).collect(),
        ..churn
    }
}
