//! H6: the promises of a sync.
//!
//! The reply to a sync has a zxid of at least
//! * the newest write that was acknowledged to any client before the sync was sent;
//! * the newest transaction that the leader had committed when it read the sync and, if a learner's client sent it,
//!   the newest that this leader had proposed (rule 4.6.4);
//! * the newest transaction that the leader had proposed for the same session, through any server, unless
//!   `forward_learner_requests_to_commit_processor_disabled` is set (rule 4.5.7).
//!
//! A leader must have read the sync: no learner answers it alone (rule 4.5.6). Since a session never goes back (H3),
//! reads after the sync are as new.
//!
//! The first promise has one exception: a sync needs no round of the quorum, so a deposed leader that has not noticed
//! its end answers by what it knows (rule 4.6.4). Such replies are counted.

use super::{Declaration, Declared, LooksBack, Measure, Unhashed};
use crate::minds;
use crate::property::Saw;
use crate::vocabulary::config::Config;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ServerId, SessionId, Xid};
use crate::vocabulary::op::Request;
use crate::vocabulary::zxid::{Epoch, Zxid};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The monitor of H6. Only sweeps ask it: in searches of programs, no leader reads a sync.
#[derive(Clone, Debug, Default, Hash)]
pub struct SyncedReads {
    /// The greatest zxid of a write that was acknowledged to any client.
    acknowledged: Zxid,
    asked: BTreeMap<(SessionId, Xid), Asking>,
    leaders: BTreeMap<ServerId, Leadership>,
    newest: Epoch,
    /// True if a leader's syncs do not wait for requests that the session sent through a learner.
    forgets_learners_requests: bool,
    by_deposed: Unhashed<u64>,
}

/// A sync that is in flight.
#[derive(Clone, Copy, Debug, Hash)]
struct Asking {
    /// The newest acknowledged write when the sync was sent.
    acknowledged: Zxid,
    read: Option<Read>,
}

/// The leader's state when it read the sync.
#[derive(Clone, Copy, Debug, Hash)]
struct Read {
    leader: ServerId,
    /// The zxid that the reply must reach according to this leader.
    known: Zxid,
    is_deposed: bool,
}

#[derive(Clone, Debug, Default, Hash)]
struct Leadership {
    epoch: Epoch,
    proposed: Zxid,
    committed: Zxid,
    /// The last transaction that the leader has proposed for each session.
    of_sessions: BTreeMap<SessionId, Zxid>,
}

impl Leadership {
    /// Returns the zxid that the reply to a session's sync must reach.
    fn known(&self, session: SessionId, by_learner: bool, forgets_learners_requests: bool) -> Zxid {
        let all = if by_learner { self.proposed } else { Zxid::ZERO };
        let own = self.of_sessions.get(&session).filter(|_| !forgets_learners_requests);
        self.committed.max(all).max(own.copied().unwrap_or_default())
    }
}

impl SyncedReads {
    /// Returns a monitor that knows no sync.
    pub fn new() -> SyncedReads {
        SyncedReads::default()
    }

    fn read(&mut self, leader: ServerId, session: SessionId, xid: Xid, by_learner: bool) {
        let Some(asking) = self.asked.get_mut(&(session, xid)) else { return };
        let leadership = self.leaders.entry(leader).or_default();
        let known = leadership.known(session, by_learner, self.forgets_learners_requests);
        asking.read = Some(Read { leader, known, is_deposed: leadership.epoch < self.newest });
    }

    fn answered(&mut self, session: SessionId, xid: Xid, zxid: Zxid) -> Result<(), Saw> {
        let Some(Asking { acknowledged, read }) = self.asked.remove(&(session, xid)) else {
            return Ok(());
        };
        let who = format!("the sync xid {} of session {session}", xid.0);
        let Some(Read { leader, known, is_deposed }) = read else {
            return Err(Saw::from(format!("{who} was answered, and no leader had read it.")));
        };
        if zxid < known {
            return Err(Saw::from(format!(
                "{who} was answered at {zxid}, though {leader} knew of {known} when it read it."
            ))
            .about(leader)
            .about(known));
        }
        if is_deposed {
            *self.by_deposed += 1;
        } else if zxid < acknowledged {
            return Err(Saw::from(format!(
                "{who} was answered at {zxid}, though {acknowledged} was acknowledged before it was sent, and \
                 {leader} was no deposed leader when it read it."
            ))
            .about(leader)
            .about(acknowledged));
        }
        Ok(())
    }
}

impl Declared for SyncedReads {
    const DECLARATION: Declaration<Self> =
        Declaration::in_sweeps("H6 a sync sees what was acknowledged", LooksBack::Whole, minds! { |this, view, event|
            Event::Sent { session, xid, request, .. } if matches!(**request, Request::Sync { .. }) => {
                let asking = Asking { acknowledged: this.acknowledged, read: None };
                this.asked.insert((*session, *xid), asking);
            },
            Event::Lost { session, xid, .. } => {
                this.asked.remove(&(*session, *xid));
            },
            Event::SyncRead { leader, session, xid, by_learner } => {
                this.read(*leader, *session, *xid, *by_learner);
            },
            Event::Replied { session, xid, zxid, request, result, .. } => {
                if result.is_err() {
                    this.asked.remove(&(*session, *xid));
                } else if matches!(**request, Request::Sync { .. }) {
                    this.answered(*session, *xid, *zxid).map_err(|saw| this.objection(saw))?;
                } else if !request.is_read() {
                    // The end of a local session is no transaction, and its reply can have an opening zxid.
                    let last = view.history.whole().last_up_to(*zxid);
                    this.acknowledged = this.acknowledged.max(last);
                }
                Ok(())
            },
            Event::Proposed { leader, txn } => {
                let leadership = this.leaders.entry(*leader).or_default();
                leadership.proposed = txn.zxid;
                leadership.of_sessions.insert(txn.session, txn.zxid);
            },
            Event::Committed { leader, txn } => {
                let leadership = this.leaders.entry(*leader).or_default();
                leadership.committed = leadership.committed.max(txn.zxid);
            },
            Event::Established { leader, epoch, last_zxid } => {
                this.newest = this.newest.max(*epoch);
                // An opening zxid is no transaction: a learner that has every transaction may still be below it.
                let committed = view.history.whole().last_up_to(*last_zxid);
                let known = Leadership { epoch: *epoch, committed, ..Leadership::default() };
                this.leaders.insert(*leader, known);
            },
        })
        .begin(Self::begin)
        .measured(Self::measured);
}

impl SyncedReads {
    fn begin(&mut self, config: &Arc<Config>) {
        self.forgets_learners_requests =
            config.options.forward_learner_requests_to_commit_processor_disabled;
    }

    fn measured(&self) -> Vec<Measure> {
        vec![Measure::count("syncs that a deposed leader answered", *self.by_deposed)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{
        CLIENT, CONNECTION, ONE, SESSION, TWO, Trial, create_request, get_data, replied, sent, z,
    };
    use crate::vocabulary::error::Error;
    use crate::vocabulary::op::{OpResult, Response};
    use crate::vocabulary::txn::{Txn, TxnBody};

    fn sync() -> Request {
        Request::Sync { path: "/a".into() }
    }

    fn established(leader: ServerId, epoch: u32) -> Event {
        Event::Established { leader, epoch: Epoch(epoch), last_zxid: z(1, 1) }
    }

    fn proposed(leader: ServerId, zxid: Zxid) -> Event {
        let body = TxnBody::Error(Error::NoNode);
        let txn = Txn { zxid, session: SessionId(0x77), cxid: Xid(1), time: 0, body };
        Event::Proposed { leader, txn: Arc::new(txn) }
    }

    /// Another client's write is acknowledged.
    fn acknowledged(zxid: Zxid) -> Event {
        let created = Response::Written(OpResult::Deleted);
        Event::Replied {
            client: CLIENT,
            session: SessionId(0x77),
            connection: CONNECTION,
            xid: Xid(1),
            zxid,
            request: Arc::new(create_request("/b", "")),
            result: Ok(created),
        }
    }

    fn read(leader: ServerId, by_learner: bool) -> Event {
        Event::SyncRead { leader, session: SESSION, xid: Xid(3), by_learner }
    }

    fn answered(zxid: Zxid) -> Event {
        replied(3, zxid, sync(), Ok(Response::Synced))
    }

    /// A leader of epoch 2 has proposed up to 2:4, and 2:2 is acknowledged when a sync is sent.
    fn asking() -> Trial<SyncedReads> {
        let mut trial = Trial::new(SyncedReads::new());
        trial.accepts(established(ONE, 2));
        trial.accepts(proposed(ONE, z(2, 4)));
        commit(&mut trial, z(2, 2));
        trial.accepts(acknowledged(z(2, 2)));
        trial.accepts(sent(3, sync()));
        trial
    }

    /// Commits a transaction in the history, without the report of a leader.
    fn commit(trial: &mut Trial<SyncedReads>, zxid: Zxid) {
        let body = TxnBody::Error(Error::NoNode);
        let txn = Txn { zxid, session: SessionId(0x77), cxid: Xid(1), time: 0, body };
        trial.history.commit(Arc::new(txn));
    }

    /// The end of a local session is answered without a transaction.
    #[test]
    fn what_is_no_transaction_is_nothing_to_see() {
        let mut trial = Trial::new(SyncedReads::new());
        trial.accepts(established(ONE, 2));
        trial.accepts(acknowledged(z(2, 0)));
        trial.accepts(sent(3, sync()));
        trial.accepts(read(ONE, true));
        trial.accepts(answered(z(1, 0)));
    }

    #[test]
    fn a_sync_that_no_leader_has_read() {
        let saw = asking().objects(answered(z(2, 9)));
        assert!(saw.contains("no leader had read it"), "{saw}");
    }

    #[test]
    fn a_learners_sync_waits_for_what_is_proposed() {
        let mut trial = asking();
        trial.accepts(read(ONE, true));
        let saw = trial.clone_and_object(answered(z(2, 3)));
        assert!(saw.contains("server 1 knew of 2:4"), "{saw}");
        trial.accepts(answered(z(2, 4)));
    }

    /// A sync of the leader's own client does not wait for proposals of other sessions.
    #[test]
    fn at_the_leader_it_sees_what_was_acknowledged() {
        let mut trial = asking();
        trial.accepts(read(ONE, false));
        let saw = trial.clone_and_object(answered(z(2, 1)));
        assert!(saw.contains("2:2 was acknowledged before it was sent"), "{saw}");
        trial.accepts(answered(z(2, 2)));
    }

    /// A sync at the leader waits for the session's own proposals, through any server (rule 4.5.7).
    #[test]
    fn at_the_leader_it_sees_what_the_session_has_asked() {
        let mut trial = asking();
        let body = TxnBody::Error(Error::NoNode);
        let own = Txn { zxid: z(2, 5), session: SESSION, cxid: Xid(2), time: 0, body };
        trial.accepts(Event::Proposed { leader: ONE, txn: Arc::new(own) });
        let mut without = trial.clone();
        let mut config = Config::new(3, 1);
        config.options.forward_learner_requests_to_commit_processor_disabled = true;
        without.monitor.begin(&Arc::new(config));
        trial.accepts(read(ONE, false));
        let saw = trial.clone_and_object(answered(z(2, 4)));
        assert!(saw.contains("server 1 knew of 2:5"), "{saw}");
        trial.accepts(answered(z(2, 5)));
        without.accepts(read(ONE, false));
        without.accepts(answered(z(2, 4)));
    }

    /// A deposed leader answers by what it knows (rule 4.6.4).
    #[test]
    fn a_deposed_leader_answers_what_it_knows() {
        let mut trial = asking();
        trial.accepts(established(TWO, 3));
        trial.accepts(acknowledged(z(3, 5)));
        trial.accepts(Event::Lost {
            client: CLIENT,
            session: SESSION,
            xid: Xid(3),
            request: Arc::new(sync()),
        });
        trial.accepts(sent(3, sync()));
        trial.accepts(read(ONE, true));
        trial.clone_and_object(answered(z(2, 3)));
        trial.accepts(answered(z(2, 4)));
        let measured = trial.monitor.measured();
        assert_eq!(measured, [Measure::count("syncs that a deposed leader answered", 1)]);
    }

    /// The new leader's last zxid is the opening one of an epoch without transactions.
    #[test]
    fn an_opening_zxid_is_nothing_to_wait_for() {
        let mut trial = asking();
        trial.accepts(Event::Established { leader: TWO, epoch: Epoch(5), last_zxid: z(4, 0) });
        trial.accepts(read(TWO, true));
        trial.accepts(answered(z(2, 2)));
    }

    #[test]
    fn what_a_read_was_shown_binds_no_sync() {
        let mut trial = asking();
        trial.accepts(replied(2, z(2, 9), get_data("/a"), Err(Error::NoNode)));
        trial.accepts(read(ONE, false));
        trial.accepts(answered(z(2, 2)));
    }
}
