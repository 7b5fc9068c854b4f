//! TP1, agreement: all participants decide a transaction in the same way.

use super::is_in;
use crate::two_phase_commit::{CommitSeen, Decision};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Agreement {
    directory: Arc<str>,
    /// The decisions, by transaction and participant.
    decided: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Decision>>,
}

impl Agreement {
    /// Watches the transactions below this directory.
    pub fn new(directory: &str) -> Agreement {
        Agreement { directory: directory.into(), decided: BTreeMap::new() }
    }
}

impl Declared for Agreement {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "two-phase commit TP1 agreement",
        LooksBack::Nothing,
        minds! { |this, view, event|
            #[needed]
            Observed(client, CommitSeen::Decided { transaction, who, decision }) => {
                match is_in(&this.directory, transaction) {
                    true => this.decided(client, transaction, who, *decision),
                    false => Ok(()),
                }
            },
        },
    );
}

impl Agreement {
    fn decided(
        &mut self,
        client: ClientId,
        transaction: &Arc<str>,
        who: &Arc<str>,
        decision: Decision,
    ) -> Result<(), Objection> {
        let decided = self.decided.entry(Arc::clone(transaction)).or_default();
        let other = decided.iter().find(|(other, theirs)| *other != who && **theirs != decision);
        if let Some((other, theirs)) = other {
            let saw = format!(
                "{client} takes {transaction} for decided, as {who}: {decision}; and {other} has taken it for \
                 {theirs}"
            );
            return Err(self.objection(saw));
        }
        decided.insert(Arc::clone(who), decision);
        Ok(())
    }
}
