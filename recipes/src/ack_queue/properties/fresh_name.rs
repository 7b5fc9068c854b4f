//! LQ5: an item that is moved gets a new name, which does not begin with the old one.

use crate::queue::properties::{Part, parts};
use std::sync::Arc;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};
use vivarium_model::txn::Txn;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct FreshName {
    queue: Arc<str>,
}

impl FreshName {
    /// Watches the queue in this directory.
    pub fn new(directory: &str) -> FreshName {
        FreshName { queue: directory.into() }
    }
}

impl Declared for FreshName {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "ack-queue LQ5 fresh name",
        LooksBack::Tip,
        minds! { |this, view, event|
            // Each transaction is judged by itself.
            #[unordered]
            Committed(txn) => this.committed(txn),
        },
    );
}

impl FreshName {
    fn committed(&self, txn: &Txn) -> Result<(), Objection> {
        let (mut created, mut deleted) = (Vec::new(), Vec::new());
        parts(&txn.body, &self.queue, &mut |part| match part {
            Part::Created { path, .. } => created.push(path.as_str()),
            Part::Deleted { path } => deleted.push(path.as_str()),
        });
        let is_built_on = |new: &&str| deleted.iter().any(|old| new.starts_with(old));
        match created.iter().find(|new| is_built_on(new)) {
            None => Ok(()),
            Some(new) => {
                let saw = format!("{txn} moved an item to {new}, which is built on its old name");
                Err(self.objection(saw))
            }
        }
    }
}
