//! The committed history: all transactions in their total order, and the tree that they yield.
//!
//! Most monitors compare with it: a serving server's tree must be the result of a prefix of it (S5), and a read must
//! be answered from a prefix of it (H4).

use crate::tree::{Applied, DataTree};
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

/// All committed transactions in order, the tree after the last, and for each transaction its result, its changes and
/// the digest after it.
#[derive(Clone, Debug)]
pub struct History {
    txns: Vec<Arc<Txn>>,
    applied: Vec<Arc<Applied>>,
    digests: Vec<Fingerprint>,
    tree: Arc<DataTree>,
    initial: Fingerprint,
}

impl Default for History {
    fn default() -> History {
        History::new()
    }
}

impl History {
    /// Returns the history before the first transaction.
    pub fn new() -> History {
        History::beginning_with(DataTree::new())
    }

    /// Returns the history before the first transaction, with this database.
    pub fn beginning_with(tree: DataTree) -> History {
        let (initial, tree) = (tree.digest(), Arc::new(tree));
        History { txns: Vec::new(), applied: Vec::new(), digests: Vec::new(), tree, initial }
    }

    /// Appends a transaction and returns its effects.
    ///
    /// # Panics
    /// If its zxid is not larger than the last one. The caller must have checked that
    /// ([`crate::property::check_commit`]).
    pub fn commit(&mut self, txn: Arc<Txn>) -> Arc<Applied> {
        assert!(txn.zxid > self.last(), "{} committed after {}", txn.zxid, self.last());
        let applied = Arc::new(Arc::make_mut(&mut self.tree).apply(&txn));
        self.txns.push(txn);
        self.applied.push(Arc::clone(&applied));
        self.digests.push(self.tree.digest());
        applied
    }

    /// Returns the zxid of the last committed transaction.
    pub fn last(&self) -> Zxid {
        self.txns.last().map_or(Zxid::ZERO, |txn| txn.zxid)
    }

    /// Returns the tree after the last transaction.
    pub fn tree(&self) -> &DataTree {
        &self.tree
    }

    /// Replaces the tree by an equal one that is stored elsewhere, too.
    pub fn share_tree(&mut self, tree: &Arc<DataTree>) {
        if !Arc::ptr_eq(tree, &self.tree) && *tree == self.tree {
            self.tree = Arc::clone(tree);
        }
    }

    /// Returns all transactions, in order.
    pub fn txns(&self) -> &[Arc<Txn>] {
        &self.txns
    }

    /// Returns the transaction with this zxid.
    pub fn get(&self, zxid: Zxid) -> Option<&Arc<Txn>> {
        self.position(zxid).map(|at| &self.txns[at])
    }

    /// Returns the effects of the transaction with this zxid: the reply that its client must get, and the changes of
    /// the tree.
    pub fn applied(&self, zxid: Zxid) -> Option<&Arc<Applied>> {
        self.position(zxid).map(|at| &self.applied[at])
    }

    /// Returns the first transaction after `zxid`.
    pub(crate) fn next_after(&self, zxid: Zxid) -> Option<&Arc<Txn>> {
        self.txns.get(self.count_up_to(zxid))
    }

    /// Returns the zxid of the last transaction up to `zxid`, or [`Zxid::ZERO`] if there is none. For an opening
    /// zxid, this is the end of the prefix that it represents.
    pub(crate) fn last_up_to(&self, zxid: Zxid) -> Zxid {
        match self.count_up_to(zxid) {
            0 => Zxid::ZERO,
            count => self.txns[count - 1].zxid,
        }
    }

    /// Returns the digest of the tree after the last transaction up to `zxid`.
    pub(crate) fn digest_at(&self, zxid: Zxid) -> Fingerprint {
        match self.count_up_to(zxid) {
            0 => self.initial,
            count => self.digests[count - 1],
        }
    }

    /// Returns a fingerprint of the history that covers every intermediate tree, because monitors compare a server
    /// that lags with the tree at its own zxid.
    pub fn fingerprint(&self) -> Fingerprint {
        let zxids: Vec<Zxid> = self.txns.iter().map(|txn| txn.zxid).collect();
        Fingerprint::of(&(zxids, self.initial, &self.digests))
    }

    /// Returns the number of transactions up to `zxid`. Most calls are for the newest one, so that is checked first.
    fn count_up_to(&self, zxid: Zxid) -> usize {
        if zxid >= self.last() {
            return self.txns.len();
        }
        self.txns.partition_point(|txn| txn.zxid <= zxid)
    }

    fn position(&self, zxid: Zxid) -> Option<usize> {
        let at = self.count_up_to(zxid).checked_sub(1)?;
        (self.txns[at].zxid == zxid).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{Bodies, txn, z};

    #[test]
    fn an_opening_zxid_stands_for_the_prefix_below_it() {
        let mut history = History::new();
        assert_eq!(history.digest_at(z(1, 0)), DataTree::new().digest());
        let mut digests = Vec::new();
        for (zxid, path) in [(z(1, 1), "/a"), (z(1, 2), "/b"), (z(2, 1), "/c")] {
            let body = Bodies(&history).create(path, "");
            history.commit(txn(zxid, 0, body));
            digests.push(history.tree().digest());
        }
        assert_eq!(history.last_up_to(z(1, 0)), Zxid::ZERO);
        assert_eq!(history.last_up_to(z(2, 0)), z(1, 2));
        assert_eq!(history.digest_at(z(2, 0)), digests[1]);
        assert_eq!(history.digest_at(z(1, 1)), digests[0]);
        assert_eq!(history.digest_at(z(9, 0)), digests[2]);
        assert_eq!(history.next_after(z(2, 0)).map(|txn| txn.zxid), Some(z(2, 1)));
        assert_eq!(history.next_after(z(2, 1)), None);
        assert_eq!(history.get(z(2, 0)), None);
        assert_eq!(history.applied(z(1, 2)).map(|applied| applied.changes.len()), Some(1));
    }

    /// A server that has applied only the first of two transactions serves that transaction's tree.
    #[test]
    fn histories_with_equal_final_trees_are_distinguished() {
        let past = |first: &str| {
            let mut history = History::new();
            for (at, data) in [first, "last"].into_iter().enumerate() {
                let zxid = z(1, 2 + at as u32);
                let body = match at {
                    0 => Bodies(&history).create("/a", data),
                    _ => Bodies(&history).set_data("/a", data),
                };
                history.commit(txn(zxid, 0, body));
            }
            history
        };
        let (one, other) = (past("one"), past("other"));
        assert_eq!(one.tree().digest(), other.tree().digest());
        assert_ne!(one.fingerprint(), other.fingerprint());
        assert_eq!(one.fingerprint(), past("one").fingerprint());
    }

    #[test]
    #[should_panic(expected = "1:1 committed after 1:1")]
    fn no_zxid_is_committed_twice() {
        let mut history = History::new();
        for _ in 0..2 {
            let body = Bodies(&history).create("/a", "");
            history.commit(txn(z(1, 1), 0, body));
        }
    }
}
