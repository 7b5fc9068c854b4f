//! A queue value between two calls, for programs that are rounds.

use super::claim::Claiming;
use super::{Mutants, Queue};
use crate::once::{Ledger, Patient};
use std::sync::Arc;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::id::SessionId;

/// All of a [`Queue`] but its handle: what one round of a program hands on to the next.
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
    /// Hands it on.
    pub(crate) fn keep(self) -> Kept {
        let Queue { patient, directory, ledger, claiming, producers, stale, mutants } = self;
        let session = patient.session();
        Kept { session, directory, ledger, claiming, producers, stale, mutants }
    }

    /// What no item of another program, or of the same one before, is called.
    pub(crate) fn item(&self, at: u32) -> String {
        self.ledger.name(at)
    }
}

impl Kept {
    /// Goes on with it, by this handle, which is pinned to no session.
    pub(crate) fn with(self, zookeeper: ZooKeeper) -> Queue {
        let Kept { session, directory, ledger, claiming, producers, stale, mutants } = self;
        let patient = Patient::of(zookeeper, session);
        Queue { patient, directory, ledger, claiming, producers, stale, mutants }
    }
}
