//! TP3, finality: a decision never changes.
//!
//! This holds for the decision of each participant, even across restarts of its process, and for the content of the
//! decision's znode, if there is one.

use super::{Change, changes, is_in};
use crate::two_phase_commit::{CommitSeen, Decision};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};
use vivarium_model::txn::Txn;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Finality {
    directory: Arc<str>,
    /// The decisions, by transaction and participant.
    decided: BTreeMap<(Arc<str>, Arc<str>), Decision>,
    /// The content of the decision's znode, by transaction.
    written: BTreeMap<Arc<str>, Option<Decision>>,
}

impl Finality {
    /// Watches the transactions below this directory.
    pub fn new(directory: &str) -> Finality {
        let directory = directory.into();
        Finality { directory, decided: BTreeMap::new(), written: BTreeMap::new() }
    }

    fn changed(&mut self, transaction: &str, change: &Change<'_>) -> Result<(), Objection> {
        let new = match change {
            Change::Content(data) => Decision::read(data),
            Change::Gone => None,
        };
        let Some(old) = self.written.insert(transaction.into(), new) else { return Ok(()) };
        if old == new {
            return Ok(());
        }
        let say = |decision: Option<Decision>| {
            decision.map_or("nothing".to_string(), |decision| decision.to_string())
        };
        let saw = format!("the decision of {transaction} was {} and is {}", say(old), say(new));
        Err(self.objection(saw))
    }

    fn decided(
        &mut self,
        transaction: &Arc<str>,
        who: &Arc<str>,
        decision: Decision,
    ) -> Result<(), Objection> {
        let key = (Arc::clone(transaction), Arc::clone(who));
        match self.decided.insert(key, decision) {
            Some(before) if before != decision => {
                let saw = format!(
                    "{who} takes {transaction} for decided: {decision}; and has taken it for {before}"
                );
                Err(self.objection(saw))
            }
            _ => Ok(()),
        }
    }
}

impl Declared for Finality {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "two-phase commit TP3 finality",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(txn),
            // Each participant's decisions are compared only with its own.
            #[needed]
            #[unordered]
            Observed(_, CommitSeen::Decided { transaction, who, decision })
                if is_in(&this.directory, transaction) =>
            {
                this.decided(transaction, who, *decision)
            },
        },
    );
}

impl Finality {
    fn committed(&mut self, txn: &Txn) -> Result<(), Objection> {
        let mut result = Ok(());
        let directory = Arc::clone(&self.directory);
        changes(&directory, &txn.body, &mut |transaction, rest, change| {
            if rest == "decision" && result.is_ok() {
                result = self.changed(transaction, &change);
            }
        });
        result
    }
}
