//! A queue value between two calls, for programs that are rounds.

use super::{AckQueue, Mutants};
use crate::queue;
use std::sync::Arc;
use vivarium_model::handle::ZooKeeper;

/// All of an [`AckQueue`] but its handle: what one round of a program hands on to the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kept {
    queue: queue::Kept,
    claims: Arc<str>,
    mutants: Mutants,
}

impl AckQueue {
    /// All of it but the handle, for a program that is rounds.
    pub(crate) fn keep(self) -> Kept {
        let AckQueue { queue, claims, mutants } = self;
        Kept { queue: queue.keep(), claims, mutants }
    }

    /// What no item or claim of another program, or of the same one before, is called.
    pub(crate) fn item(&self, at: u32) -> String {
        self.queue.item(at)
    }
}

impl Kept {
    /// Goes on with it, by this handle, which is pinned to no session.
    pub(crate) fn with(self, zookeeper: ZooKeeper) -> AckQueue {
        let Kept { queue, claims, mutants } = self;
        AckQueue { queue: queue.with(zookeeper), claims, mutants }
    }
}
