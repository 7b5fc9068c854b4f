//! Detects programs that are woken from outside.
//!
//! A replayed process exists only for a moment, so another program that writes to its channel would seldom find it.
//! Hence the last process of each client is kept alive. Of earlier processes, the parts that can still be woken are
//! kept, if something outside holds a waker. After each run, all of them are checked.

use super::{Trie, lock};
use std::collections::VecDeque;
use vivarium_model::handle::Process;
use vivarium_model::handle::process::Remains;
use vivarium_model::host::woken_from_outside;
use vivarium_model::id::ClientId;

/// The number of dead processes per client that are watched: the latest ones.
const REMAINS: usize = 8;

#[derive(Default)]
pub(super) struct ForeignWakers {
    living: Option<Process>,
    remains: VecDeque<Remains>,
}

impl ForeignWakers {
    fn is_foreign(&self) -> bool {
        self.living.as_ref().is_some_and(Process::is_foreign)
            || self.remains.iter().any(Remains::is_foreign)
    }

    fn remember(&mut self, remains: Remains) {
        self.remains.retain(|remains| remains.is_held() || remains.is_foreign());
        if remains.is_held() || remains.is_foreign() {
            self.remains.truncate(REMAINS - 1);
            self.remains.push_front(remains);
        }
    }
}

impl Trie {
    /// Keeps a process that has just run instead of its predecessor, and checks all processes.
    pub(super) fn keep(&self, client: ClientId, process: Process) {
        let wakers = &self.lane(client).wakers;
        let before = lock(wakers).living.replace(process);
        // The destructors run without the lock.
        if let Some(remains) = before.map(Process::bury) {
            lock(wakers).remember(remains);
        }
        self.ask_wakers();
    }

    fn ask_wakers(&self) {
        for (index, lane) in self.lanes.iter().enumerate() {
            if lock(&lane.wakers).is_foreign() {
                let _ = self.dependence.set(woken_from_outside(ClientId::at(index)));
            }
        }
    }
}
