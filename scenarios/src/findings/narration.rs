//! Reports what a run of real servers does and observes while it runs, and its outcome.

use std::fmt;
use std::time::Instant;

/// Reports each event as a line with the seconds since the run began.
pub struct Narration<'a> {
    begun: Instant,
    tell: &'a mut dyn FnMut(&str),
}

impl fmt::Debug for Narration<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Narration").field("begun", &self.begun).finish_non_exhaustive()
    }
}

impl<'a> Narration<'a> {
    /// Begins a report now; `tell` receives each line.
    pub fn new(tell: &'a mut dyn FnMut(&str)) -> Narration<'a> {
        Narration { begun: Instant::now(), tell }
    }

    pub(super) fn say(&mut self, line: impl AsRef<str>) {
        let seconds = self.begun.elapsed().as_secs_f64();
        (self.tell)(&format!("{seconds:5.1} s  {}", line.as_ref()));
    }
}

/// The outcome of a run of real servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The defect showed: what was lost.
    Shown(String),
    /// The defect did not show: what was kept.
    Kept(String),
    /// The run could not be completed: why.
    Inconclusive(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Shown(what) => write!(f, "SHOWN: {what}"),
            Outcome::Kept(what) => write!(f, "KEPT: {what}"),
            Outcome::Inconclusive(why) => write!(f, "INCONCLUSIVE: {why}"),
        }
    }
}
