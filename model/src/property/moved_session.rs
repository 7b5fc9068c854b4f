//! H14: a session that has moved can write.
//!
//! A leader refuses a write with SessionMoved if the session has moved to another server (rule 1.6.1): the server
//! that asked last owns the session (rule 2.4.1). A delayed request for ownership can take the session back once
//! more, so a few connections in a row can be refused, but not many, since each asks for ownership again. A session
//! whose owner is never set can never write again, and its program only loses its connections.

use super::{Declaration, Declared, LooksBack, Measure};
use crate::minds;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{SessionId, Xid};
use crate::vocabulary::op::SessionState;
use crate::vocabulary::txn::{Txn, TxnBody};
use std::collections::BTreeMap;

/// This many connections of a session in a row that lose all their writes violate the property. In 30,000 seeds
/// without a planted mistake, the most was 2.
const IN_A_ROW: u64 = 6;

/// A session's connections and refused writes.
#[derive(Clone, Debug, Default, Hash)]
struct Writes {
    /// Number of times that the session was connected.
    connections: u64,
    /// The last connection with a refused write, and the number of such connections in a row.
    refused: Option<u64>,
    in_a_row: u64,
}

/// The monitor of H14. Only sweeps ask it, since it counts.
#[derive(Clone, Debug, Default, Hash)]
pub struct MovedSession {
    sessions: BTreeMap<SessionId, Writes>,
    most: u64,
}

impl MovedSession {
    /// Returns a monitor that knows no session.
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
            // A transaction without a number was requested by no client.
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
            // Several refused writes of one connection count once.
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
