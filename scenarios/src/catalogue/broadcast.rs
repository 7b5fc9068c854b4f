//! `broadcast`: leaders propose writes, followers log them, servers crash in between.
//!
//! There are no programs, only servers with real disks and links, and every order of their steps. An oracle elects
//! leaders, so that a search covers the consequences of elections and not the elections themselves (which `election`
//! explores).

use super::{Entry, Switches, servers_alone};
use vivarium_model::config::Election;
use vivarium_sim::budget::servers::Budget;
use vivarium_sim::{Scenario, Servers};

/// The sizes of a search that takes seconds and suffices for most of the servers' defects.
const SMALLEST: Servers = Servers { budget: Budget::new(3, 1, 1), election: Election::Oracle };

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry::of_zookeeper(
        "broadcast",
        "an established leader's transactions, while servers crash and come back",
        0,
        build,
    )
}

fn build(switches: &Switches) -> Scenario {
    servers_alone(&entry(), SMALLEST, switches)
}
