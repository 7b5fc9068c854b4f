//! The properties of an election, as monitors (recipe rule 2.13.3).
//!
//! | | property |
//! |---|---|
//! | M1 to M6, M8, M9 | as of the exclusive lock, which the leader holds |
//! | E3 | the terms that one observer receives in one session grow |
//! | E6 | the client in office is the first of the candidates |

mod office;
mod terms;

pub use office::Office;
pub use terms::Terms;

use vivarium_model::property::Monitor;
use vivarium_model::time::Duration;

/// Returns all monitors of the election in this directory. `bound` is that of M5, as in
/// [`lock::monitors`](crate::lock::monitors).
pub fn monitors(directory: &str, bound: Duration) -> Vec<Box<dyn Monitor>> {
    let mut monitors = crate::lock::monitors(directory, bound);
    monitors.push(Box::new(Terms::new(directory)));
    monitors.push(Box::new(Office::new(directory)));
    monitors
}
