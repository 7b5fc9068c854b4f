//! Shrinks cases: proposes slightly smaller or simpler ones.

use super::super::shrink::shrink_by;
use super::case::{Case, Watched};
use vivarium_model::config::{Config, Election};
use vivarium_model::file_system::Metadata;
use vivarium_sim::every::servers::Budget;

/// Makes a case smaller as long as `fails` returns true for the result.
pub fn shrink(case: &Case, fails: impl Fn(&Case) -> bool) -> Case {
    shrink_by(case, smaller, fails)
}

fn smaller(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Case)| {
        let mut other = case.clone();
        change(&mut other);
        if other != *case && other.budget.servers > 0 {
            all.push(other);
        }
    };
    for account in Budget::ACCOUNTS {
        with(&|case| case.budget[account] = case.budget[account].saturating_sub(1));
    }
    for at in 0..case.bugs.len() {
        with(&|case| _ = case.bugs.remove(at));
    }
    with(&|case| case.snap_count = None);
    with(&|case| case.metadata = Metadata::Unordered);
    with(&|case| case.commit_log_count = Config::new(1, 0).commit_log_count);
    with(&|case| case.txn_log_sync = Config::new(1, 0).txn_log_sync);
    with(&|case| {
        case.election = Election::Oracle;
        case.budget.upsets = 0;
    });
    with(&|case| case.watched = Watched::States);
    all
}
