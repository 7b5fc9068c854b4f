//! `observer-masters`: plain clients keep an ensemble busy whose observers connect to followers, under all faults (`churn`, with
//! one to three observers).

use super::{Entry, Switches, churn};
use vivarium_model::config::ServerOptions;
use vivarium_model::mark::Mark;
use vivarium_sim::{Choice, Scenario, Settings};

/// What a follower keeps for observers, in bytes: about five transactions.
const SIZE_LIMIT: usize = 700;

/// The marks that a sweep must reach, beside those of `churn`.
const MARKS: [Mark; 8] = [
    Mark::ObserverByDiff,
    Mark::ObserverBySnap,
    Mark::MovedToObserver,
    Mark::ObserverOfFollower,
    Mark::InformedFromCache,
    Mark::ObserverTooFarBehind,
    Mark::MovedWithinMaster,
    Mark::MasterEndedMeanwhile,
];

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry::of_zookeeper(
        "observer-masters",
        "plain clients keep an ensemble busy whose observers connect to followers",
        3_000,
        build,
    )
}

fn build(switches: &Switches) -> Scenario {
    let churn = churn::scenario(&entry(), switches);
    let servers = ServerOptions {
        observer_masters: true,
        observer_master_size_limit: SIZE_LIMIT,
        ..ServerOptions::default()
    };
    Scenario {
        observers: Choice::from(1..=3),
        marks: churn.marks.iter().copied().chain(MARKS).collect(),
        settings: Settings { servers, ..Settings::default() },
        ..churn
    }
}
