//! Tests whether "exhausted" is true: generates small programs, and compares what searches reach.
//!
//! Sets of outcomes are compared, not verdicts: what every program receives and records (in the order that is watched),
//! the commits, the final tree, stuck states, violations, and whether a timer was withheld. The baseline is a search
//! without reductions, in which only equal states are merged. It is compared with all reductions, with each reduction
//! alone, and with searches breadth and depth first, in one and two threads and in several processes, whose numbers of
//! states must be equal. If states are merged, their futures are compared. A search that takes clients for each other must
//! reach an image of each state.
//!
//! A comparison can only find what it can observe. So the condition of each reduction can be broken on purpose
//! ([`Flaw`]), and each of these mistakes must be found.

mod case;
mod compare;
mod difference;
mod draw;
mod merging;
mod palette;
mod reach;
mod record;
mod reference;
mod run;
pub mod servers;
mod shrink;
mod symmetry;
#[cfg(feature = "cluster")]
mod together;

pub use case::{Answer, Call, Case, PATHS, Statement, Watched, Watching};
pub use compare::{Compared, against_reference, compare, ways};
pub use difference::Difference;
pub use draw::draw;
pub use reach::{Reach, reach};
pub use reference::{Reference, is_covered, reference};
pub use shrink::shrink;
pub use vivarium_sim::every::programs::{Budget, Flaw, Reductions};

/// The most states of a case that is compared.
pub const MOST_STATES: usize = 20_000;

/// The result of many cases.
#[derive(Clone, Debug)]
pub struct Fuzzed<C = Case> {
    /// The number of cases that were compared.
    pub compared: u64,
    /// The number of cases that were too large.
    pub too_large: u64,
    /// The total states without reductions, and with them.
    pub states: (u64, u64),
    /// The total of different outcomes.
    pub outcomes: u64,
    /// The number of cases that were also compared with the reference, and the reference's states.
    pub interpreted: (u64, u64),
    /// The first case with a difference, as small as possible, and its number.
    pub difference: Option<(u64, C, Difference)>,
}

/// Makes a case smaller as long as it fails.
type Shrink<C> = dyn Fn(&C, &dyn Fn(&C) -> bool) -> C;

/// How cases of a kind are drawn, compared and shrunk.
struct Comparison<'a, C> {
    draw: &'a dyn Fn(u64) -> C,
    compare: &'a dyn Fn(&C, u64) -> Compared,
    shrink: &'a Shrink<C>,
}

/// Compares the searches of these cases of a seed, up to the first difference. Calls `progress` after each case.
pub fn fuzz(
    seed: u64,
    cases: std::ops::Range<u64>,
    flaw: Option<Flaw>,
    most: usize,
    progress: &dyn Fn(&Fuzzed) -> bool,
) -> Fuzzed {
    let comparison = Comparison {
        draw: &|number| draw(seed, number),
        compare: &|case, number| compare(case, flaw, most, number),
        shrink: &|case, fails| shrink(case, fails),
    };
    fuzz_with(&comparison, cases, progress)
}

fn fuzz_with<C>(
    comparison: &Comparison<'_, C>,
    cases: std::ops::Range<u64>,
    progress: &dyn Fn(&Fuzzed<C>) -> bool,
) -> Fuzzed<C> {
    let Comparison { draw, compare, shrink } = comparison;
    let mut fuzzed = Fuzzed {
        compared: 0,
        too_large: 0,
        states: (0, 0),
        outcomes: 0,
        interpreted: (0, 0),
        difference: None,
    };
    for number in cases {
        let case = draw(number);
        match compare(&case, number) {
            Compared::Agree { plain, reduced, outcomes, interpreted } => {
                fuzzed.compared += 1;
                fuzzed.states.0 += plain;
                fuzzed.states.1 += reduced;
                fuzzed.outcomes += outcomes as u64;
                if let Some(states) = interpreted {
                    fuzzed.interpreted.0 += 1;
                    fuzzed.interpreted.1 += states;
                }
            }
            Compared::TooLarge => fuzzed.too_large += 1,
            Compared::Differ(first) => {
                let differs = |case: &C| matches!(compare(case, number), Compared::Differ(_));
                let small = shrink(&case, &differs);
                let difference = match compare(&small, number) {
                    Compared::Differ(difference) => difference,
                    _ => first,
                };
                fuzzed.difference = Some((number, small, difference));
                return fuzzed;
            }
        }
        if !progress(&fuzzed) {
            return fuzzed;
        }
    }
    fuzzed
}
