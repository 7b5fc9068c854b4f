//! `unlogged-observers`: an operator changes the members of a busy ensemble whose observers keep no log (`reconfig`, without
//! `syncEnabled`).
//!
//! Such an observer has little more than memory. A start loads what its last synchronisation by SNAP has left; a
//! reconfiguration can make it a voter, of which the ensemble expects a log.

use super::reconfig::{self, Changes};
use super::{Entry, Switches};
use vivarium_model::config::ServerOptions;
use vivarium_sim::{Choice, Scenario, Settings};

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry::of_zookeeper(
        "unlogged-observers",
        "an operator changes the members of an ensemble whose observers keep no log",
        2_000,
        build,
    )
}

fn build(switches: &Switches) -> Scenario {
    let reconfig = reconfig::scenario(&entry(), switches, Changes::Members);
    let servers =
        ServerOptions { observer_sync_enabled: false, ..reconfig.settings.servers.clone() };
    Scenario {
        observers: Choice::from(1..=2),
        settings: Settings { servers, ..Settings::default() },
        ..reconfig
    }
}
