//! A queue value between two calls, for programs written as rounds.

use super::{AckQueue, Mutants};
use crate::queue;
use std::sync::Arc;
use vivarium_model::handle::ZooKeeper;

/// All of an [`AckQueue`] except its handle: the state that one round of a program hands on to the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kept {
    queue: queue::Kept,
    claims: Arc<str>,
    mutants: Mutants,
}

impl AckQueue {
    /// Returns the queue without its handle, for a program written as rounds.
    pub(crate) fn keep(self) -> Kept {
        let AckQueue { queue, claims, mutants } = self;
        Kept { queue: queue.keep(), claims, mutants }
    }

    /// Returns a name that is unique among the items and claims of all programs, earlier runs of the same program
    /// included.
    pub(crate) fn item(&self, at: u32) -> String {
        self.queue.item(at)
    }
}

impl Kept {
    /// Continues with this handle, which is not pinned to a session.
    pub(crate) fn with(self, zookeeper: ZooKeeper) -> AckQueue {
        let Kept { queue, claims, mutants } = self;
        AckQueue { queue: queue.with(zookeeper), claims, mutants }
    }
}
