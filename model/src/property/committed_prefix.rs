//! S2: committed prefix agreement.
//!
//! There is one committed history, and it only grows. A commit that is reported again is the same transaction, and a
//! new one comes directly after the last (rule 4.4.4). Each transaction that a serving server applies is the next one
//! of that history: the server skips none and repeats none (`PrefixConsistency`, `TotalOrder` and
//! `committedLogMonotonicity` of the TLA+ specifications).

use super::{Declaration, Declared, LooksBack, Objection};
use crate::minds;
use crate::property::Saw;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::ServerId;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use crate::world::history::History;
use std::collections::BTreeMap;

const NAME: &str = "S2 committed prefix agreement";

/// How a reported commit relates to the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// The commit is above all others: [`History::commit`] accepts it.
    New,
    /// The history contains it already: this leader or another one has reported it before.
    Known,
}

/// Returns whether a reported commit is new. The world asks before it appends to the history, which accepts growing
/// zxids only.
///
/// # Errors
/// The objection of S2, if the transaction contradicts a committed one, or would have to be inserted below the
/// history's end.
pub fn check_commit(history: &History, txn: &Txn) -> Result<Commit, Objection> {
    if txn.zxid > history.last() {
        return Ok(Commit::New);
    }
    match history.get(txn.zxid) {
        Some(known) if **known == *txn => Ok(Commit::Known),
        Some(known) => Err(Objection::new(
            NAME,
            format!("{txn} was committed, although {known} had been committed with that zxid."),
        )
        .about(known.session)),
        None => Err(Objection::new(
            NAME,
            format!("{txn} was committed after {}, which is above it.", history.last()),
        )),
    }
}

/// The monitor of S2.
#[derive(Clone, Debug, Default, Hash)]
pub struct CommittedPrefix {
    /// The last zxid that each serving server has applied.
    applied: BTreeMap<ServerId, Zxid>,
}

impl CommittedPrefix {
    /// Returns a monitor that has seen no commit and no server.
    pub fn new() -> CommittedPrefix {
        CommittedPrefix::default()
    }

    /// Fails unless the transaction, which the history contains by now, is directly after the one before it.
    fn committed(&self, history: &History, txn: &Txn) -> Result<(), String> {
        if txn.zxid.is_opening() {
            return Err(format!("{txn} was committed, although counter 0 names no transaction."));
        }
        let before = history.last_up_to(txn.zxid.previous());
        let opens = txn.zxid.counter() == 1 && before.epoch() < txn.zxid.epoch();
        if opens || before == txn.zxid.previous() {
            return Ok(());
        }
        Err(format!("{txn} was committed directly after {before}: what is between was left out."))
    }

    fn applied(&mut self, history: &History, server: ServerId, txn: &Txn) -> Result<(), Saw> {
        let known = history.get(txn.zxid);
        if known.is_none_or(|known| **known != *txn) {
            let committed = known.map_or("nothing".to_owned(), |known| known.to_string());
            return Err(Saw::from(format!(
                "{server} applied {txn}, but committed with that zxid is {committed}."
            )));
        }
        let Some(last) = self.applied.insert(server, txn.zxid) else { return Ok(()) };
        if txn.zxid <= last {
            return Err(Saw::from(format!("{server} applied {txn} after {last}.")).about(last));
        }
        match history.next_after(last) {
            Some(next) if next.zxid < txn.zxid => Err(Saw::from(format!(
                "{server} applied {txn} directly after {last}, without {next} between."
            ))
            .about(last)
            .about(next.zxid)),
            _ => Ok(()),
        }
    }
}

impl Declared for CommittedPrefix {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        NAME,
        LooksBack::Whole,
        minds! { |this, view, event|
            Event::Committed { txn, .. } => {
                let history = view.history.whole();
                let commit = check_commit(history, txn)?;
                assert_eq!(commit, Commit::Known, "the world commits {txn} before it reports it");
                this.committed(history, txn).map_err(|saw| this.objection(saw))
            },
            Event::Applied { server, txn, .. } => {
                this.applied(view.history.whole(), *server, txn).map_err(|saw| this.objection(saw))
            },
            Event::Serving { server, zxid, .. } => {
                this.applied.insert(*server, *zxid);
            },
            Event::LeftRole { server, .. } | Event::Crashed { server, .. } | Event::Exited { server, .. } => {
                this.applied.remove(server);
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{ONE, TWO, Trial, committed, path, txn, z};
    use crate::vocabulary::error::Error;
    use crate::vocabulary::fingerprint::Fingerprint;
    use crate::vocabulary::txn::TxnBody;
    use std::sync::Arc;

    /// Returns a trial in which /a, /b and a failed request are committed.
    fn trial() -> Trial<CommittedPrefix> {
        let mut trial = Trial::new(CommittedPrefix::new());
        trial.create(z(1, 1), "/a", "");
        trial.create(z(1, 2), "/b", "");
        trial.commit(z(1, 3), 3, TxnBody::Error(Error::NoNode));
        trial
    }

    fn known(trial: &Trial<CommittedPrefix>, zxid: Zxid) -> Arc<Txn> {
        Arc::clone(trial.history.get(zxid).expect("committed"))
    }

    fn applied(txn: Arc<Txn>) -> Event {
        Event::Applied { server: TWO, txn, digest: Fingerprint::default() }
    }

    fn serving(zxid: Zxid) -> Event {
        Event::Serving { server: TWO, zxid, digest: Fingerprint::default() }
    }

    fn delete(zxid: Zxid) -> Arc<Txn> {
        txn(zxid, 9, TxnBody::Delete { path: path("/a") })
    }

    #[test]
    fn two_transactions_with_one_zxid() {
        let mut trial = trial();
        assert_eq!(
            trial.objects(committed(delete(z(1, 2)))),
            "S2 committed prefix agreement: 1:2 delete /a by 0x10 was committed, although 1:2 \
             create /b by 0x10 had been committed with that zxid."
        );
    }

    #[test]
    fn a_commit_that_comes_too_late() {
        let mut trial = trial();
        trial.create(z(3, 1), "/c", "");
        assert_eq!(
            trial.objects(committed(delete(z(2, 1)))),
            "S2 committed prefix agreement: 2:1 delete /a by 0x10 was committed after 3:1, which \
             is above it."
        );
    }

    #[test]
    fn a_commit_out_of_order() {
        assert_eq!(
            trial().objects(committed(delete(z(1, 5)))),
            "S2 committed prefix agreement: 1:5 delete /a by 0x10 was committed directly after \
             1:3: what is between was left out."
        );
        assert!(trial().objects(committed(delete(z(2, 2)))).contains("left out"));
        assert!(trial().objects(committed(delete(z(2, 0)))).contains("names no transaction"));
    }

    #[test]
    fn a_server_that_applies_what_is_not_committed() {
        let mut trial = trial();
        assert_eq!(
            trial.objects(applied(delete(z(1, 4)))),
            "S2 committed prefix agreement: server 2 applied 1:4 delete /a by 0x10, but committed \
             with that zxid is nothing."
        );
        assert_eq!(
            trial.objects(applied(delete(z(1, 2)))),
            "S2 committed prefix agreement: server 2 applied 1:2 delete /a by 0x10, but committed \
             with that zxid is 1:2 create /b by 0x10."
        );
    }

    #[test]
    fn a_server_that_applies_twice_or_leaves_one_out() {
        let mut trial = trial();
        trial.accepts(serving(z(1, 1)));
        // A failed request does not change the tree, so S5 cannot detect that it was skipped.
        let third = known(&trial, z(1, 3));
        assert_eq!(
            trial.objects(applied(third)),
            "S2 committed prefix agreement: server 2 applied 1:3 error NoNode by 0x10 directly \
             after 1:1, without 1:2 create /b by 0x10 between."
        );
        trial.accepts(serving(z(1, 2)));
        let second = known(&trial, z(1, 2));
        assert_eq!(
            trial.objects(applied(second)),
            "S2 committed prefix agreement: server 2 applied 1:2 create /b by 0x10 after 1:2."
        );
    }

    #[test]
    fn a_commit_may_be_reported_again() {
        let mut trial = trial();
        let second = known(&trial, z(1, 2));
        trial.accepts(committed(second));
        assert_eq!(trial.history.last(), z(1, 3));
    }

    #[test]
    fn a_server_may_serve_an_older_prefix_again() {
        let mut trial = trial();
        trial.accepts(serving(z(1, 0)));
        for counter in 1..=3 {
            let txn = known(&trial, z(1, counter));
            trial.accepts(applied(txn));
        }
        trial.accepts(Event::Crashed { server: TWO, lost: 2 });
        // The server's disk ended at 1:2, and the new leader has not sent it 1:3 yet.
        trial.accepts(serving(z(1, 2)));
        let third = known(&trial, z(1, 3));
        trial.accepts(applied(third));
    }

    #[test]
    fn a_new_epoch_follows_whatever_the_last_one_committed() {
        let mut trial = trial();
        trial.create(z(4, 1), "/c", "");
        trial.accepts(Event::Serving {
            server: ONE,
            zxid: z(4, 0),
            digest: Fingerprint::default(),
        });
        let first = known(&trial, z(4, 1));
        trial.accepts(Event::Applied { server: ONE, txn: first, digest: Fingerprint::default() });
    }
}
