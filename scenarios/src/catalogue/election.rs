//! `election`: fast leader election, notification by notification.
//!
//! Like `broadcast`, but leaders are elected by the election code. Rounds of elections have no end, so a search covers
//! the first three and reports this bound; within them, it covers every order in which votes arrive, timers end and
//! leaders take over.

use super::{Entry, Switches, servers_alone};
use vivarium_model::config::Election;
use vivarium_sim::budget::servers::Budget;
use vivarium_sim::{Scenario, Servers};

/// The sizes of a search that takes seconds. Three servers, or a transaction, need many more states.
const SMALLEST: Servers = Servers { budget: Budget::new(2, 0, 1), election: Election::Fast };

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry::of_zookeeper("election", "elections as in the code, vote by vote", 0, build)
}

fn build(switches: &Switches) -> Scenario {
    servers_alone(&entry(), SMALLEST, switches)
}
