//! The properties of group membership, as monitors (recipe rule 2.1).
//!
//! | | property | class |
//! |---|---|---|
//! | GM1 | a client joins by a znode that its own session has created | event |
//! | GM2 | no belief outlives its session: a client that is connected by a later session has joined again | event |
//! | GM3 | every view was the list of children at some zxid | event |
//! | GM4 | the children are the clients that believe to be members: within a time; at rest | run; event |
//! | GM5 | views become equal to the present children: within a time; at rest | run; event |
//!
//! Each monitor takes one directory and ignores everything else.

pub mod belief;
pub mod exact;
pub mod views;

pub use belief::{OwnNode, Rejoined};
pub use exact::Exact;
pub use views::{Converged, RealViews};

use crate::herd::Herd;
use crate::obligations::{AtRest, WithinATime};
use std::sync::Arc;
use vivarium_model::path;
use vivarium_model::property::{Monitor, View};
use vivarium_model::time::Duration;
use vivarium_model::txn::TxnBody;

/// Returns all monitors of the group in this directory. `bound` is how long a client must have been connected,
/// undisturbed, before GM4 and GM5 must hold. Where no time passes, both are checked at rest.
pub fn monitors(directory: &str, bound: Duration) -> Vec<Box<dyn Monitor>> {
    vec![
        Box::new(OwnNode::new(directory)),
        Box::new(Rejoined::new(directory)),
        Box::new(RealViews::new(directory)),
        Box::new(WithinATime::new(Exact::new(directory), bound)),
        Box::new(AtRest::new(Exact::new(directory))),
        Box::new(WithinATime::new(Converged::new(directory), bound)),
        Box::new(AtRest::new(Converged::new(directory))),
        Box::new(Herd::unbounded(directory)),
    ]
}

/// Calls `each` with each child of the directory that a transaction creates (`true`) or deletes (`false`).
fn changes(directory: &str, body: &TxnBody, each: &mut impl FnMut(&str, bool)) {
    let mut child = |path: &str, is_there: bool| {
        if path::parent(path) == Some(directory) {
            each(path, is_there);
        }
    };
    match body {
        TxnBody::Create { path, .. } => child(path, true),
        TxnBody::Delete { path } => child(path, false),
        TxnBody::CloseSession { ephemerals } => {
            ephemerals.iter().for_each(|path| child(path, false));
        }
        TxnBody::Multi(parts) => parts.iter().for_each(|part| changes(directory, part, each)),
        _ => {}
    }
}

/// Returns true if a transaction changes the children.
fn is_change(directory: &str, body: &TxnBody) -> bool {
    let mut any = false;
    changes(directory, body, &mut |_, _| any = true);
    any
}

/// Returns the present children in the committed history.
fn children(view: View<'_>, directory: &str) -> Vec<Arc<str>> {
    view.history.tree().children(directory).unwrap_or_default()
}
