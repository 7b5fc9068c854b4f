//! The rest of the work of a thread that was applying a commit when its role ended (rule 6.8.6; only under
//! [`Bug::ApplyOutlivesRole`](crate::vocabulary::release::Bug::ApplyOutlivesRole)).

use crate::vocabulary::txn::{Txn, TxnBody};
use std::sync::Arc;

/// The rest of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rest {
    /// The remaining operations, under the transaction's zxid.
    pub(super) txn: Arc<Txn>,
    /// True if the thread has begun to change a tree, with which it then continues. Otherwise it uses the tree that
    /// the database has at that time.
    pub(super) is_of_a_tree: bool,
}

impl Rest {
    /// Returns the rest of a transaction that is being applied; `None` if nothing is left to change.
    ///
    /// A multi is applied operation by operation, and the end of a session znode by znode. The thread's progress is
    /// derived from the zxid, so many transactions cover every position.
    pub(super) fn of(txn: &Txn) -> Option<Rest> {
        let place = |count: usize| txn.zxid.counter() as usize % count.max(1);
        let (body, done) = match &txn.body {
            TxnBody::Multi(parts) => {
                let done = place(parts.len());
                (TxnBody::Multi(parts[done..].to_vec()), done)
            }
            TxnBody::CloseSession { ephemerals } => {
                let done = place(ephemerals.len());
                let deletes =
                    ephemerals[done..].iter().map(|path| TxnBody::Delete { path: path.clone() });
                (TxnBody::Multi(deletes.collect()), done)
            }
            TxnBody::FailedMulti(_) | TxnBody::Error(_) => return None,
            body => (body.clone(), 0),
        };
        if matches!(&body, TxnBody::Multi(parts) if parts.is_empty()) {
            return None;
        }
        Some(Rest { txn: Arc::new(Txn { body, ..txn.clone() }), is_of_a_tree: done > 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::error::Error;
    use crate::vocabulary::id::{SessionId, Xid};
    use crate::vocabulary::path::ZnodePath;
    use crate::vocabulary::time::Duration;
    use crate::vocabulary::zxid::{Epoch, Zxid};

    fn rest(counter: u32, body: TxnBody) -> Option<(String, bool)> {
        let zxid = Zxid::new(Epoch(1), counter);
        let txn = Txn { zxid, session: SessionId(1), cxid: Xid(1), time: 0, body };
        Rest::of(&txn).map(|rest| (rest.txn.body.to_string(), rest.is_of_a_tree))
    }

    fn paths() -> Vec<ZnodePath> {
        ["/a", "/b", "/c"].map(|path| ZnodePath::new(path).expect("a path")).to_vec()
    }

    #[test]
    fn every_place_of_a_multi_comes_up() {
        let parts: Vec<TxnBody> =
            paths().into_iter().map(|path| TxnBody::Delete { path }).collect();
        let multi = || TxnBody::Multi(parts.clone());
        let told = |text: &str, begun| Some((text.to_owned(), begun));
        assert_eq!(rest(3, multi()), told("multi [delete /a, delete /b, delete /c]", false));
        assert_eq!(rest(4, multi()), told("multi [delete /b, delete /c]", true));
        assert_eq!(rest(5, multi()), told("multi [delete /c]", true));
    }

    #[test]
    fn the_end_of_a_session_is_left_znode_by_znode() {
        let close = || TxnBody::CloseSession { ephemerals: paths() };
        let told = |text: &str, begun| Some((text.to_owned(), begun));
        assert_eq!(rest(3, close()), told("multi [delete /a, delete /b, delete /c]", false));
        assert_eq!(rest(5, close()), told("multi [delete /c]", true));
    }

    #[test]
    fn a_single_operation_is_left_entirely_and_an_empty_one_leaves_nothing() {
        let [first, ..] = &paths()[..] else { unreachable!("there are three") };
        let delete = TxnBody::Delete { path: first.clone() };
        assert_eq!(rest(7, delete), Some(("delete /a".to_owned(), false)));
        let session = TxnBody::CreateSession { timeout: Duration::from_secs(6) };
        assert_eq!(rest(7, session), Some(("createSession".to_owned(), false)));
        for nothing in [
            TxnBody::Multi(Vec::new()),
            TxnBody::CloseSession { ephemerals: Vec::new() },
            TxnBody::FailedMulti(vec![None]),
            TxnBody::Error(Error::NoNode),
        ] {
            assert_eq!(rest(7, nothing), None);
        }
    }
}
