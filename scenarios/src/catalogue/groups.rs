//! `groups`: an operator changes members, groups and weights of a busy ensemble (`reconfig`).
//!
//! It begins in three sites, so that servers 1, 2 and 4 are a quorum and the majority of servers 1, 2 and 3 is none. Server 3 has
//! no weight: it follows, logs and acknowledges, and decides nothing.

use super::reconfig::{self, Changes};
use super::{Entry, Switches};
use vivarium_model::config::ServerOptions;
use vivarium_model::mark::Mark;
use vivarium_sim::{Choice, Scenario, Settings};

/// The groups at first.
const SITES: &str = "group.1=1:2:3,group.2=4,group.3=5,weight.3=0";

/// The marks that a sweep must reach, beside those of `reconfig`.
const MARKS: [Mark; 4] = [
    Mark::GroupsConfigured,
    Mark::VoterWithoutWeight,
    Mark::LedByMinority,
    Mark::MajorityNotEnough,
];

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry::of_zookeeper(
        "groups",
        "an operator changes the groups and weights of a busy ensemble",
        2_000,
        build,
    )
}

fn build(switches: &Switches) -> Scenario {
    let reconfig = reconfig::scenario(&entry(), switches, Changes::Groups);
    let hierarchy = Some(SITES.parse().expect("they are well formed"));
    let servers = ServerOptions { hierarchy, ..reconfig.settings.servers.clone() };
    let marks = reconfig.marks.iter().copied().filter(|mark| *mark != Mark::ServerJoined);
    Scenario {
        servers: Choice::from(5),
        observers: Choice::from(0..=1),
        joiners: Choice::from(0),
        marks: marks.chain(MARKS).collect(),
        settings: Settings { servers, ..Settings::default() },
        ..reconfig
    }
}
