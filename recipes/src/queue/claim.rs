//! How a consumer claims an item (recipe rule 2.4.4).

use super::{Item, ItemName, Mark, Mutant, Queue, QueueSeen, name};
use crate::once::Fate;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::op::{Op, Version};

/// A take that is under way, with what it takes to continue it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Claiming {
    entry: u32,
    path: Arc<str>,
    item: Item,
}

impl Queue {
    /// Continues a take whose future was dropped before it completed.
    pub(super) async fn resume(&mut self) -> Result<Option<Item>, Error> {
        match self.claiming.clone() {
            Some(claiming) => self.settle(claiming).await,
            None => Ok(None),
        }
    }

    /// Takes this item; returns `None` if another consumer has taken it.
    pub(super) async fn claim(&mut self, item: &ItemName<'_>) -> Result<Option<Item>, Error> {
        let name = match self.mutants.has(Mutant::QueueUnpadded) {
            true => item.unpadded(),
            false => item.name().to_string(),
        };
        let path: Arc<str> = name::child(&self.directory, &name).into();
        let znode = &*path;
        let read = |zookeeper: ZooKeeper| async move { zookeeper.get_data(znode).await };
        let data = match self.patient.repeat(read).await {
            Ok((data, _stat)) => data,
            Err(Error::NoNode) => return Ok(None),
            Err(error) => return Err(error),
        };
        self.observe(&data, |queue, item| QueueSeen::Taking { queue, item });
        let item = Item { data: Arc::from(&*data), mark: item.mark };
        if self.mutants.has(Mutant::QueueNoClaim) {
            self.delete(&path).await?;
            return Ok(Some(self.give_out(item)));
        }
        if self.mutants.has(Mutant::NoNodeMeansOther) {
            // It does not ask whether the delete whose reply was lost was its own.
            let is_taken = self.delete(&path).await?;
            return Ok(is_taken.then(|| self.give_out(item)));
        }
        let entry = self.ledger.entry();
        let claiming = Claiming { entry, path, item };
        self.claiming = Some(claiming.clone());
        self.settle(claiming).await
    }

    /// Completes a take, however often it is started: only one consumer's ledger records that it has the item, and
    /// records it once (recipe rule 2.4.4).
    async fn settle(&mut self, claiming: Claiming) -> Result<Option<Item>, Error> {
        let Claiming { entry, path, item } = claiming;
        let delete = [Op::delete(path, Version::Any)];
        let fate = self.ledger.apply(&mut self.patient, entry, &delete).await?;
        self.claiming = None;
        match fate {
            Fate::Applied => Ok(Some(self.give_out(item))),
            Fate::Refused { error: Error::NoNode, .. } => Ok(None),
            Fate::Refused { error, .. } => Err(error),
        }
    }

    fn give_out(&self, item: Item) -> Item {
        self.observe(&item.data, |queue, item| QueueSeen::Taken { queue, item });
        item
    }

    /// Repeats the delete of a znode until there is an answer. Returns true if the answer was that it was deleted.
    async fn delete(&mut self, path: &str) -> Result<bool, Error> {
        let delete =
            |zookeeper: ZooKeeper| async move { zookeeper.delete(path, Version::Any).await };
        match self.patient.repeat(delete).await {
            Ok(()) => Ok(true),
            Err(Error::NoNode) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Sorts items as their marks are sorted as text (`PriorityUnpadded`).
pub(super) fn sort_as_text(items: &mut [ItemName<'_>]) {
    items.sort_by_key(|item| match item.mark {
        Mark::Priority(priority) => priority.to_string(),
        Mark::Plain | Mark::Due(_) => String::new(),
    });
}
