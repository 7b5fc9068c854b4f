//! Every scenario holds in ensembles with observers, to which some of its clients connect.

use std::env;
use std::ops::ControlFlow;
use vivarium::catalogue::{Switches, catalogue};
use vivarium_sim::{Choice, HostKind, RunOptions, Scenario, SweepOptions, sweep};

/// How many seeds of each scenario run; `OBSERVER_SEEDS` sets another number.
const SEEDS: u64 = 15;

fn seeds() -> u64 {
    let said = env::var("OBSERVER_SEEDS").ok();
    said.map_or(SEEDS, |text| text.parse().expect("OBSERVER_SEEDS is a number"))
}

#[test]
fn every_scenario_holds_with_observers() {
    every_scenario_holds(|scenario| scenario);
}

/// The observers connect to followers in place of the leader.
#[test]
fn every_scenario_holds_with_observers_of_followers() {
    every_scenario_holds(|mut scenario| {
        scenario.settings.servers.observer_masters = true;
        scenario
    });
}

fn every_scenario_holds(changed: impl Fn(Scenario) -> Scenario) {
    let which = SweepOptions { seeds: 0..seeds(), jobs: 2, keep_going: false };
    let options = RunOptions { host: HostKind::Direct, ..RunOptions::default() };
    for entry in catalogue().iter().filter(|entry| entry.is_swept() && !entry.is_published()) {
        let scenario = (entry.build)(&Switches::default());
        let scenario = changed(Scenario { observers: Choice::from(1..=2), ..scenario });
        let report = sweep(&scenario, &which, &options, &mut |_| ControlFlow::Continue(()));
        let violation = report.first_violation.and_then(|run| Some((run.seed, run.violation?)));
        assert!(violation.is_none(), "{}: {violation:?}", entry.name);
    }
}

/// Without a vote an observer changes no election: an ensemble whose voters are a quorum short stays without a leader,
/// however many observers it has.
#[test]
fn observers_are_no_quorum() {
    let program = |zookeeper: vivarium::prelude::ZooKeeper| async move {
        zookeeper.connect().await;
        Ok(())
    };
    let test = vivarium::Test::new("no quorum", program)
        .servers(3)
        .observers(4)
        .clients(1)
        .script("at 0s: crash 1\nat 0s: crash 2")
        .chaos(std::time::Duration::from_secs(30))
        .seeds(3);
    let coverage = test.coverage();
    let count = |name: &str| {
        coverage.events.iter().find(|count| count.name == name).expect("a kind of event").count
    };
    assert_eq!(count("crashed"), 6, "{:?}", coverage.events);
    // The faults end after 30 s; a leader is established only then.
    assert_eq!(count("established"), 3, "{:?}", coverage.events);
}
