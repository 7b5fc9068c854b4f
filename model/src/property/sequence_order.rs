//! H10: sequence numbers grow.
//!
//! Of two sequential znodes that are created below the same parent, the later one has the larger number (rule 1.4.1),
//! until the counter is at its end (rule 1.4.3). The monitor derives the number from the created path and the
//! requested one, without the servers' code that makes the number.

use super::{Declaration, Declared, LooksBack, View};
use crate::minds;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{SessionId, Xid};
use crate::vocabulary::op::{Op, Request};
use crate::vocabulary::path::parent;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Zxid;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The monitor of H10. Only sweeps ask it, since it remembers every request for a sequential znode.
#[derive(Clone, Debug, Default, Hash)]
pub struct SequenceOrder {
    /// For each request, the paths of its creates in order; `None` for a create that is not sequential.
    asked: BTreeMap<(SessionId, Xid), Vec<Option<Arc<str>>>>,
    /// The last number below each parent, which is identified by its path and czxid.
    last: BTreeMap<(Arc<str>, Zxid), i32>,
}

impl SequenceOrder {
    /// Returns a monitor that has seen no create.
    pub fn new() -> SequenceOrder {
        SequenceOrder::default()
    }

    fn sent(&mut self, session: SessionId, xid: Xid, request: &Request) {
        let asked = |op: &Op| match op {
            Op::Create { path, mode, .. } => mode.is_sequential().then(|| Arc::clone(path)),
            _ => None,
        };
        let asked: Vec<Option<Arc<str>>> = match request {
            Request::Write(op) => vec![asked(op)],
            Request::Multi(ops) => ops.iter().map(asked).collect(),
            _ => return,
        };
        if asked.iter().any(Option::is_some) {
            self.asked.insert((session, xid), asked);
        }
    }

    fn committed(&mut self, view: View<'_>, txn: &Txn) -> Result<(), String> {
        let Some(asked) = self.asked.remove(&(txn.session, txn.cxid)) else { return Ok(()) };
        let one = std::slice::from_ref(&txn.body);
        let bodies = if let TxnBody::Multi(bodies) = &txn.body { bodies } else { one };
        let created = bodies.iter().zip(&asked).filter_map(|(body, asked)| match body {
            TxnBody::Create { path, .. } => Some((&**path, asked.as_deref()?)),
            _ => None,
        });
        for (path, asked) in created {
            self.created(view, txn.zxid, path, asked)?;
        }
        Ok(())
    }

    fn created(
        &mut self,
        view: View<'_>,
        zxid: Zxid,
        path: &str,
        asked: &str,
    ) -> Result<(), String> {
        let number = path.strip_prefix(asked).and_then(|number| number.parse::<i32>().ok());
        let Some(number) = number else {
            return Err(format!(
                "{zxid} creates {path}, although the request asks for {asked} followed by a number."
            ));
        };
        let above = parent(path).unwrap_or("/");
        // A multi can delete the parent after it has created and deleted the child.
        let Some(znode) = view.history.tree().node(above) else { return Ok(()) };
        let last = self.last.insert((Arc::from(above), znode.czxid), number);
        let is_at_the_end = |number: i32| number == i32::MAX || number < 0;
        match last {
            Some(last) if number <= last && !is_at_the_end(last) && !is_at_the_end(number) => {
                Err(format!(
                    "{zxid} creates {path}, though the sequential znode below {above} that was created before it \
                     has the number {last}."
                ))
            }
            _ => Ok(()),
        }
    }
}

impl Declared for SequenceOrder {
    const DECLARATION: Declaration<Self> = Declaration::in_sweeps(
        "H10 sequence numbers grow",
        LooksBack::Tip,
        minds! { |this, view, event|
            Event::Sent { session, xid, request, .. } => this.sent(*session, *xid, request),
            Committed(txn) => this.committed(view, txn).map_err(|saw| this.objection(saw)),
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::Objection;
    use crate::property::testing::{Bodies, SESSION, Trial, committed, sent, txn, z};
    use crate::vocabulary::op::CreateMode;

    fn asks(xid: u32) -> Event {
        let op = Op::create("/q/x-", [], CreateMode::PersistentSequential);
        sent(xid, Request::Write(op))
    }

    fn created(trial: &Trial<SequenceOrder>, zxid: Zxid, xid: u32, path: &str) -> Event {
        committed(txn(zxid, xid, Bodies(&trial.history).create(path, "")))
    }

    /// Returns a trial in which the znode with this number was created below `/q`.
    fn after(number: &str) -> Trial<SequenceOrder> {
        let mut trial = Trial::new(SequenceOrder::new());
        trial.create(z(1, 1), "/q", "");
        trial.accepts(asks(3));
        let first = created(&trial, z(1, 2), 3, &format!("/q/x-{number}"));
        trial.accepts(first);
        trial.accepts(asks(4));
        trial
    }

    fn next(trial: &mut Trial<SequenceOrder>, number: &str) -> Result<(), Objection> {
        let next = created(trial, z(1, 3), 4, &format!("/q/x-{number}"));
        trial.feed(&next)
    }

    #[test]
    fn a_number_that_is_no_larger() {
        assert_eq!(next(&mut after("0000000003"), "0000000005"), Ok(()));
        assert!(next(&mut after("0000000003"), "0000000002").is_err());
        assert!(next(&mut after("0000000003"), "0000000000").is_err());
    }

    /// At the end of the counter the same number repeats, or negative numbers follow (rule 1.4.3).
    #[test]
    fn at_the_end_of_the_counter_anything_goes() {
        assert_eq!(next(&mut after("2147483647"), "-2147483648"), Ok(()));
        assert_eq!(next(&mut after("2147483646"), "2147483647"), Ok(()));
        assert!(next(&mut after("2147483646"), "2147483640").is_err());
    }

    #[test]
    fn something_that_is_no_number() {
        let saw = next(&mut after("0000000003"), "four").expect_err("no number").saw;
        assert!(saw.contains("asks for /q/x- followed by a number"), "{saw}");
    }

    /// A new parent of the same path begins a new counter, and a create that is not sequential has no number.
    #[test]
    fn each_parent_counts_for_itself() {
        let mut trial = after("0000000003");
        let plain = Op::create("/q/plain", [], CreateMode::Persistent);
        trial.accepts(sent(9, Request::Write(plain)));
        let plain = created(&trial, z(1, 3), 9, "/q/plain");
        trial.accepts(plain);
        for (zxid, path) in [(z(1, 4), "/q/plain"), (z(1, 5), "/q/x-0000000003"), (z(1, 6), "/q")] {
            trial.delete(zxid, path);
        }
        trial.create(z(1, 7), "/q", "");
        let again = created(&trial, z(1, 8), 4, "/q/x-0000000000");
        assert_eq!(trial.feed(&again), Ok(()));
        assert_eq!(trial.monitor.asked.get(&(SESSION, Xid(4))), None);
    }
}
