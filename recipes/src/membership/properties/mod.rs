//! What group membership promises, as monitors (recipe rule 2.1).
//!
//! | | property | class |
//! |---|---|---|
//! | GM1 | who joins does so by a znode that its own session has created | event |
//! | GM2 | no belief outlives its session: a client that is connected by a later one has joined again | event |
//! | GM3 | every view is what the children were at some zxid | event |
//! | GM4 | the children are those who believe to be members: within a time; at rest | run; event |
//! | GM5 | views come to be what is there: within a time; at rest | run; event |
//!
//! All of them take one directory and ignore everything else.

pub mod belief;
pub mod exact;
pub mod views;

pub use belief::{OwnNode, Rejoined};
pub use exact::Exact;
pub use views::{Converged, RealViews};

use crate::calm::{AtRest, WithinATime};
use crate::herd::Herd;
use std::sync::Arc;
use vivarium_model::path;
use vivarium_model::property::{Monitor, View};
use vivarium_model::time::Duration;
use vivarium_model::txn::TxnBody;

/// All monitors of the group in this directory. `bound` is how long a client must have been connected,
/// undisturbed, before what GM4 and GM5 say has to be so; where time stands still, the same is asked at rest.
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

/// Each child of the directory that a transaction creates (`true`) or deletes.
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

/// Whether a transaction changes the children.
fn is_change(directory: &str, body: &TxnBody) -> bool {
    let mut any = false;
    changes(directory, body, &mut |_, _| any = true);
    any
}

/// The children as they are in the committed history.
fn children(view: View<'_>, directory: &str) -> Vec<Arc<str>> {
    view.history.tree().children(directory).unwrap_or_default()
}
