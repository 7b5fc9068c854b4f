//! Compares all searches of a case.

use super::case::{Case, Watched};
use super::difference::{Difference, Expected, differs_from};
use super::merging::merging;
use super::reach::{Reach, model, reach, reach_of};
use super::record::Ends;
use super::reference::{Reference, in_its_words, is_covered, reference};
use super::symmetry::symmetry;
#[cfg(feature = "cluster")]
use super::together;
use std::num::NonZeroUsize;
use vivarium_model::release::Bugs;
use vivarium_sim::budget::Account;
use vivarium_sim::every::programs::{Flaw, Reductions};
use vivarium_sim::every::{Model, Options, Silent, Strategy, search};

/// The result of the comparison of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    /// All searches agree.
    Agree {
        /// The number of states without reductions.
        plain: u64,
        /// The number of states with all reductions.
        reduced: u64,
        /// The number of different outcomes.
        outcomes: usize,
        /// The number of states of the reference, if it was run.
        interpreted: Option<u64>,
    },
    /// The case has too many states to be compared.
    TooLarge,
    /// The searches disagree.
    Differ(Difference),
}

/// Returns the reductions that are compared: all together, and each alone.
pub fn ways() -> Vec<(&'static str, Reductions)> {
    let none = Reductions::NONE;
    vec![
        ("all reductions", Reductions::ALL),
        ("blocks alone", Reductions { blocks: true, ..none }),
        ("inputs alone", Reductions { inputs: true, ..none }),
        ("prefixes alone", Reductions { prefixes: true, ..none }),
        ("the past alone", Reductions { past: true, ..none }),
    ]
}

/// Compares the searches of a case. `turn` selects which of the rarer ones take part.
pub fn compare(case: &Case, flaw: Option<Flaw>, most: usize, turn: u64) -> Compared {
    let Some(plain) = reach(case, Reductions::NONE, None, most) else { return Compared::TooLarge };
    if let Some(difference) = merging(case, flaw, most) {
        return Compared::Differ(difference);
    }
    let turns = flaw.map_or(turn.is_multiple_of(2), |flaw| Flaw::OF_SYMMETRY.contains(&flaw));
    if turns && let Some(difference) = symmetry(case, flaw, most, turn / 2) {
        return Compared::Differ(difference);
    }
    // With any number of early timers, the outcomes are those with the number that there can be.
    if Account::Timers.any() == Some(case.budget.timers) {
        match reach(&with_more_timers(case), Reductions::NONE, None, most) {
            Some(counted) if !counted.withheld => {
                if let Some(what) = differs(&counted, &plain) {
                    let search = "any number of timers".to_string();
                    return Compared::Differ(Difference { search, what });
                }
            }
            Some(_) | None => return Compared::TooLarge,
        }
    }
    let ways = ways();
    let rare = 1 + (turn % (ways.len() as u64 - 1)) as usize;
    let (mut reduced, mut withheld) = (0, plain.withheld);
    for at in [0, rare] {
        let (name, reductions) = ways[at];
        let Some(other) = reach(case, reductions, flaw, most) else {
            let what = format!("more than {most} states, where {} are enough", plain.states);
            return Compared::Differ(Difference { search: name.to_string(), what });
        };
        if at == 0 {
            (reduced, withheld) = (other.states, other.withheld);
        }
        let measure = match plain.withheld && !other.withheld {
            // A search that withheld no timer claims that earlier timers change nothing. The claim is true if a search
            // with more early timers has the same outcomes.
            true => match reach(&with_more_timers(case), Reductions::NONE, None, most) {
                Some(more) if !more.withheld => more,
                Some(_) | None => return Compared::TooLarge,
            },
            false => plain.clone(),
        };
        if let Some(what) = differs(&measure, &other) {
            return Compared::Differ(Difference { search: name.to_string(), what });
        }
    }
    let expected = Expected {
        withheld,
        states: reduced,
        bad: plain.outcomes.iter().find(|outcome| !outcome.starts_with("[[")),
        is_known: &|objection| plain.outcomes.iter().any(|outcome| outcome.ends_with(objection)),
    };
    let all = || model(case, Reductions::ALL, flaw, &Ends::default());
    if let Some(difference) = by_strategy(&all, &expected, turn) {
        return Compared::Differ(difference);
    }
    // The reference does not have the conditions in which mistakes are planted.
    let interpreted = match flaw.map_or_else(|| by_reference(case, &plain, most), |_| Ok(None)) {
        Ok(interpreted) => interpreted,
        Err(what) => {
            let search = "without reductions, against the reference".to_string();
            return Compared::Differ(Difference { search, what });
        }
    };
    Compared::Agree { plain: plain.states, reduced, outcomes: plain.outcomes.len(), interpreted }
}

/// Returns the same case with as many early timers as there can be sleeps, counted.
fn with_more_timers(case: &Case) -> Case {
    let mut more = case.clone();
    // A statement makes at most two calls.
    let calls: usize = case.programs.iter().map(|program| 2 * program.len()).sum();
    let lives = 1 + usize::from(case.budget.kills);
    let most = Account::Timers.any().expect("timers have one") - 1;
    more.budget.timers = u8::try_from(calls * lives).map_or(most, |calls| calls.min(most));
    more
}

/// The most states of a case for which the reference is run, and the most states of the reference itself, which merges
/// less.
const MOST_INTERPRETED: u64 = 3_000;
const MOST_OF_REFERENCE: usize = 30_000;

/// Compares with the reference, if it supports the case and its search ends.
fn by_reference(case: &Case, plain: &Reach, most: usize) -> Result<Option<u64>, String> {
    if plain.states > MOST_INTERPRETED {
        return Ok(None);
    }
    against_reference(case, Bugs::NONE, most)
}

/// Compares a search without reductions, of a ZooKeeper with these defects, with the reference, which has none. Returns
/// the number of the reference's states, or `None` if it does not support the case, or if one of the two searches does
/// not end.
///
/// # Errors
/// Returns an outcome that only one of the two searches reaches.
pub fn against_reference(case: &Case, bugs: Bugs, most: usize) -> Result<Option<u64>, String> {
    if !is_covered(case) {
        return Ok(None);
    }
    let Some(measure) = reference(case, MOST_OF_REFERENCE) else { return Ok(None) };
    let watched = Case { watched: Watched::Ends, ..case.clone() };
    let ends = Ends::default();
    let searched = model(&watched, Reductions::NONE, None, &ends).with_bugs(bugs);
    let Some(reached) = reach_of(&searched, &ends, most) else { return Ok(None) };
    let outcomes = reached.outcomes.iter().map(|outcome| in_its_words(outcome)).collect();
    let Reference { outcomes: measured, withheld, states } = measure;
    let measure = Reach { outcomes: measured, withheld, states };
    match differs(&measure, &Reach { outcomes, ..reached }) {
        Some(what) => Err(what),
        None => Ok(Some(states)),
    }
}

fn differs(plain: &Reach, other: &Reach) -> Option<String> {
    if let Some(missed) = plain.outcomes.difference(&other.outcomes).next() {
        return Some(format!("never comes to `{missed}`"));
    }
    if let Some(made_up) = other.outcomes.difference(&plain.outcomes).next() {
        return Some(format!("comes to `{made_up}`, which cannot be"));
    }
    match (plain.withheld, other.withheld) {
        (true, false) => Some("does not say that a timer was kept from ending".to_string()),
        (false, true) => Some("says that a timer was kept from ending, and none was".to_string()),
        _ => None,
    }
}

/// Runs the search engine with one strategy, in one or two threads, or in several processes. Its verdict and its number
/// of states must be those of the model, whatever the strategy.
pub(super) fn by_strategy<M: Model>(
    model: &(dyn Fn() -> M + Sync),
    expected: &Expected<'_>,
    turn: u64,
) -> Option<Difference> {
    #[cfg(feature = "cluster")]
    if turn % 8 == 7 {
        return together::by_processes(model, expected, turn);
    }
    let ways = [
        (Strategy::BreadthFirst, 1),
        (Strategy::DepthFirst, 1),
        (Strategy::BreadthFirst, 2),
        (Strategy::DepthFirst, 2),
    ];
    let (strategy, threads) = ways[(turn % 4) as usize];
    let mut options = Options::new(strategy);
    options.threads = NonZeroUsize::new(threads).expect("some threads");
    let what = differs_from(expected, search(&model(), &options, &Silent).ending)?;
    Some(Difference { search: format!("{strategy:?} in {threads} threads"), what })
}
