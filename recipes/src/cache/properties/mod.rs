//! The properties of a cache, as monitors (recipe rule 2.16).
//!
//! | | property | class |
//! |---|---|---|
//! | CA1 | the copy becomes equal to the tree: within a time; at rest | run; event |
//! | CA2 | replaying the events gives the content, and no child without its parent | event |
//! | CA3 | the reported states of a znode never go back | event |
//! | CA4 | each synchronisation is reported as complete once, with nothing older than its beginning; and completes: within a time; at rest | event; run; event |
//! | CA5 | a cache that has ended reports nothing | event |
//! | CA6 | each reported state of a znode was real | event |
//!
//! Each monitor judges the caches of one znode and ignores everything else. A client has at most one such cache at a time.

pub mod complete;
pub mod converged;
pub mod onward;
pub mod real_states;
pub mod replay;

pub use complete::{Complete, Initialized};
pub use converged::Converged;
pub use onward::Onward;
pub use real_states::RealStates;
pub use replay::{Replayed, Silent};

use super::event::is_below;
use crate::obligations::{AtRest, WithinATime};
use vivarium_model::property::Monitor;
use vivarium_model::time::Duration;
use vivarium_model::txn::TxnBody;

/// Returns all monitors of caches of this znode, its children or its subtree. `bound` is how long a client must have
/// been connected, undisturbed, before CA1 and CA4 must hold. Where no time passes, both are checked at rest.
pub fn monitors(root: &str, bound: Duration) -> Vec<Box<dyn Monitor>> {
    vec![
        Box::new(Replayed::new(root)),
        Box::new(Onward::new(root)),
        Box::new(Complete::new(root)),
        Box::new(Silent::new(root)),
        Box::new(RealStates::new(root)),
        Box::new(WithinATime::new(Converged::new(root), bound)),
        Box::new(AtRest::new(Converged::new(root))),
        Box::new(WithinATime::new(Initialized::new(root), bound)),
        Box::new(AtRest::new(Initialized::new(root))),
    ]
}

/// Calls `each` with each znode at or below the root that a transaction creates, writes or deletes.
fn changes(root: &str, body: &TxnBody, each: &mut impl FnMut(&str)) {
    let mut change = |path: &str| {
        if path == root || is_below(root, path) {
            each(path);
        }
    };
    match body {
        TxnBody::Create { path, .. }
        | TxnBody::SetData { path, .. }
        | TxnBody::Delete { path }
        | TxnBody::DeleteContainer { path } => change(path.as_str()),
        TxnBody::CloseSession { ephemerals } => {
            ephemerals.iter().for_each(|path| change(path.as_str()));
        }
        TxnBody::Multi(parts) => parts.iter().for_each(|part| changes(root, part, each)),
        _ => {}
    }
}

/// Returns true if a transaction changes a znode at or below the root.
fn is_change(root: &str, body: &TxnBody) -> bool {
    let mut any = false;
    changes(root, body, &mut |_| any = true);
    any
}
