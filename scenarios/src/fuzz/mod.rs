//! Whether "exhausted" means it: small programs are generated, and what searches reach is compared.
//!
//! Sets of outcomes are compared, not verdicts: what every program is told and writes down, in the
//! order that is watched, what is committed, the tree that is left, standstills, violations, and
//! whether a timer was kept from ending. The measure is a search without reductions, in which two
//! states are one only if they are equal. Against it: all reductions, each by itself, breadth and
//! depth first, one thread and two, whose numbers of states must be the same. Where states are merged, one
//! can do what the other can.
//!
//! What a difference finder finds is only as good as what it can see. So each reduction's condition can
//! be broken on purpose ([`Flaw`]), and each of those mistakes must be found.

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

pub use case::{Answer, Call, Case, PATHS, Statement, Watched, Watching};
pub use compare::{Compared, against_reference, compare, ways};
pub use difference::Difference;
pub use draw::draw;
pub use reach::{Reach, reach};
pub use reference::{Reference, is_covered, reference};
pub use shrink::shrink;
pub use vivarium_sim::every::programs::{Budget, Flaw, Reductions};

/// So many states are a case that is worth comparing.
pub const MOST_STATES: usize = 20_000;

/// What came of many cases.
#[derive(Clone, Debug)]
pub struct Fuzzed<C = Case> {
    /// Cases that were compared.
    pub compared: u64,
    /// Cases that were too large.
    pub too_large: u64,
    /// States without reductions, and with them.
    pub states: (u64, u64),
    /// Different outcomes, added up.
    pub outcomes: u64,
    /// Cases that were compared with the reference too, and its states.
    pub interpreted: (u64, u64),
    /// The first case whose searches differ, as small as it gets, and its number.
    pub difference: Option<(u64, C, Difference)>,
}

/// Makes a case smaller as long as it fails.
type Shrink<C> = dyn Fn(&C, &dyn Fn(&C) -> bool) -> C;

/// How cases of a kind are made, compared and made smaller.
struct Comparison<'a, C> {
    draw: &'a dyn Fn(u64) -> C,
    compare: &'a dyn Fn(&C, u64) -> Compared,
    shrink: &'a Shrink<C>,
}

/// Compares the searches of so many cases of a seed; stops at the first difference. `progress` is told
/// after each.
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
