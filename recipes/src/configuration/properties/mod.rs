//! The properties of a configuration for its subscribers, as monitors (recipe rule 2.1).
//!
//! | | property | class |
//! |---|---|---|
//! | CF1 | a subscription delivers values of strictly growing mzxid | event |
//! | CF2 | each delivered value was the value at its mzxid | event |
//! | CF3 | the last setting delivered becomes the present one: within a time; at rest | run; event |
//!
//! Each monitor takes one path and ignores everything else.

pub mod converged;
pub mod delivered;

pub use converged::UpToDate;
pub use delivered::{Increasing, RealValues};

use crate::herd::Herd;
use crate::obligations::{AtRest, WithinATime};
use vivarium_model::op::Data;
use vivarium_model::property::Monitor;
use vivarium_model::time::Duration;
use vivarium_model::txn::TxnBody;

/// Returns all monitors of the configuration of this path. `bound` is how long a client must have been connected,
/// undisturbed, before CF3 must hold. Where no time passes, CF3 is checked at rest.
pub fn monitors(path: &str, bound: Duration) -> Vec<Box<dyn Monitor>> {
    vec![
        Box::new(Increasing::new(path)),
        Box::new(RealValues::new(path)),
        Box::new(WithinATime::new(UpToDate::new(path), bound)),
        Box::new(AtRest::new(UpToDate::new(path))),
        Box::new(Herd::unbounded(path)),
    ]
}

/// Calls `each` with the data of the znode after each change in a transaction; `None` for a deletion.
fn changes(znode: &str, body: &TxnBody, each: &mut impl FnMut(Option<&Data>)) {
    match body {
        TxnBody::Create { path, data, .. } | TxnBody::SetData { path, data, .. }
            if path.as_str() == znode =>
        {
            each(Some(data));
        }
        TxnBody::Delete { path } if path.as_str() == znode => each(None),
        TxnBody::CloseSession { ephemerals } => {
            ephemerals.iter().filter(|path| path.as_str() == znode).for_each(|_| each(None));
        }
        TxnBody::Multi(parts) => parts.iter().for_each(|part| changes(znode, part, each)),
        _ => {}
    }
}
