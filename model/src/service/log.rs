//! The totally ordered log, with the tree after each transaction.

use crate::tree::{Applied, DataTree};
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

/// A position in the log.
#[derive(Debug)]
pub(crate) struct Entry {
    zxid: Zxid,
    /// The transaction; `None` for the first entry.
    pub(crate) txn: Option<Arc<Txn>>,
    /// The result of applying it.
    pub(crate) applied: Option<Applied>,
    /// The tree after it.
    pub(crate) tree: Arc<DataTree>,
    /// Sum of fingerprints up to this entry, of everything that clients can observe.
    sum: Fingerprint,
    /// Fingerprint of all transactions up to this entry, as monitors see them.
    told: Fingerprint,
    /// Fingerprint of what a server that applies this entry tells its clients: the watches that fire, and the session
    /// that ends.
    fired: Fingerprint,
}

impl Entry {
    /// Returns the first entry of a log.
    fn first(zxid: Zxid, tree: DataTree) -> Entry {
        let sum = Fingerprint::of(&("log", zxid, &tree));
        let (told, fired) = (Fingerprint::default(), Fingerprint::default());
        Entry { zxid, txn: None, applied: None, tree: Arc::new(tree), sum, told, fired }
    }

    pub(crate) fn zxid(&self) -> Zxid {
        self.zxid
    }

    /// Returns the fingerprint of the watches that the entry fires and of the session that it ends.
    pub(crate) fn fired(&self) -> Fingerprint {
        self.fired
    }

    /// Returns true if the entry ends this session.
    pub(crate) fn closes(&self, session: SessionId) -> bool {
        let txn = self.txn.as_ref().filter(|txn| txn.session == session);
        txn.is_some_and(|txn| matches!(txn.body, TxnBody::CloseSession { .. }))
    }

    /// Returns the entry's part of the sum: its place, its tree (with the statistics of quotas), the watches that it
    /// fires, and the session that it ends. Two transactions can produce the same tree and fire different watches.
    fn part(txn: &Txn, applied: &Applied, tree: &DataTree) -> Fingerprint {
        Fingerprint::of(&("log", txn.zxid, tree, &applied.changes, ended(txn)))
    }
}

/// Returns the session that a transaction ends.
fn ended(txn: &Txn) -> Option<SessionId> {
    matches!(txn.body, TxnBody::CloseSession { .. }).then_some(txn.session)
}

/// The log; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Log(Arc<Vec<Arc<Entry>>>);

impl Log {
    /// Returns the log before the first transaction, with this database.
    pub(crate) fn beginning_with(tree: DataTree) -> Log {
        Log(Arc::new(vec![Arc::new(Entry::first(Zxid::ZERO, tree))]))
    }

    /// Appends a transaction and applies it.
    pub(crate) fn append(&mut self, txn: Arc<Txn>) -> &Arc<Entry> {
        let last = self.last();
        assert!(txn.zxid > last.zxid(), "{} is appended after {}", txn.zxid, last.zxid());
        let (mut tree, mut sum) = (DataTree::clone(&last.tree), last.sum);
        let applied = tree.apply(&txn);
        sum.add(Entry::part(&txn, &applied, &tree));
        let told = Fingerprint::of(&(last.told, &*txn));
        let fired = Fingerprint::of(&("fired", txn.zxid, &applied.changes, ended(&txn)));
        let (zxid, txn, applied, tree) = (txn.zxid, Some(txn), Some(applied), Arc::new(tree));
        let entry = Arc::new(Entry { zxid, txn, applied, tree, sum, told, fired });
        match Arc::get_mut(&mut self.0) {
            Some(entries) => entries.push(entry),
            None => {
                let mut entries = Vec::with_capacity(self.0.len() + 1);
                entries.extend(self.0.iter().cloned());
                entries.push(entry);
                self.0 = Arc::new(entries);
            }
        }
        self.last()
    }

    /// Returns the fingerprint of all transactions as monitors see them. Clients can observe less of the log.
    pub(crate) fn told(&self) -> Fingerprint {
        self.last().told
    }

    /// Drops the entries before the last one at or below `floor`, which will not be read again. It does so only if
    /// that frees half of the log, so each entry is moved only a few times.
    pub(crate) fn forget_before(&mut self, floor: Zxid) {
        let kept_from = self.0.partition_point(|entry| entry.zxid() <= floor).max(1) - 1;
        if kept_from > 16 && 2 * kept_from > self.0.len() {
            Arc::make_mut(&mut self.0).drain(..kept_from);
        }
    }

    /// Returns the first entry that is kept.
    pub(crate) fn first(&self) -> &Arc<Entry> {
        self.0.first().expect("a log has a beginning")
    }

    /// Returns true if neither log has changed since one was cloned from the other.
    pub(crate) fn is_shared_with(&self, other: &Log) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the last entry.
    pub(crate) fn last(&self) -> &Arc<Entry> {
        self.0.last().expect("a log has a beginning")
    }

    /// Returns the entry with exactly this zxid.
    pub(crate) fn get(&self, zxid: Zxid) -> Option<&Arc<Entry>> {
        self.0.binary_search_by_key(&zxid, |entry| entry.zxid()).ok().map(|at| &self.0[at])
    }

    /// Returns the last entry with a zxid up to `zxid`.
    pub(crate) fn up_to(&self, zxid: Zxid) -> &Arc<Entry> {
        let after = self.0.partition_point(|entry| entry.zxid() <= zxid);
        &self.0[after.max(1) - 1]
    }

    /// Returns the entries after `zxid`, in order.
    pub(crate) fn after(&self, zxid: Zxid) -> &[Arc<Entry>] {
        let from = self.0.partition_point(|entry| entry.zxid() <= zxid);
        &self.0[from..]
    }

    /// Returns the zxid of a session's closeSession after `zxid`, if there is one.
    pub(crate) fn closes_after(&self, session: SessionId, zxid: Zxid) -> Option<Zxid> {
        let after = self.after(zxid).iter();
        after.map(|entry| &**entry).find(|entry| entry.closes(session)).map(Entry::zxid)
    }

    /// Returns the fingerprint of the part of the log that a server at `floor` or later can still show: each tree
    /// from there on, with its place.
    pub(crate) fn fingerprint(&self, floor: Zxid) -> Fingerprint {
        let before = self.0.partition_point(|entry| entry.zxid() < self.up_to(floor).zxid());
        let mut sum = self.last().sum;
        if let Some(forgotten) = before.checked_sub(1) {
            sum.subtract(self.0[forgotten].sum);
        }
        sum
    }
}
