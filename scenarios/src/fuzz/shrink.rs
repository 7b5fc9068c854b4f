//! Finds the smallest case that still shows a difference.

use super::case::{Call, Case, Statement, Watched};
use vivarium_sim::budget::programs::Budget;

/// Makes a case smaller as long as `fails` returns true for the result.
pub fn shrink(case: &Case, fails: impl Fn(&Case) -> bool) -> Case {
    shrink_by(case, smaller, fails)
}

/// Shrinks cases of any kind; `smaller` proposes smaller ones.
pub(super) fn shrink_by<C: Clone>(
    case: &C,
    smaller: impl Fn(&C) -> Vec<C>,
    fails: impl Fn(&C) -> bool,
) -> C {
    let mut best = case.clone();
    while let Some(smaller) = smaller(&best).into_iter().find(&fails) {
        best = smaller;
    }
    best
}

/// Returns cases that are slightly smaller or simpler than this one.
fn smaller(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Case)| {
        let mut other = case.clone();
        change(&mut other);
        if other != *case && !other.programs.is_empty() {
            all.push(other);
        }
    };
    for client in 0..case.programs.len() {
        with(&|case| drop(case.programs.remove(client)));
        for at in 0..case.programs[client].len() {
            with(&|case| _ = case.programs[client].remove(at));
        }
    }
    for account in Budget::ACCOUNTS {
        with(&|case| {
            let is_any = account.any() == Some(case.budget[account]);
            case.budget[account] = if is_any { 2 } else { case.budget[account].saturating_sub(1) };
        });
    }
    with(&|case| case.deletes = case.budget.deletions > 0);
    with(&|case| case.chroot = false);
    with(&|case| case.gives_up = false);
    if !case.chroot {
        with(&|case| _ = case.setup.pop());
    }
    for client in 0..case.programs.len() {
        for at in 0..case.programs[client].len() {
            for simpler in simpler(case.programs[client][at]) {
                with(&|case| case.programs[client][at] = simpler);
            }
        }
    }
    if case.watched != Watched::Ends {
        with(&|case| case.watched = Watched::Ends);
    }
    all
}

/// Returns the parts of a statement.
fn simpler(statement: Statement) -> Vec<Statement> {
    match statement {
        Statement::Join(one, other) | Statement::Race(one, other) => {
            vec![Statement::Do(one), Statement::Do(other)]
        }
        Statement::Retry(call)
        | Statement::Timeout(call)
        | Statement::Cancellable(call)
        | Statement::Spawn(call) => vec![Statement::Do(call)],
        Statement::AwaitOr(call) => vec![Statement::Await, Statement::Do(call)],
        Statement::Do(call) => plainer(call).map(Statement::Do).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn plainer(call: Call) -> Option<Call> {
    match call {
        Call::CreateSequential(path) | Call::CreateContainer(path) | Call::CreateTtl(path) => {
            Some(Call::Create(path))
        }
        Call::SetFirst(path, byte) => Some(Call::SetData(path, byte)),
        Call::GetData(path) | Call::GetChildren(path) | Call::CountAll(path) => {
            Some(Call::Exists(path))
        }
        _ => None,
    }
}
