//! S14: no session ends early.
//!
//! A leader closes a session by itself only if it has not learnt for the session's timeout, from the client or from a
//! learner, that the session is alive (rule 2.3.2), and if it has led for as long (rule 2.3.3). A learner reports to
//! its leader every session from which it has read a packet (rule 2.3.4). Both hold exactly, even if packets are
//! late: a touch counts when it is read.
//!
//! This property does not require that a session ends after its client is gone; the end of a run checks that, as
//! progress.

use super::{Declaration, Declared, LooksBack, View};
use crate::minds;
use crate::property::Saw;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ServerId, SessionId, Xid};
use crate::vocabulary::time::{Duration, Time};
use crate::vocabulary::txn::{Txn, TxnBody};
use std::collections::{BTreeMap, BTreeSet};

/// The monitor of S14. Only sweeps ask it, since it needs a clock.
#[derive(Clone, Debug, Default, Hash)]
pub struct EarlyExpiry {
    timeouts: BTreeMap<SessionId, Duration>,
    /// When a server last learnt that a session is alive, from the client or from a learner.
    heard: BTreeMap<(ServerId, SessionId), Time>,
    established: BTreeMap<ServerId, Time>,
    /// Sessions that a fault made a leader take as expired, so their end is not early.
    taken: BTreeSet<(ServerId, SessionId)>,
    /// For each server, the sessions from which it has read a packet since its last report to its leader.
    to_forward: BTreeMap<ServerId, BTreeSet<SessionId>>,
}

impl EarlyExpiry {
    /// Returns a monitor that knows no session.
    pub fn new() -> EarlyExpiry {
        EarlyExpiry::default()
    }

    fn heard(&mut self, at: Time, leader: ServerId, session: SessionId) {
        self.heard.insert((leader, session), at);
    }

    /// Judges a closeSession that a leader proposes and no client has asked for.
    fn closes(&mut self, at: Time, leader: ServerId, session: SessionId) -> Result<(), Saw> {
        if self.taken.remove(&(leader, session)) {
            return Ok(());
        }
        let Some(timeout) = self.timeouts.get(&session) else { return Ok(()) };
        let established = self.established.get(&leader).copied().unwrap_or(Time::ZERO);
        let heard = self.heard.get(&(leader, session)).copied().unwrap_or(Time::ZERO);
        let silent = at.since(established.max(heard));
        if silent >= *timeout {
            return Ok(());
        }
        let why = if heard > established {
            "learned of the session's activity"
        } else {
            "was established"
        };
        Err(Saw::from(format!(
            "{leader} closes the session {session} by itself, though it {why} {silent:?} ago and the session's \
             timeout is {timeout:?}."
        )))
    }

    fn proposed(&mut self, at: Time, leader: ServerId, txn: &Txn) -> Result<(), Saw> {
        match &txn.body {
            TxnBody::CreateSession { timeout } => {
                self.timeouts.insert(txn.session, *timeout);
                self.heard(at, leader, txn.session);
                Ok(())
            }
            // A client's closeSession has a number.
            TxnBody::CloseSession { .. } if txn.cxid == Xid(0) => {
                self.closes(at, leader, txn.session)
            }
            _ => Ok(()),
        }
    }

    fn forwarded(
        &mut self,
        view: View<'_>,
        learner: ServerId,
        sessions: &[SessionId],
    ) -> Result<(), Saw> {
        let heard = self.to_forward.remove(&learner).unwrap_or_default();
        let open = view.history.tree().sessions();
        let is_missing = |it: &&SessionId| open.contains_key(it) && !sessions.contains(it);
        match heard.iter().find(is_missing) {
            None => Ok(()),
            Some(session) => Err(Saw::from(format!(
                "{learner} has received a packet of session {session}, but does not report the session to its leader."
            ))
            .about(*session)),
        }
    }
}

impl Declared for EarlyExpiry {
    const DECLARATION: Declaration<Self> = Declaration::in_sweeps(
        "S14 no session ends early",
        LooksBack::Tip,
        minds! { |this, view, event|
            Event::Heard { server, session } => {
                this.to_forward.entry(*server).or_default().insert(*session);
                this.heard(view.at(), *server, *session);
            },
            Event::Touched { leader, sessions } => {
                sessions.iter().for_each(|session| this.heard(view.at(), *leader, *session));
            },
            Event::TouchesForwarded { learner, sessions } => {
                let judged = this.forwarded(view, learner.learner, sessions);
                judged.map_err(|saw| this.objection(saw))
            },
            Event::TakenForExpired { leader, session } => {
                this.taken.insert((*leader, *session));
            },
            Event::Proposed { leader, txn } => {
                this.proposed(view.at(), *leader, txn).map_err(|saw| this.objection(saw))
            },
            Event::Established { leader, .. } => {
                this.established.insert(*leader, view.at());
                this.taken.retain(|(server, _)| server != leader);
            },
            // Each role begins without sessions to report.
            Event::Serving { server, .. } | Event::LeftRole { server, .. } | Event::Crashed { server, .. } => {
                this.to_forward.remove(server);
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::Monitor;
    use crate::property::Objection;
    use crate::property::testing::{ONE, SESSION, TWO, z};
    use crate::vocabulary::id::LearnerConnection;
    use crate::vocabulary::zxid::Epoch;
    use crate::world::history::History;
    use std::sync::Arc;

    const TIMEOUT: Duration = Duration::from_secs(6);
    const LEARNER: LearnerConnection = LearnerConnection { learner: TWO, slot: 0 };

    fn established() -> Event {
        Event::Established { leader: ONE, epoch: Epoch(2), last_zxid: z(1, 9) }
    }

    fn proposed(cxid: u32, body: TxnBody) -> Event {
        let txn = Txn { zxid: z(2, 1), session: SESSION, cxid: Xid(cxid), time: 0, body };
        Event::Proposed { leader: ONE, txn: Arc::new(txn) }
    }

    fn create() -> Event {
        proposed(0, TxnBody::CreateSession { timeout: TIMEOUT })
    }

    fn close(cxid: u32) -> Event {
        proposed(cxid, TxnBody::CloseSession { ephemerals: Vec::new() })
    }

    fn touched() -> Event {
        Event::Touched { leader: ONE, sessions: vec![SESSION] }
    }

    /// Returns the monitor's verdict on these events, each with its second.
    fn judged(events: &[(u64, Event)]) -> Result<(), Objection> {
        let mut history = History::new();
        let body = TxnBody::CreateSession { timeout: TIMEOUT };
        let txn = Txn { zxid: z(1, 1), session: SESSION, cxid: Xid(0), time: 0, body };
        history.commit(Arc::new(txn));
        let mut monitor = EarlyExpiry::new();
        events.iter().try_for_each(|(second, event)| {
            let at = Time::ZERO + Duration::from_secs(*second);
            monitor.event(View::new(at, &history), event)
        })
    }

    #[test]
    fn a_session_that_was_silent_ends() {
        assert_eq!(judged(&[(0, established()), (1, create()), (7, close(0))]), Ok(()));
    }

    #[test]
    fn one_that_was_heard_of_does_not() {
        let here = Event::Heard { server: ONE, session: SESSION };
        for sign in [touched(), here] {
            let run = |end| {
                judged(&[(0, established()), (1, create()), (5, sign.clone()), (end, close(0))])
            };
            let objection = run(10).expect_err("a second too early");
            assert!(
                objection.saw.contains("it learned of the session's activity 5s ago"),
                "{objection}"
            );
            assert_eq!(run(11), Ok(()));
        }
    }

    /// A new leader has read nothing from its clients yet, and must wait for the whole timeout before it expires
    /// them.
    #[test]
    fn a_new_leader_waits_anew() {
        let run = |end| judged(&[(0, create()), (20, established()), (end, close(0))]);
        assert!(run(25).expect_err("too early").saw.contains("it was established 5s ago"));
        assert_eq!(run(26), Ok(()));
    }

    #[test]
    fn who_closes_or_is_taken_for_expired_ends_at_once() {
        let taken = Event::TakenForExpired { leader: ONE, session: SESSION };
        assert_eq!(judged(&[(0, established()), (1, create()), (2, close(9))]), Ok(()));
        let struck = [(0, established()), (1, create()), (2, taken.clone()), (2, close(0))];
        assert_eq!(judged(&struck), Ok(()));
        // The fault explains one end, and only under the same leader.
        let twice =
            [(0, established()), (1, create()), (2, taken.clone()), (2, close(0)), (3, close(0))];
        assert!(judged(&twice).is_err());
        let later = [(0, create()), (2, taken), (3, established()), (4, close(0))];
        assert!(judged(&later).is_err());
    }

    #[test]
    fn a_learner_tells_of_whom_it_has_heard() {
        let heard = Event::Heard { server: TWO, session: SESSION };
        let tells = |sessions| Event::TouchesForwarded { learner: LEARNER, sessions };
        let told = [(1, heard.clone()), (2, tells(vec![SESSION])), (3, tells(vec![]))];
        assert_eq!(judged(&told), Ok(()));
        assert!(judged(&[(1, heard.clone()), (2, tells(vec![]))]).is_err());
        // A learner need not report a session from which it read a packet in an earlier role.
        let left = Event::LeftRole { server: TWO, reason: "" };
        assert_eq!(judged(&[(1, heard.clone()), (2, left), (3, tells(vec![]))]), Ok(()));
        // A learner need not report a session that is over either.
        let over = Event::Heard { server: TWO, session: SessionId(0x99) };
        assert_eq!(judged(&[(1, over), (2, tells(vec![]))]), Ok(()));
    }
}
