//! The properties of two-phase commit, as monitors (recipe rule 2.12).
//!
//! | | property | class |
//! |---|---|---|
//! | TP1 | all participants decide a transaction in the same way | event |
//! | TP2 | commit only if every site has voted for it; abort only by a vote, or for a reason that was reported and is true | event |
//! | TP3 | a decision never changes | event |
//! | TP4 | a vote never changes | event |
//!
//! Each monitor takes the parent of transactions and ignores everything else. The monitors learn the decisions from
//! the observations of programs. They look for znodes below the transaction: the votes in `votes/SITE`, the decision
//! in `decision`, presences in `present/SITE` and `coordinator`.

pub mod agreement;
pub mod finality;
pub mod validity;
pub mod write_once;

pub use agreement::Agreement;
pub use finality::Finality;
pub use validity::Validity;
pub use write_once::WriteOnce;

use crate::herd::Herd;
use std::sync::Arc;
use vivarium_model::op::Data;
use vivarium_model::path;
use vivarium_model::property::Monitor;
use vivarium_model::txn::TxnBody;

/// Returns all monitors of the transactions below `directory`.
pub fn monitors(directory: &str) -> Vec<Box<dyn Monitor>> {
    vec![
        Box::new(Agreement::new(directory)),
        Box::new(Validity::new(directory)),
        Box::new(Finality::new(directory)),
        Box::new(WriteOnce::new(directory)),
        Box::new(Herd::unbounded(directory)),
    ]
}

/// A change of a znode.
enum Change<'a> {
    /// The znode was created, or has new data.
    Content(&'a Data),
    /// The znode was deleted.
    Gone,
}

/// Calls `each` with each change that a ZooKeeper transaction makes below a directory: the path of the two-phase
/// transaction, the path below it, and the change.
fn changes(directory: &str, body: &TxnBody, each: &mut impl FnMut(&str, &str, Change<'_>)) {
    let mut below = |path: &str, change: Change<'_>| {
        let Some((transaction, rest)) = split(directory, path) else { return };
        each(transaction, rest, change);
    };
    match body {
        TxnBody::Create { path, data, .. } | TxnBody::SetData { path, data, .. } => {
            below(path, Change::Content(data));
        }
        TxnBody::Delete { path } => below(path, Change::Gone),
        TxnBody::CloseSession { ephemerals } => {
            ephemerals.iter().for_each(|path| below(path, Change::Gone));
        }
        TxnBody::Multi(parts) => parts.iter().for_each(|part| changes(directory, part, each)),
        _ => {}
    }
}

/// Splits a path into the transaction and the path below it: `/commit/0/votes/a` in `/commit` gives `/commit/0` and
/// `votes/a`.
fn split<'a>(directory: &str, path: &'a str) -> Option<(&'a str, &'a str)> {
    let below = path.strip_prefix(directory)?.strip_prefix('/')?;
    let (name, rest) = below.split_once('/')?;
    let transaction = &path[..path.len() - below.len() + name.len()];
    Some((transaction, rest))
}

/// Returns true if a transaction belongs to this directory.
fn is_in(directory: &str, transaction: &Arc<str>) -> bool {
    path::parent(transaction) == Some(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::property::{LooksBack, Monitors};

    #[test]
    fn a_search_need_not_tell_pasts_apart() {
        assert_eq!(Monitors::new(monitors("/commit")).look_back(), LooksBack::Tip);
    }

    #[test]
    fn paths_below_a_transaction() {
        assert_eq!(split("/commit", "/commit/0/votes/a"), Some(("/commit/0", "votes/a")));
        assert_eq!(split("/commit", "/commit/0"), None);
        assert_eq!(split("/commit", "/committed/0/votes"), None);
    }
}
