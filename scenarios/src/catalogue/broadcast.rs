//! `broadcast`: leaders propose writes, followers log them, servers crash in between.
//!
//! There are no programs here: servers alone, with real disks and links, and every order of what can
//! happen to them. Leaders come from an oracle, so that a search sees what elections lead to and not
//! the elections (which `election` explores).

use super::{Entry, Group, Switches, servers_alone};
use vivarium_model::config::Election;
use vivarium_sim::budget::servers::Budget;
use vivarium_sim::{Scenario, Servers};

/// What a search takes within seconds, and what most of the servers' defects need.
const SMALLEST: Servers = Servers { budget: Budget::new(3, 1, 1), election: Election::Oracle };

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "broadcast",
        summary: "an established leader's transactions, while servers crash and come back",
        group: Group::ZooKeeper,
        seeds: 0,
        mutants: Vec::new(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    servers_alone(&entry(), SMALLEST, switches)
}
