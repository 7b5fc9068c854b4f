//! A search at the service grain tries everything that correct servers do to clients in a sweep: runs are repeated
//! there, step by step. The behaviour of defective servers cannot be repeated.

use crate::entry;
use std::sync::Arc;
use vivarium::catalogue::Switches;
use vivarium_model::release::{Bug, Release};
use vivarium_sim::Scenario;
use vivarium_sim::budget::Account;
use vivarium_sim::embed::{Cost, Why, check_embedding};

/// The budgets that the runs of every scenario need sometimes.
const STRIKE: [Account; 3] = [Account::Lost, Account::Expiries, Account::Kills];

fn scenario(name: &str, switches: &Switches) -> Scenario {
    (entry(name).build)(switches)
}

#[test]
fn every_run_of_servers_is_one_of_the_service_grain() {
    let mut most = Cost::default();
    for name in ["lock", "churn"] {
        let scenario = scenario(name, &Switches::default());
        for seed in 0..40 {
            match check_embedding(&scenario, seed) {
                Ok(embedded) => {
                    assert!(embedded.events > 0, "{name} {seed}: nothing was compared");
                    for account in STRIKE {
                        most[account] += embedded.cost[account];
                    }
                }
                Err(failure) => panic!("{name}: {failure}"),
            }
        }
    }
    assert!(STRIKE.into_iter().all(|account| most[account] > 0), "{most:?}");
}

/// Returns the first behaviour of these servers, in runs without monitors, that the service grain does not allow.
fn first_not_embedded(bug: Bug, seeds: std::ops::Range<u64>) -> Option<String> {
    let bugs = Release::Repaired.bugs().with(bug);
    let mut scenario = scenario("churn", &Switches { bugs, ..Switches::default() });
    scenario.monitors = Arc::new(|_| Vec::new());
    let failures = seeds.filter_map(|seed| check_embedding(&scenario, seed).err());
    failures
        .map(|failure| *failure)
        .find(|failure| failure.why == Why::Differs)
        .map(|it| it.to_string())
}

/// Committed writes are lost, or some servers never received them, and clients observe this.
#[test]
fn what_defective_servers_tell_clients_is_not() {
    for (bug, from) in [(Bug::TruncKeepsNewerSnapshot, 150), (Bug::TruncKeepsRecordBeyond, 500)] {
        let saw = first_not_embedded(bug, from..from + 1_000);
        assert!(saw.is_some(), "{bug} shows nothing");
    }
}
