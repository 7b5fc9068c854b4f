//! `election`: fast leader election, notification by notification.
//!
//! As `broadcast`, but leaders are elected as in the code. Rounds of elections have no end, so a
//! search sees the first three and says that it is bounded by that; what it does see is every order
//! in which votes arrive, timers end and leaders come to lead.

use super::{Entry, Group, Switches, servers_alone};
use vivarium_model::config::Election;
use vivarium_sim::budget::servers::Budget;
use vivarium_sim::{Scenario, Servers};

/// What a search takes within seconds. Three servers, or a transaction, are many more states.
const SMALLEST: Servers = Servers { budget: Budget::new(2, 0, 1), election: Election::Fast };

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "election",
        summary: "elections as in the code, vote by vote",
        group: Group::ZooKeeper,
        seeds: 0,
        mutants: Vec::new(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    servers_alone(&entry(), SMALLEST, switches)
}
