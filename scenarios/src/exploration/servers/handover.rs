//! Searches the servers alone for a violation that a sweep has found: of the servers' own properties, with ever more
//! servers, transactions and faults.

use super::Question;
use super::report::properties;
use crate::exploration::Exploration;
use std::time::{Duration, Instant};
use vivarium_model::case::Case;
use vivarium_model::config::Election;
use vivarium_model::property::Objection;
use vivarium_model::release::Bug;
use vivarium_reports::summary::Finding;
use vivarium_sim::budget::Account;
use vivarium_sim::every::servers::Budget;
use vivarium_sim::every::{Silent, search};
use vivarium_sim::{Scenario, Servers};

/// The most states of each search: first few for every budget, then more.
const STATES: [u64; 3] = [2_000, 20_000, 300_000];

/// The faults of a budget.
const FAULTS: [Account; 4] =
    [Account::Crashes, Account::Breaks, Account::Timeouts, Account::FsyncErrors];

/// Searches for a violation of the same property within this time. `scenario` is one of servers alone, with the same
/// defects. Returns the way and its case.
pub(crate) fn hand_over_servers(
    scenario: &Scenario,
    smallest: Servers,
    objection: &Objection,
    time: Duration,
) -> Option<(Finding, Case)> {
    let began = Instant::now();
    if !properties().contains(&objection.property) {
        return None;
    }
    let bugs: Vec<String> = Bug::ALL
        .into_iter()
        .filter(|bug| scenario.bugs.has(*bug))
        .map(|bug| bug.name().to_string())
        .collect();
    // Background snapshots multiply the states, and few defects need them.
    for states in STATES {
        for snap_count in [None, Some(2)] {
            for budget in budgets() {
                let left = time.saturating_sub(began.elapsed());
                if left.is_zero() {
                    return None;
                }
                let asked = Exploration::new().max_states(states).max_time(left);
                // Upsets are refused, even none, where only the best candidate is elected.
                let accounts = budget.each().filter(|(of, _)| *of != Account::Upsets);
                let asked = accounts.fold(asked, |asked, (of, number)| asked.with(of, number));
                let asked = snap_count.into_iter().fold(asked, Exploration::snap_count);
                let question = Question::new(scenario, &bugs, smallest, &asked).ok()?;
                if let Some(found) = falls(&question, objection) {
                    return Some(found);
                }
            }
        }
    }
    None
}

/// Searches, and returns the way and its case if the same property is violated.
fn falls(question: &Question<'_>, objection: &Objection) -> Option<(Finding, Case)> {
    debug_assert_ne!(question.election, Election::ByLot);
    let model = question.model(true);
    let outcome = search(&model, &question.exploration.options, &Silent);
    let found = outcome.verdict().err()?;
    if found.objection.property != objection.property {
        return None;
    }
    let mut report = question.report(&outcome);
    let case = question.violated(&model, found, &Silent, &mut report);
    Some((report.finding?, case))
}

/// Returns budgets of up to three servers, three transactions and two faults, the smallest first.
fn budgets() -> Vec<Budget> {
    let mut all: Vec<Budget> = Vec::new();
    for servers in 1..=3 {
        for txns in 0..=3 {
            let none = Budget::new(servers, txns, 0);
            all.push(none);
            for (at, first) in FAULTS.into_iter().enumerate() {
                let mut one = none;
                one[first] += 1;
                all.push(one);
                for second in &FAULTS[at..] {
                    let mut two = one;
                    two[*second] += 1;
                    all.push(two);
                }
            }
        }
    }
    let faults = |budget: &Budget| FAULTS.iter().map(|fault| budget[*fault]).sum::<u8>();
    let txns = |budget: &Budget| budget[Account::Txns];
    all.sort_by_key(|budget| (faults(budget) + txns(budget) + 2 * budget.servers, budget.servers));
    all
}
