//! H1: writes are linearizable (rule 4.6.1).
//!
//! All writes stand in one order, that of their zxids, and each answer is the one that this order gives (H5; the
//! bridge asks `prep` again for what each was made into). What is left to be asked is real time: a write that was sent
//! when another one, of whichever session, had been answered stands behind that one. Of a write whose answer was
//! lost this is asked as well, if it is committed at all.

use super::{Asked, Monitor, Objection, View};
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{SessionId, Xid};
use crate::vocabulary::op::Request;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use std::collections::BTreeMap;

/// The monitor of H1.
#[derive(Clone, Debug, Default, Hash)]
pub struct LinearizableWrites {
    /// The last of the writes that somebody was answered.
    answered: Zxid,
    /// Of each write under way, or lost: what had been answered when it was sent.
    sent: BTreeMap<(SessionId, Xid), Zxid>,
}

impl LinearizableWrites {
    /// Nothing was written yet.
    pub fn new() -> LinearizableWrites {
        LinearizableWrites::default()
    }

    fn committed(&mut self, txn: &Txn) -> Result<(), String> {
        match self.sent.remove(&(txn.session, txn.cxid)) {
            Some(answered) if txn.zxid <= answered => Err(format!(
                "{txn} (xid {}) was sent when {answered} had been answered, and stands before it.",
                txn.cxid.0
            )),
            _ => Ok(()),
        }
    }
}

/// Whether it becomes a transaction.
fn is_write(request: &Request) -> bool {
    !request.is_read() && !matches!(request, Request::Sync { .. })
}

impl Monitor for LinearizableWrites {
    fn name(&self) -> &'static str {
        "H1 writes are linearizable"
    }

    fn asked(&self) -> Asked {
        Asked::InSweeps
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(event, Event::Sent { .. } | Event::Replied { .. } | Event::Committed { .. })
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        match event {
            Event::Sent { session, xid, request, .. } if is_write(request) => {
                self.sent.insert((*session, *xid), self.answered);
            }
            Event::Replied { session, xid, zxid, request, .. } if is_write(request) => {
                // Some are refused by their server and become no transaction; whatever their header says is
                // committed.
                self.sent.remove(&(*session, *xid));
                if view.history.get(*zxid).is_some() {
                    self.answered = self.answered.max(*zxid);
                }
            }
            Event::Committed { txn, .. } if view.history.is_new(txn) => {
                return self.committed(txn).map_err(|saw| Objection::new(self.name(), saw));
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{Bodies, CLIENT, CONNECTION, SESSION, Trial, committed, txn, z};
    use crate::vocabulary::op::{CreateMode, Op, Response};
    use std::sync::Arc;

    const OTHER: SessionId = SessionId(0x20);

    fn create(path: &str) -> Arc<Request> {
        Arc::new(Request::Write(Op::create(path, [], CreateMode::Persistent)))
    }

    fn sends(session: SessionId, xid: u32, path: &str) -> Event {
        let (client, connection, xid) = (CLIENT, CONNECTION, Xid(xid));
        Event::Sent { client, session, connection, xid, request: create(path) }
    }

    fn is_answered(session: SessionId, xid: u32, zxid: Zxid, path: &str) -> Event {
        let (client, connection, xid) = (CLIENT, CONNECTION, Xid(xid));
        let result = Ok(Response::Synced);
        Event::Replied { client, session, connection, xid, zxid, request: create(path), result }
    }

    fn commits(
        trial: &Trial<LinearizableWrites>,
        session: SessionId,
        zxid: Zxid,
        path: &str,
    ) -> Event {
        let body = Bodies(&trial.history).create(path, "");
        let txn = Txn { session, ..(*txn(zxid, 1, body)).clone() };
        committed(Arc::new(txn))
    }

    /// Both are under way at once: either order will do.
    #[test]
    fn writes_that_overlap_stand_in_any_order() {
        let mut trial = Trial::new(LinearizableWrites::new());
        trial.accepts(sends(SESSION, 1, "/a"));
        trial.accepts(sends(OTHER, 1, "/b"));
        let b = commits(&trial, OTHER, z(1, 1), "/b");
        trial.accepts(b);
        trial.accepts(is_answered(OTHER, 1, z(1, 1), "/b"));
        let a = commits(&trial, SESSION, z(1, 2), "/a");
        trial.accepts(a);
    }

    /// No history can hold this, so what was answered is made up: it stands beyond what is committed next.
    #[test]
    fn a_write_that_stands_before_one_that_was_answered_when_it_was_sent() {
        for is_lost in [false, true] {
            let mut trial = Trial::new(LinearizableWrites::new());
            trial.monitor.answered = z(1, 5);
            let write = sends(SESSION, 1, "/a");
            trial.accepts(write);
            if is_lost {
                let (client, session, xid) = (CLIENT, SESSION, Xid(1));
                trial.accepts(Event::Lost { client, session, xid, request: create("/a") });
            }
            let a = commits(&trial, SESSION, z(1, 4), "/a");
            let saw = trial.feed(&a).expect_err("it goes back in time").saw;
            assert!(saw.contains("was sent when 1:5 had been answered"), "{saw}");
        }
    }

    /// A read, or a write of before, says nothing of order.
    #[test]
    fn only_answers_to_writes_count_and_only_for_what_is_sent_behind_them() {
        let mut trial = Trial::new(LinearizableWrites::new());
        trial.accepts(sends(SESSION, 1, "/a"));
        trial.monitor.answered = z(1, 5);
        let a = commits(&trial, SESSION, z(1, 4), "/a");
        trial.accepts(a);
        assert!(trial.monitor.sent.is_empty());
    }
}
