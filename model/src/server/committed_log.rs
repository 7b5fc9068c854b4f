//! `committedLog`: the last committed transactions, kept in memory for DIFFs (rule 6.4.9).
//!
//! While LOOKING it also holds transactions that were replayed from the log without having been committed (rule
//! 6.8.1); the activation of a leader commits exactly those.

use crate::vocabulary::config::Config;
use crate::vocabulary::release::Bug;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use std::collections::VecDeque;
use std::sync::Arc;

/// The last transactions, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommittedLog {
    txns: VecDeque<Arc<Txn>>,
}

impl CommittedLog {
    /// Adds a transaction and forgets the oldest one beyond `commit_log_count`. No effect if the transaction is not
    /// newer than the last.
    pub fn add(&mut self, txn: Arc<Txn>, config: &Config) {
        if let Some(last) = self.txns.back() {
            if txn.zxid <= last.zxid {
                return;
            }
            // The leader would send a gap on to its learners (rule 6.4.9). A start refuses one before.
            // An observer master may omit transactions: since 3.9.4 the observer's CommitProcessor fails at the gap.
            let may_have_gaps = [
                Bug::GapsAreReplayed,
                Bug::SyncSkipsCommittedLog,
                Bug::MasterDropsProposed,
                Bug::MasterOmitsCommitted,
            ];
            debug_assert!(
                may_have_gaps.iter().any(|bug| config.bugs.has(*bug))
                    || !is_gap(last.zxid, txn.zxid),
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

    /// Forgets everything, before the database is reloaded.
    pub fn clear(&mut self) {
        self.txns.clear();
    }

    /// Returns the transactions, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Txn>> {
        self.txns.iter()
    }
}

/// Returns true if a transaction is missing between these two. Like `addCommittedProposal`, it cannot detect one at
/// the end of an epoch.
pub(crate) fn is_gap(one: Zxid, next: Zxid) -> bool {
    next.epoch() == one.epoch() && one.next() != Some(next)
}
