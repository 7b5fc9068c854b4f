//! The progress of a search, for an observer.

use super::estimate::Estimate;
use std::time::Duration;

/// The figures of a running search.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The time since the start.
    pub elapsed: Duration,
    /// States generated.
    pub generated: u64,
    /// Distinct states.
    pub distinct: u64,
    /// States that wait to be expanded; depth first: actions that wait to be taken.
    pub frontier: u64,
    /// The greatest depth so far, in world steps.
    pub depth: u32,
    /// How many distinct states the search will have. `None` if it goes depth first or not beyond a depth, or if it has
    /// found a violation.
    pub estimate: Option<Estimate>,
    /// The size of the table of visited states, in bytes.
    pub visited_bytes: u64,
    /// The estimated size of the waiting states, in bytes.
    pub frontier_bytes: u64,
    /// The estimated memory of the model, in bytes.
    pub pieces_bytes: u64,
}

impl Progress {
    /// Returns all memory of the search, in bytes.
    pub fn bytes(&self) -> u64 {
        self.visited_bytes + self.frontier_bytes + self.pieces_bytes
    }
}

/// Receives the progress about five times per second, on the thread that called the search.
pub trait Observer {
    /// Reports the figures so far.
    fn progress(&self, progress: &Progress);

    /// Reports that the search goes on from a checkpoint with this many visited states, the furthest of them at this depth.
    fn resumed(&self, states: u64, depth: u32) {
        let _ = (states, depth);
    }

    /// Reports that the search has not begun, since this process is missing: its number and its address.
    fn waits_for(&self, process: &str) {
        let _ = process;
    }

    /// Reports, in one sentence, that a checkpoint could not be written. The search goes on.
    fn unwritten(&self, sentence: &str) {
        let _ = sentence;
    }
}

impl<F: Fn(&Progress)> Observer for F {
    fn progress(&self, progress: &Progress) {
        self(progress);
    }
}

/// An observer that ignores all reports.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Observer for Silent {
    fn progress(&self, _progress: &Progress) {}
}
