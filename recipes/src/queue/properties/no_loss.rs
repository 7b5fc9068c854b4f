//! Q1: when only time can pass any more, each item that was put is in the queue or has been taken.
//!
//! An item may be lost with its consumer, after it was deleted and before the consumer has reported it: this is the
//! price of a queue that deletes items before the work is done. The monitor excuses only the item that a program was
//! about to take when it was killed.

use super::item_of;
use crate::queue::QueueSeen;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct NoLoss {
    queue: Arc<str>,
    /// The items whose puts are acknowledged and that no consumer has taken yet.
    due: BTreeSet<Arc<str>>,
    /// The items that were taken before their puts were acknowledged.
    early: BTreeSet<Arc<str>>,
    /// The item that each program was last about to take.
    taking: BTreeMap<ClientId, Arc<str>>,
    /// The items that may have been lost with their consumers.
    excused: BTreeSet<Arc<str>>,
}

impl NoLoss {
    /// Watches the queue in this directory.
    pub fn new(directory: &str) -> NoLoss {
        NoLoss {
            queue: directory.into(),
            due: BTreeSet::new(),
            early: BTreeSet::new(),
            taking: BTreeMap::new(),
            excused: BTreeSet::new(),
        }
    }

    fn put(&mut self, item: &Arc<str>) {
        if !self.early.remove(item) {
            self.due.insert(Arc::clone(item));
        }
    }

    fn taken(&mut self, client: ClientId, item: &Arc<str>) {
        self.taking.remove(&client);
        if !self.due.remove(item) {
            self.early.insert(Arc::clone(item));
        }
    }

    fn check(&self, view: View<'_>) -> Result<(), Objection> {
        if self.due.is_subset(&self.excused) {
            return Ok(());
        }
        let tree = view.history.tree();
        let names = tree.children(&self.queue).unwrap_or_default();
        let standing: BTreeSet<Arc<str>> = names
            .iter()
            .filter_map(|name| tree.node(&format!("{}/{name}", self.queue)))
            .map(|znode| item_of(&znode.data))
            .collect();
        let is_lost = |item: &&Arc<str>| !self.excused.contains(*item) && !standing.contains(*item);
        match self.due.iter().find(is_lost) {
            None => Ok(()),
            Some(item) => {
                let saw = format!(
                    "{item} was put and is no longer in {}, but no client has it",
                    self.queue
                );
                Err(self.objection(saw))
            }
        }
    }
}

impl Declared for NoLoss {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "queue Q1 no loss",
        LooksBack::Nothing,
        minds! { |this, view, event|
            #[needed]
            #[unordered]
            Observed(_, QueueSeen::Put { queue, item }) if *queue == this.queue => {
                this.put(item);
            },
            #[unordered]
            Observed(client, QueueSeen::Taking { queue, item }) if *queue == this.queue => {
                this.taking.insert(client, Arc::clone(item));
            },
            #[unordered]
            Observed(client, QueueSeen::Taken { queue, item }) if *queue == this.queue => {
                this.taken(client, item);
            },
            #[unordered]
            Event::Killed { client } => this.excused.extend(this.taking.remove(client)),
        },
    )
    .at_rest(Self::at_rest)
    .end(Self::end);
}

impl NoLoss {
    fn at_rest(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.check(view)
    }

    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.check(view)
    }
}
