//! Searches of servers with observers, and with configurations that change.

#![cfg(feature = "explore")]

use vivarium_model::config::Config;
use vivarium_model::property;
use vivarium_model::release::{Bug, Bugs};
use vivarium_sim::every::servers::{Budget, Election, EnsembleModel};
use vivarium_sim::every::{Ending, Options, Silent, Strategy, search};

const PLAIN: bool = false;
const REDUCED: bool = true;

/// The number of states of a search that ends without a violation, or the property that it violates.
type Found = Result<u64, String>;

fn explored(budget: Budget, bug: Option<Bug>, reductions: bool) -> Found {
    let bugs = bug.into_iter().fold(Bugs::NONE, Bugs::with);
    let config = Config { bugs, ..Config::new(budget.servers, 0) };
    let monitors = property::servers();
    let model = EnsembleModel::new(config, budget, Election::Oracle, reductions, monitors);
    match search(&model, &Options::new(Strategy::BreadthFirst), &Silent).ending {
        Ending::Exhausted { states, .. } => Ok(states),
        Ending::Violated(found) => Err(found.objection.property),
        ending => panic!("{budget:?}: {ending:?}"),
    }
}

fn observed(voters: u8, txns: u8, crashes: u8) -> Budget {
    Budget { observers: 1, ..Budget::new(voters, txns, crashes) }
}

fn reconfigured(voters: u8, txns: u8, crashes: u8) -> Budget {
    Budget { reconfigs: 1, ..Budget::new(voters, txns, crashes) }
}

#[test]
fn an_observer_serves_in_the_end_with_and_without_reductions() {
    for budget in [observed(1, 0, 0), observed(1, 1, 1), observed(2, 1, 0)] {
        let (plain, reduced) = (explored(budget, None, PLAIN), explored(budget, None, REDUCED));
        assert!(reduced.is_ok() && reduced < plain, "{budget:?}: {reduced:?} of {plain:?}");
    }
    // It takes part in no quorum: with it, there are more states than without.
    let without = explored(Budget::new(2, 1, 0), None, REDUCED);
    assert!(without < explored(observed(2, 1, 0), None, REDUCED), "{without:?}");
}

#[test]
fn what_an_observer_is_sent_too_early_or_not_at_all_is_found() {
    for bug in [Bug::PlantedInformedEarly, Bug::PlantedInformsForgotten] {
        for reductions in [PLAIN, REDUCED] {
            let found = explored(observed(1, 1, 1), Some(bug), reductions);
            assert!(found.is_err(), "{bug}: {found:?}");
        }
    }
}

#[test]
fn a_voter_is_replaced_with_and_without_reductions() {
    let budget = reconfigured(2, 0, 0);
    let (plain, reduced) = (explored(budget, None, PLAIN), explored(budget, None, REDUCED));
    assert!(reduced.is_ok() && reduced <= plain, "{reduced:?} of {plain:?}");
}

#[test]
fn a_reconfiguration_by_the_old_quorum_alone_is_found() {
    let bug = Some(Bug::PlantedOldQuorumEnough);
    for reductions in [PLAIN, REDUCED] {
        let found = explored(reconfigured(2, 0, 0), bug, reductions);
        assert_eq!(found, Err("S3 committed means durable".to_owned()));
    }
}
