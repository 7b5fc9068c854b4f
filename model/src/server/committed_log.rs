//! `committedLog`: the last committed transactions, kept in memory to serve DIFFs (rule 6.4.9).
//!
//! While LOOKING it also holds what was replayed from the log without having been committed
//! (rule 6.8.1); a leader's activation commits just that.

use crate::vocabulary::config::Config;
use crate::vocabulary::release::Bug;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use std::collections::VecDeque;
use std::sync::Arc;

/// The window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommittedLog {
    txns: VecDeque<Arc<Txn>>,
}

impl CommittedLog {
    /// Adds a transaction and forgets the oldest beyond `commit_log_count`. One that is not newer than
    /// the last is there already.
    pub fn add(&mut self, txn: Arc<Txn>, config: &Config) {
        if let Some(last) = self.txns.back() {
            if txn.zxid <= last.zxid {
                return;
            }
            // A gap would be served to others (rule 6.4.9). A start refuses it before.
            debug_assert!(
                config.bugs.has(Bug::GapsAreReplayed) || !is_gap(last.zxid, txn.zxid),
                "{} follows {} in committedLog",
                txn.zxid,
                last.zxid
            );
        }
        self.txns.push_back(txn);
        if self.txns.len() > config.commit_log_count {
            self.txns.pop_front();
        }
    }

    /// Forgets everything: before the database is loaded anew.
    pub fn clear(&mut self) {
        self.txns.clear();
    }

    /// The transactions, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Txn>> {
        self.txns.iter()
    }
}

/// Whether a transaction is missing between these two, as `addCommittedProposal` tells it: where an
/// epoch ends nobody can.
pub fn is_gap(one: Zxid, next: Zxid) -> bool {
    next.epoch() == one.epoch() && one.next() != Some(next)
}
