//! Hands a violating run of a sweep to a search, which finds a violation of the same property in a few steps, if the
//! programs can be explored.

use super::super::Exploration;
use super::{Checked, Question, on_watch};
use crate::sweeping::panics;
use std::cmp::Reverse;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};
use vivarium_model::bounds::SEARCHED_CLIENTS;
use vivarium_model::case::Case;
use vivarium_model::config::ServerOptions;
use vivarium_model::property::{AT_REST, Asked, Objection, zookeeper};
use vivarium_model::step::Step;
use vivarium_model::verdict::Verdict;
use vivarium_reports::summary::Finding;
use vivarium_sim::budget::Account;
use vivarium_sim::budget::programs::Budget;
use vivarium_sim::demands::PROGRAM;
use vivarium_sim::every::{Silent, search};
use vivarium_sim::{Explored, Run, Scenario};

/// The most states of a search: first few, then more.
const STATES: [u64; 4] = [3_000, 20_000, 100_000, 300_000];

/// How much more a search with one fault more is put off, as a factor of its states; and with one client more.
const A_FAULT: u64 = 8;
const A_CLIENT: u64 = 16;

/// The most faults and early timers together in each budget.
const MOST_FAULTS: u8 = 3;

/// The faults of a run that a search can try, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Struck {
    /// Faults that can cost a client its connection, and sometimes its session.
    pub(crate) connections: bool,
    /// Ends of programs' processes.
    pub(crate) kills: bool,
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
    let objection = objection.clone();
    let began = Instant::now();
    let question = move |(states, clients, budget): (u64, u8, Budget)| {
        let mut exploration =
            Exploration::new().max_states(states).with_all(budget).without_symmetry();
        exploration.options.max_time = Some(time.saturating_sub(began.elapsed()));
        Question::new(scenario.clone(), &[], clients, &exploration)
    };
    let first = question((STATES[0], clients, Budget::default()));
    let all = searches(struck, clients..=most.max(clients));
    let found = on_watch(first, time, move |first, begins| {
        // All states of these are known.
        let mut exhausted: Vec<(u8, Budget)> = Vec::new();
        let first = (first, None);
        let others = all.into_iter().map(|(states, of)| (question((states, of.0, of.1)), Some(of)));
        for (question, of) in std::iter::once(first).chain(others) {
            if began.elapsed() >= time {
                break;
            }
            if of.is_some_and(|of| exhausted.contains(&of)) {
                continue;
            }
            begins(&question);
            match falls(&question, &objection) {
                Searched::Found(found) => return Some(*found),
                Searched::Exhausted => exhausted.extend(of),
                Searched::Stopped => {}
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

/// The result of one search.
enum Searched {
    /// The same property is violated: the way and its case.
    Found(Box<(Finding, Case)>),
    /// All states were visited, or another property is violated before.
    Exhausted,
    /// A bound ended the search.
    Stopped,
}

/// Searches for a violation of the same property.
fn falls(question: &Question, objection: &Objection) -> Searched {
    let outcome = search(&question.model, &question.exploration.options, &Silent);
    let counterexample = match outcome.verdict() {
        Err(counterexample) if is_same(objection, &counterexample.objection) => counterexample,
        Ok(Verdict::Bounded { .. }) => return Searched::Stopped,
        Err(_) | Ok(_) => return Searched::Exhausted,
    };
    let mut report = question.report(&outcome, &question.own_facts(Ok(Checked::default())));
    let case = question.violated(counterexample, &Silent, &mut report);
    match report.finding {
        Some(finding) => Searched::Found(Box::new((finding, case))),
        None => Searched::Stopped,
    }
}

/// Returns the searches to make, each with its number of states, its number of clients and its budget: the quickest
/// first.
fn searches(struck: Struck, clients: RangeInclusive<u8>) -> Vec<(u64, (u8, Budget))> {
    let fewest = *clients.start();
    let budgets = budgets(struck);
    let least = budgets.first().map_or(0, |budget| budget.sum());
    let mut all: Vec<(u64, (u8, Budget))> = Vec::new();
    for states in STATES {
        for clients in clients.clone() {
            all.extend(budgets.iter().map(|budget| (states, (clients, *budget))));
        }
    }
    let cost = |(states, (clients, budget)): &(u64, (u8, Budget))| {
        let faults = u32::try_from(budget.sum() - least).unwrap_or(u32::MAX);
        states * A_FAULT.pow(faults) * A_CLIENT.pow(u32::from(clients - fewest))
    };
    all.sort_by_key(cost);
    all
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
        // Programs of sweeps also cancel their own work, after a time.
        Account::Cancels | Account::Timers => true,
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
