//! `rollover`: plain clients keep an ensemble busy whose leaders soon run out of zxids (`churn`, with a small counter).
//!
//! The zxid counter has 32 bits. A real ensemble exhausts it after weeks of writes; here it ends after a few dozen
//! transactions, so each run has several forced elections, with faults in each of them.

use super::{Entry, Switches, churn};
use vivarium_model::config::ServerOptions;
use vivarium_model::mark::Mark;
use vivarium_sim::{Scenario, Settings};

/// The counter at which a leader leaves its role: small enough for several forced elections in a run.
const LARGEST_COUNTER: u32 = 24;

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry::of_zookeeper(
        "rollover",
        "plain clients keep an ensemble busy whose zxid counter is soon exhausted",
        3_000,
        build,
    )
}

fn build(switches: &Switches) -> Scenario {
    let churn = churn::scenario(&entry(), switches);
    let servers = ServerOptions { largest_counter: LARGEST_COUNTER, ..ServerOptions::default() };
    Scenario {
        marks: churn.marks.iter().copied().chain([Mark::CounterExhausted]).collect(),
        settings: Settings { servers, ..churn.settings },
        ..churn
    }
}
