//! The properties of a read-write lock, as monitors (recipe rule 2.10.4).
//!
//! | | property |
//! |---|---|
//! | RW1 | the existing znodes that were granted the lock are either one writer's or all readers' |
//! | RW2 | two beliefs that exclude each other overlap only if the session of one of them is closed |
//! | M3, M5, M6 | as of the exclusive lock; only the tokens of writers count |

mod belief;
mod exclusion;

pub use belief::RwBelief;
pub use exclusion::RwExclusion;

use crate::contention::properties::{Fencing, NoLeak, NoLeakAtRest, NoSelfWait};
use crate::herd::Herd;
use vivarium_model::property::Monitor;
use vivarium_model::time::Duration;

/// Returns all monitors of the read-write lock in this directory. `bound` is that of M5, as in
/// [`lock::monitors`](crate::lock::monitors).
pub fn monitors(directory: &str, bound: Duration) -> Vec<Box<dyn Monitor>> {
    vec![
        Box::new(RwExclusion::new(directory)),
        Box::new(RwBelief::new(directory)),
        Box::new(Fencing::of_writers(directory)),
        Box::new(NoLeak::new(directory, bound)),
        Box::new(NoLeakAtRest::new(directory)),
        Box::new(NoSelfWait::new(directory)),
        Box::new(Herd::unbounded(directory)),
    ]
}
