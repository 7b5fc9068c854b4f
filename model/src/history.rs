//! The committed history: every transaction in the one total order, and the tree it yields.
//!
//! This is the yardstick of most monitors: a serving server's tree must be the fold of a prefix of
//! it (semantics 8.2 S5), a read must be answered from a prefix of it (H4).

use crate::fingerprint::Fingerprint;
use crate::tree::{Applied, DataTree};
use crate::txn::Txn;
use crate::zxid::Zxid;
use std::sync::Arc;

/// All committed transactions, in order, with the tree after the last and the digest after each.
#[derive(Clone, Debug)]
pub struct History {
    txns: Vec<Arc<Txn>>,
    digests: Vec<Fingerprint>,
    tree: DataTree,
    initial: Fingerprint,
}

impl Default for History {
    fn default() -> History {
        History::new()
    }
}

impl History {
    /// Before the first transaction.
    pub fn new() -> History {
        let tree = DataTree::new();
        let initial = tree.digest();
        History { txns: Vec::new(), digests: Vec::new(), tree, initial }
    }

    /// Appends a transaction.
    ///
    /// # Panics
    /// If its zxid does not exceed the last one: whoever commits must have checked that.
    pub fn commit(&mut self, txn: Arc<Txn>) -> Applied {
        assert!(txn.zxid > self.last(), "{} committed after {}", txn.zxid, self.last());
        let applied = self.tree.apply(&txn);
        self.txns.push(txn);
        self.digests.push(self.tree.digest());
        applied
    }

    /// The zxid of the last committed transaction.
    pub fn last(&self) -> Zxid {
        self.txns.last().map_or(Zxid::ZERO, |txn| txn.zxid)
    }

    /// The tree after the last transaction.
    pub fn tree(&self) -> &DataTree {
        &self.tree
    }

    /// All transactions, in order.
    pub fn txns(&self) -> &[Arc<Txn>] {
        &self.txns
    }

    /// The transaction with this zxid.
    pub fn get(&self, zxid: Zxid) -> Option<&Arc<Txn>> {
        let at = self.txns.partition_point(|txn| txn.zxid < zxid);
        self.txns.get(at).filter(|txn| txn.zxid == zxid)
    }

    /// The digest of the tree after the last transaction that is not above `zxid`.
    pub fn digest_at(&self, zxid: Zxid) -> Fingerprint {
        if zxid >= self.last() {
            return self.tree.digest();
        }
        match self.txns.partition_point(|txn| txn.zxid <= zxid) {
            0 => self.initial,
            count => self.digests[count - 1],
        }
    }
}
