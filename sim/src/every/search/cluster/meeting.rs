//! A place where the workers of one process wait for each other.

use super::connect::{Gone, Losses};
use super::lock;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How often a waiting worker looks whether the search has ended.
const NAP: Duration = Duration::from_millis(50);

/// A barrier that can be left if a process was lost.
pub(super) struct Meeting {
    workers: usize,
    /// Those that are here, and the number of times that all were.
    here: Mutex<(usize, u64)>,
    all: Condvar,
}

impl Meeting {
    pub(super) fn new(workers: usize) -> Meeting {
        Meeting { workers, here: Mutex::default(), all: Condvar::new() }
    }

    /// Waits until all workers are here. The last one does `work` before any of them goes on.
    pub(super) fn meet(&self, losses: &Losses, work: impl FnOnce()) -> Result<(), Gone> {
        let mut here = lock(&self.here);
        here.0 += 1;
        if here.0 == self.workers {
            work();
            *here = (0, here.1 + 1);
            self.all.notify_all();
            return Ok(());
        }
        let before = here.1;
        while here.1 == before {
            losses.check()?;
            here = self.all.wait_timeout(here, NAP).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }
}
