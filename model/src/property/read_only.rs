//! Tracks the sessions on read-only connections, which servers without a leader answer (rule 2.7.1). The tree of such
//! a server may hold transactions that are never committed (rule 6.8.2).

use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientId, SessionId};
use crate::vocabulary::op::SessionState;
use std::collections::BTreeMap;

/// The clients with a read-only connection, and their sessions on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ReadOnlySessions(BTreeMap<ClientId, SessionId>);

impl ReadOnlySessions {
    /// Updates the clients after an event.
    pub(crate) fn see(&mut self, event: &Event) {
        match event {
            Event::Session {
                client,
                session: Some(session),
                state: SessionState::ConnectedReadOnly,
                ..
            } => {
                self.0.insert(*client, *session);
            }
            Event::Session { client, .. } | Event::Killed { client } => {
                self.0.remove(client);
            }
            _ => {}
        }
    }

    /// Returns true if this client has this session on a read-only connection.
    pub(crate) fn contains(&self, client: ClientId, session: SessionId) -> bool {
        self.0.get(&client) == Some(&session)
    }
}
