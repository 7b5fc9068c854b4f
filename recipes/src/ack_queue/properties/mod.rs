//! What an acknowledged queue promises, as monitors (recipe rule 2.6.7).
//!
//! | | property | class |
//! |---|---|---|
//! | LQ1 | an item goes only by the one who has claimed it | event |
//! | LQ2 | at most one live claim per item, and none of what is done | event |
//! | LQ3 | acknowledged is what is told to be, and nothing else | event |
//! | LQ4 | what a claim has done is not overwritten by an earlier one | event |
//! | LQ5 | a requeued item has a name of its own | event |
//!
//! And of its puts Q4 ([`OncePut`]). All of them take one directory, whose
//! children the items are; claims are ephemerals of the items' names in the directory beside it
//! ([`claims`](super::claims)). Everything else is ignored. None looks back in the committed history.

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

/// All monitors of an acknowledged queue whose items are the children of `directory`.
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
