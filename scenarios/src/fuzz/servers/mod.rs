//! The same for searches over servers (`vivarium explore broadcast`, `election`): budgets, elections and
//! defects are generated, and what searches come to is compared ([`reach`](self::reach()) says what).
//!
//! The measure is a search without reductions by a plain loop. Against it: all reductions, each by itself,
//! all but one; and the search proper, breadth and depth first, in one thread and two. And in each state
//! each step that is taken early is held against all that could happen instead.

mod case;
mod commuting;
mod compare;
mod draw;
mod reach;
mod record;
mod shrink;

pub use case::{Case, Watched};
pub use compare::compare;
pub use draw::draw;
pub use reach::{Kind, Reach, reach};
pub use shrink::shrink;
pub use vivarium_model::config::{Election, TxnLogSync};
pub use vivarium_model::release::Bug;
pub use vivarium_sim::every::servers::{Budget, Flaw, Reductions};

use super::{Comparison, Fuzzed, fuzz_with};

/// Compares the searches of so many cases of a seed; stops at the first difference. `progress` is told
/// after each.
pub fn fuzz(
    seed: u64,
    cases: std::ops::Range<u64>,
    flaw: Option<Flaw>,
    most: usize,
    progress: &dyn Fn(&Fuzzed<Case>) -> bool,
) -> Fuzzed<Case> {
    let comparison = Comparison {
        draw: &|number| draw(seed, number),
        compare: &|case, number| compare(case, flaw, most, number),
        shrink: &|case, fails| shrink(case, fails),
    };
    fuzz_with(&comparison, cases, progress)
}
