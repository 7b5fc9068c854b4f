//! How far a search has come, for whoever waits for it.

use std::time::Duration;

/// A search's figures while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Since the start.
    pub elapsed: Duration,
    /// States generated.
    pub generated: u64,
    /// Distinct states.
    pub distinct: u64,
    /// States that wait to be expanded; depth first: actions that wait to be taken.
    pub frontier: u64,
    /// The greatest depth so far, in world steps.
    pub depth: u32,
    /// The table of visited states, in bytes.
    pub visited_bytes: u64,
    /// The states held besides, in bytes, estimated.
    pub frontier_bytes: u64,
    /// What the model holds for them, in bytes, estimated.
    pub pieces_bytes: u64,
}

impl Progress {
    /// All that the search holds in memory, in bytes.
    pub fn bytes(&self) -> u64 {
        self.visited_bytes + self.frontier_bytes + self.pieces_bytes
    }
}

/// Told of the progress about five times in a second, in the thread that called the search.
pub trait Observer {
    /// So far, this much.
    fn progress(&self, progress: &Progress);
}

impl<F: Fn(&Progress)> Observer for F {
    fn progress(&self, progress: &Progress) {
        self(progress);
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Observer for Silent {
    fn progress(&self, _progress: &Progress) {}
}
