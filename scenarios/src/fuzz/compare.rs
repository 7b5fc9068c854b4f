//! Whether all searches of a case agree, and where not, what differs.

use super::case::{Case, Watched};
use super::difference::Difference;
use super::merging::merging;
use super::reach::{Reach, model, reach, reach_of};
use super::record::Ends;
use super::reference::{Reference, in_its_words, is_covered, reference};
use std::num::NonZeroUsize;
use vivarium_model::release::Bugs;
use vivarium_sim::budget::Account;
use vivarium_sim::every::programs::{Flaw, Reductions};
use vivarium_sim::every::{Ending, Model, Options, Silent, Strategy, search};

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    /// All agree.
    Agree {
        /// States without reductions.
        plain: u64,
        /// States with all of them.
        reduced: u64,
        /// Different outcomes.
        outcomes: usize,
        /// States of the reference, if it was asked.
        interpreted: Option<u64>,
    },
    /// It takes too many states to be compared.
    TooLarge,
    /// They do not.
    Differ(Difference),
}

/// The ways to reduce that are compared: all, and each without the others.
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

/// Compares the searches of a case. `turn` chooses which of the rarer ones take part.
pub fn compare(case: &Case, flaw: Option<Flaw>, most: usize, turn: u64) -> Compared {
    let Some(plain) = reach(case, Reductions::NONE, None, most) else { return Compared::TooLarge };
    if let Some(difference) = merging(case, flaw, most) {
        return Compared::Differ(difference);
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
            // That a timer need not end any earlier is true if nothing more comes of it.
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
    let all = model(case, Reductions::ALL, flaw, &Ends::default());
    if let Some(difference) = by_strategy(&all, &expected, turn) {
        return Compared::Differ(difference);
    }
    // A planted mistake is in what the reference has nothing of.
    let interpreted = match flaw.map_or_else(|| by_reference(case, &plain, most), |_| Ok(None)) {
        Ok(interpreted) => interpreted,
        Err(what) => {
            let search = "without reductions, against the reference".to_string();
            return Compared::Differ(Difference { search, what });
        }
    };
    Compared::Agree { plain: plain.states, reduced, outcomes: plain.outcomes.len(), interpreted }
}

/// The same, with as many early timers as there can be sleeps.
fn with_more_timers(case: &Case) -> Case {
    let mut more = case.clone();
    // A statement makes two calls at most.
    let calls: usize = case.programs.iter().map(|program| 2 * program.len()).sum();
    let lives = 1 + usize::from(case.budget.kills);
    let (_, most) = Account::Timers.bounds();
    more.budget.timers = u8::try_from(calls * lives).map_or(most, |calls| calls.min(most));
    more
}

/// The most states of a case that the reference is asked about, and how many it may take itself: it
/// merges less.
const MOST_INTERPRETED: u64 = 3_000;
const MOST_OF_REFERENCE: usize = 30_000;

/// Compares with the reference, where that knows the case and can come to its end.
fn by_reference(case: &Case, plain: &Reach, most: usize) -> Result<Option<u64>, String> {
    if plain.states > MOST_INTERPRETED {
        return Ok(None);
    }
    against_reference(case, Bugs::NONE, most)
}

/// Compares a search without reductions, over a ZooKeeper with these defects, with the reference, which
/// has none. The states of the reference; `None` where it does not know the case, or one of both
/// does not come to its end.
///
/// # Errors
/// What the search comes to and the reference does not, or the other way round.
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

/// What the searches in turn have come to, which the search proper has to come to as well.
pub(super) struct Expected<'a> {
    /// Whether something was withheld.
    pub(super) withheld: bool,
    /// Distinct states.
    pub(super) states: u64,
    /// An objection, if there is one.
    pub(super) bad: Option<&'a String>,
    /// Whether this is one of the objections.
    pub(super) is_known: &'a dyn Fn(&str) -> bool,
}

/// The search proper: one of its strategies, in one thread or two. Its verdict and its number of states
/// are those of the model, whoever searches.
pub(super) fn by_strategy<M>(model: &M, expected: &Expected<'_>, turn: u64) -> Option<Difference>
where
    M: Model,
{
    let ways = [
        (Strategy::BreadthFirst, 1),
        (Strategy::DepthFirst, 1),
        (Strategy::BreadthFirst, 2),
        (Strategy::DepthFirst, 2),
    ];
    let (strategy, threads) = ways[(turn % 4) as usize];
    let mut options = Options::new(strategy);
    options.threads = NonZeroUsize::new(threads).expect("some threads");
    let Expected { withheld, states: counted, bad, is_known } = *expected;
    let what = match (search(model, &options, &Silent).ending, bad) {
        (Ending::Exhausted { states, .. }, None) if !withheld && states == counted => return None,
        (Ending::Bounded { states, .. }, None) if withheld && states == counted => return None,
        (Ending::Violated(found), _) => {
            let objection = found.objection.to_string();
            if is_known(&objection) {
                return None;
            }
            format!("violated by `{objection}`, which cannot be")
        }
        (Ending::Exhausted { states, .. } | Ending::Bounded { states, .. }, None) => {
            format!("{states} states, and {counted} when they were counted in turn")
        }
        (_, Some(bad)) => format!("not violated, though there is `{bad}`"),
    };
    Some(Difference { search: format!("{strategy:?} in {threads} threads"), what })
}
