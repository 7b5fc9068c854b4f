//! TP4, write-once votes: a vote in the committed history is never replaced by a different one.
//!
//! The deletion of a vote, for example of an ephemeral one, is no different vote; TP1 covers what participants
//! conclude from it.

use super::{Change, changes};
use crate::two_phase_commit::Decision;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};
use vivarium_model::txn::Txn;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct WriteOnce {
    directory: Arc<str>,
    /// The votes, by transaction and the path below it.
    votes: BTreeMap<(Arc<str>, Arc<str>), Decision>,
}

impl WriteOnce {
    /// Watches the transactions below this directory.
    pub fn new(directory: &str) -> WriteOnce {
        WriteOnce { directory: directory.into(), votes: BTreeMap::new() }
    }

    fn voted(&mut self, transaction: &str, rest: &str, vote: Decision) -> Result<(), Objection> {
        let key = (Arc::from(transaction), Arc::from(rest));
        match self.votes.insert(key, vote) {
            Some(before) if before != vote => {
                let saw = format!("the vote {transaction}/{rest} was {before} and is {vote}");
                Err(self.objection(saw))
            }
            _ => Ok(()),
        }
    }
}

impl Declared for WriteOnce {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "two-phase commit TP4 write-once votes",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(txn),
        },
    );
}

impl WriteOnce {
    fn committed(&mut self, txn: &Txn) -> Result<(), Objection> {
        let mut result = Ok(());
        let directory = Arc::clone(&self.directory);
        changes(&directory, &txn.body, &mut |transaction, rest, change| {
            let Change::Content(data) = change else { return };
            if let Some(vote) = Decision::read(data)
                && rest.starts_with("votes/")
                && result.is_ok()
            {
                result = self.voted(transaction, rest, vote);
            }
        });
        result
    }
}
