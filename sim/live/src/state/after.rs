//! What is woken and dropped once the lock on a client's state is free.

use std::task::Waker;
use vivarium_model::handle::calls::Discarded;

/// Wakers to wake, and values to drop, once the lock is free: both can run code of the program's.
#[derive(Default)]
pub(crate) struct After {
    wakers: Vec<Waker>,
    replaced: Vec<Waker>,
    discarded: Vec<Discarded>,
}

impl After {
    pub(crate) fn wake(&mut self, waker: Option<Waker>) {
        self.wakers.extend(waker);
    }

    /// Drops a waker.
    pub(crate) fn replace(&mut self, waker: Option<Waker>) {
        self.replaced.extend(waker);
    }

    /// Drops what a call has held.
    pub(crate) fn discard(&mut self, discarded: Discarded) {
        self.discarded.push(discarded);
    }

    /// Wakes and drops everything.
    pub(crate) fn finish(self) {
        self.wakers.into_iter().for_each(Waker::wake);
    }
}
