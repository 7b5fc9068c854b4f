//! Hands a violating run of a sweep to a search, which finds a violation of the same property in a few steps, if the
//! programs can be explored.

use super::super::Exploration;
use super::{Checked, Question, on_watch};
use crate::sweeping::panics;
use std::cmp::Reverse;
use std::time::{Duration, Instant};
use vivarium_model::bounds::SEARCHED_CLIENTS;
use vivarium_model::case::Case;
use vivarium_model::config::ServerOptions;
use vivarium_model::property::{AT_REST, Asked, Objection, zookeeper};
use vivarium_model::step::Step;
use vivarium_reports::summary::Finding;
use vivarium_sim::budget::Account;
use vivarium_sim::budget::programs::Budget;
use vivarium_sim::demands::PROGRAM;
use vivarium_sim::every::{Silent, search};
use vivarium_sim::{Explored, Run, Scenario};

/// The most states of each search: first few for every budget, then more.
const STATES: [u64; 3] = [3_000, 20_000, 300_000];

/// The most faults and early timers together in each budget.
const MOST_FAULTS: u8 = 3;

/// The faults of a run that a search can try, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Struck {
    /// Faults that can cost a client its connection, and sometimes its session.
    pub(crate) connections: bool,
    /// Ends of programs' processes.
    pub(crate) kills: bool,
    /// Cancellations of programs.
    pub(crate) cancels: bool,
    /// Deletions of containers.
    pub(crate) deletions: bool,
}

impl Struck {
    /// Returns the faults among a case's steps.
    pub(crate) fn in_case(case: &Case) -> Struck {
        let any = |is: fn(&Step) -> bool| case.steps.iter().any(|(_, step)| is(step));
        Struck {
            connections: any(|step| {
                step.is_fault() && !matches!(step, Step::Kill(_) | Step::Cancel(_))
            }),
            kills: any(|step| matches!(step, Step::Kill(_))),
            cancels: any(|step| matches!(step, Step::Cancel(_))),
            // They are consequences of a timer of the leader, and the case may have left out what they need.
            deletions: case.config.options.container_check_interval
                < ServerOptions::default().container_check_interval,
        }
    }
}

/// Searches for a way to the same violation within this time, with ever larger budgets of the faults that struck.
/// Returns the way and its case; `None` if it found none, or if the programs cannot be explored.
pub(crate) fn hand_over(
    scenario: &Scenario,
    case: &Case,
    struck: Struck,
    objection: &Objection,
    time: Duration,
) -> Option<(Finding, Case)> {
    let Explored::Programs { setup } = &scenario.explored else { return None };
    scenario.settings.check_searchable().ok()?;
    let clients = clients_of(scenario, case)?;
    let most = case.config.clients.len().min(usize::from(SEARCHED_CLIENTS)).min(3) as u8;
    let scenario = Exploration::new().set_up(scenario, setup).ok()?;
    if !is_asked(&scenario, clients, objection) {
        return None;
    }
    panics::programs();
    let budgets = budgets(struck);
    let objection = objection.clone();
    let began = Instant::now();
    let question = move |(states, clients, budget): (u64, u8, Budget)| {
        let mut exploration = Exploration::new().max_states(states).with_all(budget);
        exploration.options.max_time = Some(time.saturating_sub(began.elapsed()));
        Question::new(scenario.clone(), &[], clients, &exploration)
    };
    let first = question((STATES[0], clients, Budget::default()));
    let sizes = STATES.into_iter().flat_map(move |states| {
        (clients..=most.max(clients)).map(move |clients| (states, clients))
    });
    let all = sizes.flat_map(move |(states, clients)| {
        budgets.clone().into_iter().map(move |budget| (states, clients, budget))
    });
    let found = on_watch(first, time, move |first, begins| {
        let others = all.map(question);
        for question in std::iter::once(first).chain(others) {
            if began.elapsed() >= time {
                break;
            }
            begins(&question);
            if let Some(found) = falls(&question, &objection) {
                return Some(found);
            }
        }
        None
    });
    // A program that never awaits fails the search; the simulator has reported its run already.
    found.ok().flatten()
}

/// Returns true if a search checks this property, or its counterpart at rest.
fn is_asked(scenario: &Scenario, clients: u8, objection: &Objection) -> bool {
    let property = objection.property.as_str();
    let all = (scenario.monitors)(&Run::smallest(scenario, clients, Budget::default()));
    let of = |class: Asked| all.iter().filter(move |monitor| monitor.asked() == class);
    // A monitor may report a violation under another name than its own. A search assumes ZooKeeper's own properties
    // and does not check them.
    let others = || of(Asked::InSweeps).map(|monitor| monitor.name());
    let zookeepers: Vec<&str> = zookeeper().iter().map(|monitor| monitor.name()).collect();
    let is_counterpart = |name: &str| name.strip_suffix(AT_REST) == Some(property);
    matches!(property, "program" | "progress")
        || of(Asked::Everywhere).any(|monitor| is_counterpart(monitor.name()))
        || of(Asked::Everywhere).count() > 0
            && others().chain(zookeepers).all(|other| other != property)
}

/// Searches, and returns the way and its case if the same property is violated.
fn falls(question: &Question, objection: &Objection) -> Option<(Finding, Case)> {
    let outcome = search(&question.model, &question.exploration.options, &Silent);
    let counterexample = outcome.verdict().err()?;
    if !is_same(objection, &counterexample.objection) {
        return None;
    }
    let mut report = question.report(&outcome, 0, Checked::default());
    let case = question.violated(counterexample, &Silent, &mut report);
    Some((report.finding?, case))
}

/// Returns true if both violate the same property, or the search its counterpart at rest. If a program failed, the
/// failures must be equal too.
fn is_same(swept: &Objection, searched: &Objection) -> bool {
    searched.is_to(&swept.property)
        && (swept.property != PROGRAM || swept.failure == searched.failure)
}

/// Returns the smallest number of clients that the scenario allows, but at least two if the run had as many; `None`
/// if that is too many for a search.
fn clients_of(scenario: &Scenario, case: &Case) -> Option<u8> {
    let fewest = scenario.clients.range().map_or(1, |(fewest, _most)| fewest);
    let two = case.config.clients.len().min(2) as u32;
    u8::try_from(fewest.max(two)).ok().filter(|clients| *clients <= SEARCHED_CLIENTS)
}

/// Returns the budgets of the faults that struck and of early timers, smallest first.
fn budgets(struck: Struck) -> Vec<Budget> {
    let varied = |account: Account| match account {
        Account::Lost => struck.connections,
        Account::Expiries => struck.connections || struck.kills,
        Account::Cancels => struck.cancels,
        Account::Timers => true,
        Account::Kills => struck.kills,
        _ => false,
    };
    let deletions = u8::from(struck.deletions);
    let fixed = Budget { deletions, delays: Account::Delays.usual(), ..Budget::default() };
    let mut all = vec![fixed];
    for account in Budget::ACCOUNTS.into_iter().filter(|account| varied(*account)) {
        let with = |budget: Budget| {
            let mut budget = budget;
            (0..=MOST_FAULTS).map(move |number| {
                budget[account] = number;
                budget
            })
        };
        all = all.into_iter().flat_map(with).collect();
    }
    let sum = |budget: &Budget| budget.sum() - fixed.sum();
    all.retain(|budget| sum(budget) <= usize::from(MOST_FAULTS));
    // Those with lost connections first, because most violations need only one.
    all.sort_by_key(|budget| (sum(budget), Reverse(budget[Account::Lost])));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::property::Failure;

    #[test]
    fn another_property_or_another_failure_is_not_the_same() {
        let same = |one: (&str, &str), other: (&str, &str)| {
            is_same(&Objection::new(one.0, one.1), &Objection::new(other.0, other.1))
        };
        assert!(same(("lock M1", "client 1 and client 2"), ("lock M1", "client 3 and client 1")));
        assert!(!same(("lock M1", "both"), ("lock M5", "both")));
        assert!(same(("lock M5", "one"), ("lock M5 at rest", "one")), "it has no time to wait for");
        assert!(!same(("lock M5 at rest", "one"), ("lock M5", "one")));
        let fails = |client: u8, failure: Failure| {
            Objection::failed(PROGRAM, &format!("the program of client {client}"), failure)
        };
        let late = || Failure::Returned("too late".into());
        let swept = fails(1, late());
        assert!(is_same(&swept, &fails(2, late())));
        assert!(!is_same(&swept, &fails(2, Failure::Returned("too early".into()))));
        assert!(!is_same(&swept, &fails(2, Failure::Panicked("too late".into()))));
    }
}
