//! Invalid numbers.

use super::{connects, fails};
use std::panic::catch_unwind;
use vivarium::prelude::*;

#[test]
fn a_sweep_refuses_numbers_that_make_no_sense() {
    let at_least = |call: &str| format!("connects: `{call}`: give at least 1");
    assert_eq!(fails(connects().clients(0), 1), at_least("clients(0)"));
    assert_eq!(fails(connects().clients(0..=3), 1), at_least("clients(0..=3)"));
    assert_eq!(fails(connects().servers(0), 1), at_least("servers(0)"));
    let too_many = "connects: `servers(100)` is too many: give at most 63";
    assert_eq!(fails(connects().servers(100), 1), too_many);
    let too_many = "connects: `clients(1000)` is too many: give at most 255";
    assert_eq!(fails(connects().clients(1_000), 1), too_many);
    let nothing = "connects: `clients` has no number to pick: give at least one";
    assert_eq!(fails(connects().clients(Choice::OneOf(Vec::new())), 1), nothing);
    let rounds = Test::with_rounds("connects", 0, |_zookeeper, _rounds| async { Ok(()) });
    assert_eq!(fails(rounds, 1), at_least("rounds(0)"));
    let no_time = |call: &str| format!("connects: `{call}`: give more than no time");
    let test = connects().finishes_within(Duration::ZERO);
    assert_eq!(fails(test, 1), no_time("finishes_within(0ns)"));
    let test = connects().faults(Faults::ALL).chaos(Duration::ZERO);
    assert_eq!(fails(test, 1), no_time("chaos(0ns)"));
    let never = "connects: joiners: without `reconfig_enabled` no server can join";
    assert_eq!(fails(connects().joiners(1), 1), never);
    let options = ServerOptions { largest_counter: 1, ..ServerOptions::default() };
    let none =
        "connects: `largest_counter(1)`: a leader could not propose anything; give at least 2";
    assert_eq!(fails(connects().server_options(options), 1), none);
}

/// Groups need each voter, a fixed number of them, and some weight (rule 5.8.11).
#[test]
fn groups_without_a_quorum_are_refused() {
    let fails_with = |groups: &str, servers: Choice| {
        let hierarchy = Some(groups.parse().expect("it is well formed"));
        let options = ServerOptions { hierarchy, ..ServerOptions::default() };
        fails(connects().servers(servers).server_options(options), 1)
    };
    let fixed = || Choice::from(3);
    let lacking = "connects: hierarchy: server 3 votes and is in no group";
    assert_eq!(fails_with("group.1=1:2", fixed()), lacking);
    let weightless = "connects: hierarchy: no voter has weight, so no servers are a quorum";
    let none = "group.1=1:2:3,weight.1=0,weight.2=0,weight.3=0";
    assert_eq!(fails_with(none, fixed()), weightless);
    let range = fails_with("group.1=1:2:3", Choice::from(2..=3));
    assert!(
        range.starts_with("connects: hierarchy: groups need a fixed number of servers"),
        "{range}"
    );
}

/// The panic of `run`, which uses the test's own number of seeds.
#[test]
fn no_seeds_are_refused() {
    let panic = catch_unwind(|| connects().seeds(0).run()).expect_err("it should fail");
    let text = panic.downcast_ref::<String>().expect("it is a sentence");
    assert_eq!(text, "connects: seeds: `0` seeds are none at all: run at least 1");
}

/// The largest allowed numbers work.
#[test]
fn the_most_servers_and_clients_run() {
    let test = connects().servers(63).finishes_within(Duration::from_secs(600)).seeds(1);
    let report = test.run();
    assert_eq!(report.seeds, 1);
    let report = connects().clients(255).seeds(1).run();
    assert_eq!(report.seeds, 1);
}

#[cfg(feature = "explore")]
#[test]
fn a_search_refuses_numbers_that_make_no_sense() {
    let refused = |test: Test, exploration: &Exploration| {
        test.explored(exploration).expect_err("it should be refused").to_string()
    };
    let asked = |exploration: Exploration| refused(connects(), &exploration);
    let new = Exploration::new;
    assert_eq!(asked(new().clients(0)), "connects: `clients(0)`: give at least 1");
    let too_many = "connects: `clients(9)` is too many: give at most 8";
    assert_eq!(asked(new().clients(9)), too_many);
    assert_eq!(asked(new().max_states(0)), "connects: `max_states(0)`: give at least 1");
    assert_eq!(asked(new().max_memory(0)), "connects: `max_memory(0)`: give at least 1");
    let no_time = "connects: `max_time(0ns)`: give more than no time";
    assert_eq!(asked(new().max_time(Duration::ZERO)), no_time);
    let many = refused(connects().clients(20), &new());
    let sentence =
        "connects: `connects` has 20 clients, and a search takes at most 8: give it fewer";
    assert_eq!(many, sentence);
    assert_eq!(refused(connects().servers(0), &new()), "connects: `servers(0)`: give at least 1");
    let other = asked(new().servers(3));
    assert!(other.contains("is explored over the service grain"), "{other}");
}
