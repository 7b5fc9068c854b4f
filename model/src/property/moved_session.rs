//! H14: a session that has moved can write.
//!
//! A leader refuses a write with SessionMoved when the session goes on at another server (rule 1.6.1): the one that
//! asked last owns it (rule 2.4.1). A question that was long on its way can take it back once more, so one connection
//! after another can be refused; but not many in a row, for each is asked for anew. One whose owner
//! is never set can never write again, and its program only loses its connections.

use super::{Declaration, Declared, LooksBack, Measure};
use crate::minds;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{SessionId, Xid};
use crate::vocabulary::op::SessionState;
use crate::vocabulary::txn::{Txn, TxnBody};
use std::collections::BTreeMap;

/// So many connections of a session, one after the other, may lose all their writes. The most that was seen in
/// 30,000 seeds without a planted mistake is 2.
const IN_A_ROW: u64 = 6;

/// What is known of a session.
#[derive(Clone, Debug, Default, Hash)]
struct Writes {
    /// How often it was connected.
    connections: u64,
    /// In which of them a write was refused last, and how many in a row there were.
    refused: Option<u64>,
    in_a_row: u64,
}

/// The monitor of H14. Asked in sweeps: it counts.
#[derive(Clone, Debug, Default, Hash)]
pub struct MovedSession {
    sessions: BTreeMap<SessionId, Writes>,
    most: u64,
}

impl MovedSession {
    /// Nobody has moved.
    pub fn new() -> MovedSession {
        MovedSession::default()
    }

    fn committed(&mut self, txn: &Txn) -> Result<(), String> {
        let writes = self.sessions.entry(txn.session).or_default();
        if txn.body != TxnBody::Error(Error::SessionMoved) {
            writes.in_a_row = 0;
            return Ok(());
        }
        let connection = Some(writes.connections);
        if std::mem::replace(&mut writes.refused, connection) == connection {
            return Ok(());
        }
        writes.in_a_row += 1;
        self.most = self.most.max(writes.in_a_row);
        if writes.in_a_row < IN_A_ROW {
            return Ok(());
        }
        Err(format!(
            "{txn}: {IN_A_ROW} connections in a row were refused because session {} had moved, and it has written \
             nothing meanwhile.",
            txn.session
        ))
    }
}

impl Declared for MovedSession {
    const DECLARATION: Declaration<Self> =
        Declaration::in_sweeps("H14 a moved session writes", LooksBack::Tip, minds! { |this, view, event|
            Event::Session { session: Some(session), state: SessionState::SyncConnected, .. } => {
                this.sessions.entry(*session).or_default().connections += 1;
            },
            // What has no number no client has asked for.
            Committed(txn) if txn.cxid != Xid(0) => this.committed(txn).map_err(|saw| this.objection(saw)),
        })
        .measured(Self::measured);
}

impl MovedSession {
    fn measured(&self) -> Vec<Measure> {
        vec![Measure::most("connections in a row refused as moved", self.most)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{ONE, SESSION, Trial, committed, session, txn, z};

    fn moved(counter: u32) -> Event {
        committed(txn(z(1, counter), counter, TxnBody::Error(Error::SessionMoved)))
    }

    fn connected() -> Event {
        session(SessionState::SyncConnected, Some(ONE))
    }

    #[test]
    fn one_connection_after_the_other_without_a_write() {
        let mut trial = Trial::new(MovedSession::new());
        for connection in 0..5 {
            trial.accepts(connected());
            // However many of one connection.
            trial.accepts(moved(2 * connection + 1));
            trial.accepts(moved(2 * connection + 2));
        }
        trial.accepts(connected());
        let saw = trial.objects(moved(21));
        assert!(
            saw.contains(&format!("6 connections in a row were refused because session {SESSION}")),
            "{saw}"
        );
    }

    #[test]
    fn a_write_that_is_no_refusal_ends_the_row() {
        let mut trial = Trial::new(MovedSession::new());
        for connection in 0..20 {
            trial.accepts(connected());
            trial.accepts(moved(3 * connection + 1));
            if connection % 5 == 4 {
                trial.commit(z(1, 3 * connection + 2), 1, TxnBody::Error(Error::NoNode));
            }
        }
    }
}
