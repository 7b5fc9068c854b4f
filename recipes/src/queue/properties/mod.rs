//! The properties of a queue, as monitors (recipe rules 2.4.7 and 2.5.2).
//!
//! | | property | class |
//! |---|---|---|
//! | Q1 | no item that was put disappears unless a consumer has taken it | at rest |
//! | Q2 | no item is taken twice | event |
//! | Q3 | each consumer takes items in the order in which they were put | event |
//! | Q4 | no item is in the queue twice | event |
//! | P1 | no item with a better priority is passed over | event |
//!
//! Each monitor takes one directory, whose children are the items, and ignores everything else. The data identifies
//! an item. No monitor looks back in the committed history: it keeps what it needs of the past in its own state.

mod no_loss;
mod once_put;
mod order;
mod passed_over;
mod taken_once;

pub use no_loss::NoLoss;
pub use once_put::OncePut;
pub use order::TakenInOrder;
pub use passed_over::NothingPassedOver;
pub use taken_once::TakenOnce;

use crate::herd::Herd;
use std::sync::Arc;
use vivarium_model::path::{self, ZnodePath};
use vivarium_model::property::Monitor;
use vivarium_model::txn::TxnBody;

/// Returns all monitors of a queue whose items are the children of `directory`: first in, first out, each item taken
/// at most once.
pub fn monitors(directory: &str) -> Vec<Box<dyn Monitor>> {
    vec![
        Box::new(NoLoss::new(directory)),
        Box::new(TakenOnce::new(directory)),
        Box::new(TakenInOrder::new(directory)),
        Box::new(OncePut::new(directory)),
        Box::new(Herd::unbounded(directory)),
    ]
}

/// Returns all monitors of a queue with priorities, which are part of the items' names (see
/// [`ItemName`](super::ItemName)).
pub fn priority_monitors(directory: &str) -> Vec<Box<dyn Monitor>> {
    vec![
        Box::new(NoLoss::new(directory)),
        Box::new(TakenOnce::new(directory)),
        Box::new(NothingPassedOver::new(directory)),
        Box::new(OncePut::new(directory)),
        Box::new(Herd::unbounded(directory)),
    ]
}

/// A change that a transaction makes to a child of the directory.
pub(crate) enum Part<'a> {
    Created { path: &'a ZnodePath, data: &'a [u8] },
    Deleted { path: &'a ZnodePath },
}

/// Calls `each` with each child of the directory that a transaction creates or deletes by name, in order. This leaves
/// out ephemerals that are deleted with their session.
pub(crate) fn parts<'a>(body: &'a TxnBody, directory: &str, each: &mut impl FnMut(Part<'a>)) {
    let is_in = |path: &ZnodePath| path::parent(path) == Some(directory);
    match body {
        TxnBody::Create { path, data, .. } if is_in(path) => {
            each(Part::Created { path, data });
        }
        TxnBody::Delete { path } if is_in(path) => each(Part::Deleted { path }),
        TxnBody::Multi(all) => all.iter().for_each(|part| parts(part, directory, each)),
        _ => {}
    }
}

/// Returns an item's data in the form that observations use.
pub(crate) fn item_of(data: &[u8]) -> Arc<str> {
    String::from_utf8_lossy(data).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::property::{LooksBack, Monitors};

    #[test]
    fn a_search_for_a_queue_need_not_tell_pasts_apart() {
        for all in [monitors("/queue"), priority_monitors("/queue")] {
            assert_eq!(Monitors::new(all).look_back(), LooksBack::Tip);
        }
    }
}
