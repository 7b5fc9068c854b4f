//! What an election promises, as monitors (recipe rule 2.13.3).
//!
//! | | property |
//! |---|---|
//! | M1 to M6, M8, M9 | as of the exclusive lock: leading is holding it |
//! | E3 | the terms that one observer is told grow |
//! | E6 | whoever is in office is the first of the candidates |

mod office;
mod terms;

pub use office::Office;
pub use terms::Terms;

use vivarium_model::property::Monitor;
use vivarium_model::time::Duration;

/// All monitors of the election in this directory. `bound` is M5's, as in
/// [`lock::monitors`](crate::lock::monitors).
pub fn monitors(directory: &str, bound: Duration) -> Vec<Box<dyn Monitor>> {
    let mut monitors = crate::lock::monitors(directory, bound);
    monitors.push(Box::new(Terms::new(directory)));
    monitors.push(Box::new(Office::new(directory)));
    monitors
}
