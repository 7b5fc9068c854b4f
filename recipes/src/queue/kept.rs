//! State of a queue between two calls, for programs that are written as rounds.

use super::claim::Claiming;
use super::{Mutants, Queue};
use crate::once::{Ledger, Patient};
use std::sync::Arc;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::id::SessionId;

/// All of a [`Queue`] except its handle: what one round of a program passes to the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kept {
    session: SessionId,
    directory: Arc<str>,
    ledger: Ledger,
    claiming: Option<Claiming>,
    producers: Option<usize>,
    stale: Vec<String>,
    mutants: Mutants,
}

impl Queue {
    /// Takes the state out of the queue.
    pub(crate) fn keep(self) -> Kept {
        let Queue { patient, directory, ledger, claiming, producers, stale, mutants } = self;
        let session = patient.session();
        Kept { session, directory, ledger, claiming, producers, stale, mutants }
    }

    /// Returns an item name that no other program, and no earlier call of this one, uses.
    pub(crate) fn item(&self, at: u32) -> String {
        self.ledger.name(at)
    }
}

impl Kept {
    /// Rebuilds the queue with this handle, which is not pinned to a session.
    pub(crate) fn with(self, zookeeper: ZooKeeper) -> Queue {
        let Kept { session, directory, ledger, claiming, producers, stale, mutants } = self;
        let patient = Patient::of(zookeeper, session);
        Queue { patient, directory, ledger, claiming, producers, stale, mutants }
    }
}
