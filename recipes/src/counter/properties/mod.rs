//! The property of a counter, as a monitor (recipe rule 2.15.4).
//!
//! | | property | class |
//! |---|---|---|
//! | C1 | an acknowledged addition is counted once, any other at most once | event |

mod counted_once;

pub use counted_once::CountedOnce;

use crate::herd::Herd;
use vivarium_model::property::Monitor;

/// Returns all monitors of the counter in this znode, which holds its number in the first line of its data. They
/// require that all clients add and no client subtracts.
pub fn monitors(counter: &str) -> Vec<Box<dyn Monitor>> {
    vec![Box::new(CountedOnce::new(counter)), Box::new(Herd::new(counter, 0))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::property::{LooksBack, Monitors};

    #[test]
    fn a_search_for_the_counter_need_not_tell_pasts_apart() {
        assert_eq!(Monitors::new(monitors("/counter")).look_back(), LooksBack::Tip);
    }
}
