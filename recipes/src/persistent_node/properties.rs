//! The properties of a persistent node, as monitors (recipe rule 2.17).
//!
//! | | property | class |
//! |---|---|---|
//! | PN1 | while the znode is kept, it exists and belongs to its keeper's session | run; event |
//! | PN2 | after the node is closed, no znode of that session exists at its path | run; event |
//! | PN3 | while the znode is kept, it holds the keeper's data | run; event |
//!
//! One monitor checks all three: within a time and at rest.

use super::PersistentSeen;
use crate::herd::Herd;
use crate::obligations::{AtRest, Owed, WithinATime};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::minds;
use vivarium_model::op::{Data, SessionState};
use vivarium_model::property::{Minds, Monitor, Saw, View};
use vivarium_model::time::Duration;
use vivarium_model::txn::TxnBody;

/// Returns all monitors of persistent nodes below `directory`. `bound` is how long a keeper must have been connected,
/// undisturbed, before its znode must be right. Where no time passes, the same is checked at rest.
pub fn monitors(directory: &str, bound: Duration) -> Vec<Box<dyn Monitor>> {
    vec![
        Box::new(WithinATime::new(Kept::new(directory), bound)),
        Box::new(AtRest::new(Kept::new(directory))),
        Box::new(Herd::unbounded(directory)),
    ]
}

/// The znodes that keepers want. See the module.
#[derive(Clone, Debug, Hash)]
pub struct Kept {
    directory: Arc<str>,
    /// For each client, its znode and the data that it should hold, or `None` after the node was closed.
    wanted: BTreeMap<ClientId, (Arc<str>, Option<Data>)>,
    sessions: BTreeMap<ClientId, SessionId>,
}

impl Kept {
    fn new(directory: &str) -> Kept {
        let (wanted, sessions) = (BTreeMap::new(), BTreeMap::new());
        Kept { directory: directory.into(), wanted, sessions }
    }

    fn is_ours(&self, path: &str) -> bool {
        vivarium_model::path::parent(path) == Some(&*self.directory)
    }
}

impl Owed for Kept {
    const NAMES: [&'static str; 2] =
        ["persistent node PN1 to PN3 kept", "persistent node PN1 to PN3 kept at rest"];

    const MINDS: Minds<Self> = minds! { |this, view, event|
        Event::Session { client, session: Some(session), state: SessionState::SyncConnected, .. } => {
            this.sessions.insert(*client, *session);
        },
        Event::Killed { client } | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
            this.wanted.remove(client);
            this.sessions.remove(client);
        },
        Observed(client, seen: PersistentSeen) => match seen {
            PersistentSeen::Keeps { path, data } if this.is_ours(path) => {
                this.wanted.insert(client, (Arc::clone(path), Some(data.clone())));
            }
            PersistentSeen::Closes { path } if this.is_ours(path) => {
                this.wanted.insert(client, (Arc::clone(path), None));
            }
            _ => {}
        },
    };

    fn is_changed_by(&self, body: &TxnBody) -> bool {
        match body {
            TxnBody::Create { path, .. }
            | TxnBody::SetData { path, .. }
            | TxnBody::Delete { path } => self.is_ours(path),
            TxnBody::CloseSession { ephemerals } => {
                ephemerals.iter().any(|path| self.is_ours(path))
            }
            TxnBody::Multi(parts) => parts.iter().any(|part| self.is_changed_by(part)),
            _ => false,
        }
    }

    fn clients(&self) -> Vec<ClientId> {
        self.wanted.keys().copied().collect()
    }

    fn owes(&self, view: View<'_>, client: ClientId) -> Option<Saw> {
        let session = *self.sessions.get(&client)?;
        let (path, wanted) = self.wanted.get(&client)?;
        let tree = view.history.tree();
        if !tree.sessions().contains_key(&session) {
            // The session is over, and its client does not know yet.
            return None;
        }
        let own = tree.node(path).filter(|node| node.ephemeral_owner() == Some(session));
        match (wanted, own) {
            (Some(_), None) => {
                Some(format!("{client} keeps {path}, but its session has no such znode").into())
            }
            (Some(data), Some(node)) if node.data != *data => {
                Some(format!("{client} keeps {path}, but the znode holds other data").into())
            }
            (None, Some(_)) => {
                Some(format!("{client} has closed {path}, but the znode still exists").into())
            }
            _ => None,
        }
    }
}
