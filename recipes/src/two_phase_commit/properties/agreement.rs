//! TP1, agreement: all participants take a transaction for decided in the same way.

use super::is_in;
use crate::two_phase_commit::{CommitSeen, Decision};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Agreement {
    directory: Arc<str>,
    /// By transaction and participant.
    decided: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Decision>>,
}

impl Agreement {
    /// Watches the transactions below this directory.
    pub fn new(directory: &str) -> Agreement {
        Agreement { directory: directory.into(), decided: BTreeMap::new() }
    }
}

impl Monitor for Agreement {
    fn name(&self) -> &'static str {
        "two-phase commit TP1 agreement"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Nothing
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("decided")]
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(event.observed(), Some((_, CommitSeen::Decided { .. })))
    }

    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        let Some((client, CommitSeen::Decided { transaction, who, decision })) = event.observed()
        else {
            return Ok(());
        };
        if !is_in(&self.directory, transaction) {
            return Ok(());
        }
        let decided = self.decided.entry(Arc::clone(transaction)).or_default();
        let other = decided.iter().find(|(other, theirs)| *other != who && *theirs != decision);
        if let Some((other, theirs)) = other {
            let saw = format!(
                "{client} takes {transaction} for decided, as {who}: {decision}; and {other} has taken it for \
                 {theirs}"
            );
            return Err(Objection::new(self.name(), saw));
        }
        decided.insert(Arc::clone(who), *decision);
        Ok(())
    }
}
