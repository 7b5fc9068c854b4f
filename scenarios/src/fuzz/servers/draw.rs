//! Draws random cases, with weights: small ones, in which much can happen.

use super::case::{Case, Watched};
use vivarium_model::config::{Config, Election, TxnLogSync};
use vivarium_model::file_system::Metadata;
use vivarium_model::release::{Bug, Release};
use vivarium_sim::budget::Account;
use vivarium_sim::budget::servers::Budget;
use vivarium_sim::random::{Random, Seeds};

/// Draws the case with this number of a seed.
pub fn draw(seed: u64, number: u64) -> Case {
    let mut dice = Seeds::new(seed).stream("case of servers", number);
    let fast = dice.below(16) == 0;
    let servers = match dice.below(12) {
        0 => 1,
        1 | 2 if !fast => 3,
        _ => 2,
    };
    let faults = match (servers, fast) {
        (1, _) => dice.between(1, 4),
        (2, false) => [0, 1, 1, 1, 1, 2][dice.below(6) as usize],
        // A third server has many states, so faults are rare there.
        (_, false) => dice.below(5) / 4,
        (_, true) => dice.below(4) / 3,
    };
    let plain = Config::new(servers, 0);
    let kept = plain.commit_log_count;
    let case = Case {
        budget: budget(&mut dice, servers, fast, faults),
        election: if fast { Election::Fast } else { Election::Oracle },
        bugs: bugs(&mut dice),
        snap_count: (dice.below(6) == 0).then_some(1),
        metadata: Metadata::default(),
        commit_log_count: [kept, kept, 1, 0][dice.below(4) as usize],
        watched: [Watched::States, Watched::Commits, Watched::Order][dice.below(3) as usize],
        txn_log_sync: *dice.pick(&[plain.txn_log_sync, TxnLogSync::Unlimited]),
    };
    let mut metadata = Seeds::new(seed).stream("metadata", number);
    let metadata = *metadata.pick(&[Metadata::Unordered, Metadata::Ordered]);
    let case =
        observed(Case { metadata, ..case }, &mut Seeds::new(seed).stream("observers", number));
    of_any(case, &mut Seeds::new(seed).stream("anybody is elected", number))
}

/// Adds an observer to a fifth of the small cases with an oracle, in some of them with a defect of what it is sent.
fn observed(case: Case, dice: &mut Random) -> Case {
    let is_small = case.budget.servers <= 2 && case.budget.sum() <= 5;
    if case.election != Election::Oracle || !is_small || dice.below(5) != 0 {
        return case;
    }
    let budget = Budget { observers: 1, ..case.budget };
    let mut bugs = case.bugs;
    if dice.below(4) == 0 {
        bugs.push(*dice.pick(&[
            Bug::PlantedInformedEarly,
            Bug::PlantedInformsForgotten,
            Bug::ObserverEpochBeforeLog,
        ]));
        bugs.sort_unstable();
    }
    Case { budget, bugs, ..case }
}

/// In a third of the cases with an oracle, replaces the oracle by arbitrary elections, in some of them without one of
/// ZAB's guards.
fn of_any(case: Case, dice: &mut Random) -> Case {
    if case.election != Election::Oracle || dice.below(3) != 0 {
        return case;
    }
    let budget = Budget { upsets: dice.below(3) as u8, ..case.budget };
    let mut bugs = case.bugs;
    if dice.below(4) == 0 {
        bugs.push(*dice.pick(&Bug::PLANTED_GUARDS));
        bugs.sort_unstable();
    }
    Case { budget, bugs, election: Election::Any, ..case }
}

fn budget(dice: &mut Random, servers: u8, fast: bool, faults: u64) -> Budget {
    let txns = match (servers, fast) {
        (1, _) => dice.below(4),
        (2, false) => [0, 0, 1, 1, 2][dice.below(5) as usize],
        _ => dice.below(3) / 2,
    };
    let mut budget = Budget { servers, txns: txns as u8, ..Budget::default() };
    for _ in 0..faults {
        let account = match dice.below(10) {
            0..4 => Account::Crashes,
            4..6 => Account::Breaks,
            6..8 => Account::Timeouts,
            _ => Account::FsyncErrors,
        };
        budget[account] += 1;
    }
    budget
}

/// Draws no defect, one or two, or all that today's rules have.
fn bugs(dice: &mut Random) -> Vec<Bug> {
    let one = |dice: &mut Random| dice.choose(&Bug::AMONG_SERVERS).expect("there are some");
    let mut some: Vec<Bug> = match dice.below(10) {
        0..5 => Vec::new(),
        5..8 => vec![one(dice)],
        8 => (0..2).map(|_| one(dice)).collect(),
        _ => Bug::AMONG_SERVERS.into_iter().filter(|bug| Release::Head.bugs().has(*bug)).collect(),
    };
    some.sort_unstable();
    some.dedup();
    some
}
