//! LQ3: an acknowledgement reports that it was done if and only if it was done: the consumer's session deleted the
//! item.

use super::claims::Claims;
use crate::ack_queue::AckSeen;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::id::SessionId;
use vivarium_model::minds;
use vivarium_model::path;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};
use vivarium_model::txn::Txn;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct ToldTruly {
    queue: Arc<str>,
    claims: Claims,
    /// The session that deleted each item.
    gone: BTreeMap<Arc<str>, SessionId>,
    /// For each item, the sessions that were informed that they have not acknowledged it.
    refused: BTreeSet<(Arc<str>, SessionId)>,
}

impl ToldTruly {
    /// Returns the property for the queue in this directory. It must receive all events of the history.
    pub fn new(directory: &str) -> ToldTruly {
        ToldTruly {
            queue: directory.into(),
            claims: Claims::new(directory),
            gone: BTreeMap::new(),
            refused: BTreeSet::new(),
        }
    }

    fn told(&mut self, seen: &AckSeen) -> Result<(), Objection> {
        let (AckSeen::Claimed { queue, node, token, .. }
        | AckSeen::Acked { queue, node, token }
        | AckSeen::NotAcked { queue, node, token }) = seen
        else {
            return Ok(());
        };
        let Some(session) = self.claims.maker(*token).filter(|_| *queue == self.queue) else {
            return Ok(());
        };
        let item: Arc<str> = path::name(node).into();
        let is_done = self.gone.get(&item) == Some(&session);
        match seen {
            AckSeen::Acked { .. } if !is_done => {
                let saw = format!(
                    "the client of session {session} learned that it has acknowledged {item}, but it has not"
                );
                Err(self.objection(saw))
            }
            AckSeen::NotAcked { .. } if is_done => {
                let saw = format!(
                    "the client of session {session} learned that it has not acknowledged {item}, but it has"
                );
                Err(self.objection(saw))
            }
            AckSeen::NotAcked { .. } => {
                self.refused.insert((item, session));
                Ok(())
            }
            // A new claim allows the session to acknowledge the item again.
            AckSeen::Claimed { .. } => {
                self.refused.remove(&(item, session));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Declared for ToldTruly {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "ack-queue LQ3 told truly",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(view, txn),
            Observed(_, seen @ (AckSeen::Claimed { .. } | AckSeen::NotAcked { .. })) => this.told(seen),
            #[needed]
            Observed(_, seen @ AckSeen::Acked { .. }) => this.told(seen),
        },
    );
}

impl ToldTruly {
    fn committed(&mut self, view: View<'_>, txn: &Txn) -> Result<(), Objection> {
        for gone in self.claims.see(view, txn) {
            if self.refused.contains(&(Arc::clone(&gone.item), txn.session)) {
                let saw = format!(
                    "{} was deleted by {txn}, although the client of that session had learned that \
                     it has not acknowledged the item",
                    gone.item
                );
                return Err(self.objection(saw));
            }
            self.gone.insert(gone.item, txn.session);
        }
        Ok(())
    }
}
