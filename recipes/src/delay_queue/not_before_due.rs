//! DQ1: no item is taken before it is due.
//!
//! The item's name contains the time at which it is due. A search has no time, so only sweeps check this property.
//! Their clocks are all equal, so no clock skew is allowed for.

use crate::queue::properties::{Part, item_of, parts};
use crate::queue::{ItemName, Mark, QueueSeen, priority_monitors};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::path;
use vivarium_model::property::{Declaration, Declared, LooksBack, Monitor, Objection, View};
use vivarium_model::txn::Txn;

/// Returns all monitors of a delay queue whose items are the children of `directory`: those of a queue with priorities,
/// with times as priorities, and DQ1.
pub fn monitors(directory: &str) -> Vec<Box<dyn Monitor>> {
    let mut monitors = priority_monitors(directory);
    monitors.push(Box::new(NotBeforeDue::new(directory)));
    monitors
}

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct NotBeforeDue {
    queue: Arc<str>,
    /// The time at which each item is due, in milliseconds.
    due: BTreeMap<Arc<str>, u64>,
}

impl NotBeforeDue {
    /// Creates the monitor of the queue in this directory.
    pub fn new(directory: &str) -> NotBeforeDue {
        NotBeforeDue { queue: directory.into(), due: BTreeMap::new() }
    }
}

impl Declared for NotBeforeDue {
    const DECLARATION: Declaration<Self> = Declaration::in_sweeps(
        "delay-queue DQ1 not before due",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(txn),
            #[needed]
            Observed(client, QueueSeen::Taken { queue, item }) => this.taken(view, client, queue, item),
        },
    );
}

impl NotBeforeDue {
    fn committed(&mut self, txn: &Txn) {
        parts(&txn.body, &self.queue, &mut |part| {
            let Part::Created { path, data } = part else { return };
            let name = ItemName::parse(path::name(path));
            if let Some(Mark::Due(due)) = name.map(|name| name.mark) {
                self.due.insert(item_of(data), due);
            }
        });
    }

    fn taken(
        &self,
        view: View<'_>,
        client: ClientId,
        queue: &Arc<str>,
        item: &Arc<str>,
    ) -> Result<(), Objection> {
        let now = view.at().milliseconds();
        match self.due.get(item).filter(|due| *queue == self.queue && **due > now) {
            None => Ok(()),
            Some(due) => {
                let saw =
                    format!("{client} has taken {item} at {now} ms, which is due at {due} ms");
                Err(self.objection(saw))
            }
        }
    }
}
