//! H1, writes are linearizable, follows from H5 and the order of the history: in all short runs of two sessions, real
//! time is kept if H5 holds, and is not kept in some runs that violate H5.

use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::history::History;
use vivarium_model::id::{ClientConnection, ClientId, ServerId, SessionId, Xid};
use vivarium_model::op::{CreateMode, Op, Request};
use vivarium_model::property::{AcknowledgedWrite, Monitor, View};
use vivarium_model::time::Time;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::{Epoch, Zxid};

/// The number of acts in a run.
const LENGTH: usize = 9;

/// An act of a session, or one for it.
#[derive(Clone, Copy)]
enum Act {
    /// The session sends a write, if none of its own is in progress.
    Send,
    /// The session's oldest uncommitted write is committed.
    Commit,
    /// The session gets an answer: with its write's transaction if that is committed, or earlier.
    Answer,
    /// The session loses its connection, and with it the answer.
    Lose,
}

/// One write, in the order of sending.
#[derive(Clone)]
struct Write {
    session: usize,
    xid: u32,
    committed: Option<Zxid>,
    is_answered: bool,
    /// The writes that had been answered when this one was sent.
    behind: Vec<usize>,
}

#[derive(Clone, Default)]
struct Run {
    history: History,
    monitor: AcknowledgedWrite,
    writes: Vec<Write>,
    /// Each session's write in progress.
    under_way: [Option<usize>; 2],
    objected: bool,
}

impl Run {
    /// Performs the act; returns false if it is not possible.
    fn act(&mut self, act: Act, session: usize) -> bool {
        match act {
            Act::Send if self.under_way[session].is_none() => self.send(session),
            Act::Commit => return self.commit(session),
            Act::Answer => return self.answer(session),
            Act::Lose => return self.under_way[session].take().is_some(),
            Act::Send => return false,
        }
        true
    }

    fn send(&mut self, session: usize) {
        let xid = 1 + self.writes.iter().filter(|write| write.session == session).count() as u32;
        let is_answered = |at: &usize| self.writes[*at].is_answered;
        let behind = (0..self.writes.len()).filter(is_answered).collect();
        self.under_way[session] = Some(self.writes.len());
        self.writes.push(Write { session, xid, committed: None, is_answered: false, behind });
    }

    fn next(&self) -> Zxid {
        Zxid(self.history.last().0.max(Epoch(1).opening().0) + 1)
    }

    fn commit(&mut self, session: usize) -> bool {
        let zxid = self.next();
        let is_due = |write: &&mut Write| write.session == session && write.committed.is_none();
        let Some(write) = self.writes.iter_mut().find(is_due) else { return false };
        write.committed = Some(zxid);
        let (session, cxid) = (id(session), Xid(write.xid));
        // The operation does not matter: a refused write is a transaction like any other.
        let body = TxnBody::Error(Error::NoNode);
        let txn = Arc::new(Txn { zxid, session, cxid, time: 0, body });
        self.history.commit(Arc::clone(&txn));
        self.tell(true, &Event::Committed { leader: ServerId(1), txn });
        true
    }

    fn answer(&mut self, session: usize) -> bool {
        let Some(at) = self.under_way[session].take() else { return false };
        let next = self.next();
        let write = &mut self.writes[at];
        write.is_answered = true;
        let (xid, zxid) = (Xid(write.xid), write.committed.unwrap_or(next));
        let client = ClientId(session as u16 + 1);
        let create = Op::create("/a/b", [], CreateMode::Persistent);
        self.tell(
            false,
            &Event::Replied {
                client,
                session: id(session),
                connection: ClientConnection { client, slot: 0 },
                xid,
                zxid,
                request: Arc::new(Request::Write(create)),
                result: Err(Error::NoNode),
            },
        );
        true
    }

    fn tell(&mut self, is_new: bool, event: &Event) {
        let view = if is_new { View::of_new } else { View::new };
        let view = view(Time::ZERO, &self.history).within(self.monitor.looks_back());
        self.objected |= self.monitor.event(view, event).is_err();
    }

    /// Returns true if each write follows all writes that had been answered when it was sent. An uncommitted write
    /// may still be committed, after all others.
    fn keeps_real_time(&self) -> bool {
        self.writes.iter().filter(|write| write.committed.is_some()).all(|write| {
            let is_before = |at: &usize| {
                let before = self.writes[*at].committed;
                before.is_some() && before < write.committed
            };
            write.behind.iter().all(is_before)
        })
    }
}

fn id(session: usize) -> SessionId {
    SessionId(session as u64 + 1)
}

/// Counts of complete runs: those that hold, and those that do not keep real time, with and without an objection.
#[derive(Debug, Default)]
struct Counts {
    held: u64,
    objected_and_late: u64,
    held_and_late: u64,
}

fn all_behind(run: &Run, left: usize, counts: &mut Counts) {
    if left == 0 {
        counts.held += u64::from(!run.objected);
        let late = u64::from(!run.keeps_real_time());
        match run.objected {
            true => counts.objected_and_late += late,
            false => counts.held_and_late += late,
        }
        return;
    }
    for act in [Act::Send, Act::Commit, Act::Answer, Act::Lose] {
        for session in 0..2 {
            let mut next = run.clone();
            if next.act(act, session) {
                all_behind(&next, left - 1, counts);
            }
        }
    }
}

#[test]
fn real_time_is_kept_wherever_h5_holds() {
    let mut counts = Counts::default();
    all_behind(&Run::default(), LENGTH, &mut counts);
    assert_eq!(counts.held_and_late, 0, "{counts:?}");
    assert!(counts.held > 1_000 && counts.objected_and_late > 10, "{counts:?}");
}
