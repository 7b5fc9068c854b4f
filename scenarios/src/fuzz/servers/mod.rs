//! The same for searches of servers (`vivarium explore broadcast`, `election`): budgets, elections and defects are
//! generated, and what searches reach is compared ([`reach`](self::reach()) says what).
//!
//! The baseline is a search without reductions by a plain loop. It is compared with all reductions, with each alone,
//! and with all but one; and with the search engine, breadth and depth first, in one and two threads. In each state,
//! each eager step is also compared with everything that could happen instead.

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

/// Compares the searches of these cases of a seed, up to the first difference. Calls `progress` after each case.
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
