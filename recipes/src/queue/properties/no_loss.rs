//! Q1: when nothing can happen any more but that time passes, each item that was put stands in the queue or
//! is somebody's.
//!
//! An item may have died with its consumer, between its being taken and its being told of: that is the
//! price of a queue whose items are gone before the work is done. What a program was about to take when it
//! was killed is excused, and nothing else.

use super::item_of;
use crate::queue::QueueSeen;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct NoLoss {
    queue: Arc<str>,
    /// Acknowledged, and nobody's yet.
    due: BTreeSet<Arc<str>>,
    /// Somebody's before it was acknowledged.
    early: BTreeSet<Arc<str>>,
    /// What each program was last about to take.
    taking: BTreeMap<ClientId, Arc<str>>,
    /// It may have died with its consumer.
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

    fn observed(&mut self, client: ClientId, seen: &QueueSeen) {
        match seen {
            QueueSeen::Put { queue, item } if *queue == self.queue => {
                self.put(item);
            }
            QueueSeen::Taking { queue, item } if *queue == self.queue => {
                self.taking.insert(client, Arc::clone(item));
            }
            QueueSeen::Taken { queue, item } if *queue == self.queue => {
                self.taking.remove(&client);
                if !self.due.remove(item) {
                    self.early.insert(Arc::clone(item));
                }
            }
            _ => {}
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
                let saw =
                    format!("{item} was put, is not in {} any more, and nobody has it", self.queue);
                Err(Objection::new(self.name(), saw))
            }
        }
    }
}

impl Monitor for NoLoss {
    fn name(&self) -> &'static str {
        "queue Q1 no loss"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Nothing
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("put")]
    }

    fn concerns(&self, event: &Event) -> bool {
        match event {
            Event::Observed { observation, .. } => matches!(
                observation.read(),
                Some(QueueSeen::Put { .. } | QueueSeen::Taking { .. } | QueueSeen::Taken { .. })
            ),
            _ => matches!(event, Event::Killed { .. }),
        }
    }

    /// An account per item and client, read at rest only.
    fn minds_order(&self, _event: &Event) -> bool {
        false
    }

    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        match event {
            Event::Observed { client, observation, .. } => {
                if let Some(seen) = observation.read() {
                    self.observed(*client, seen);
                }
            }
            Event::Killed { client } => self.excused.extend(self.taking.remove(client)),
            _ => {}
        }
        Ok(())
    }

    fn at_rest(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.check(view)
    }

    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.check(view)
    }
}
