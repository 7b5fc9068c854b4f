//! The properties of an acknowledged queue, as monitors (recipe rule 2.6.7).
//!
//! | | property | class |
//! |---|---|---|
//! | LQ1 | an item is deleted only by the session that has claimed it | event |
//! | LQ2 | at most one live claim per item, and no claim of a deleted item | event |
//! | LQ3 | an acknowledgement reports success if and only if it deleted the item | event |
//! | LQ4 | a write by an earlier claim does not overwrite a write by a later one | event |
//! | LQ5 | a requeued item has a name of its own | event |
//!
//! Its puts also have the property Q4 ([`OncePut`]). Each monitor takes one directory, whose children are the items;
//! claims are ephemeral znodes with the items' names in the directory beside it ([`claims`](super::claims)). All
//! other znodes are ignored. No monitor looks back in the committed history.

mod claims;
mod fenced;
mod fresh_name;
mod gone_by_claimer;
mod one_claimer;
mod told_truly;

pub use fenced::FencedWork;
pub use fresh_name::FreshName;
pub use gone_by_claimer::GoneByClaimer;
pub use one_claimer::OneClaimer;
pub use told_truly::ToldTruly;

use crate::herd::Herd;
use crate::queue::properties::OncePut;
use vivarium_model::property::Monitor;

/// Returns all monitors of an acknowledged queue whose items are the children of `directory`.
pub fn monitors(directory: &str) -> Vec<Box<dyn Monitor>> {
    vec![
        Box::new(GoneByClaimer::new(directory)),
        Box::new(OneClaimer::new(directory)),
        Box::new(ToldTruly::new(directory)),
        Box::new(FencedWork::new(directory)),
        Box::new(FreshName::new(directory)),
        Box::new(OncePut::new(directory)),
        Box::new(Herd::unbounded(directory)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::property::{LooksBack, Monitors};

    #[test]
    fn a_search_for_an_acknowledged_queue_need_not_tell_pasts_apart() {
        assert_eq!(Monitors::new(monitors("/queue")).look_back(), LooksBack::Tip);
    }
}
