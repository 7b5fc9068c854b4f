//! The lines of a program's source in a stack trace.

use std::ops::ControlFlow;

/// Parts of the paths of source files that are no program's: the standard library, other packages, and what is between
/// a program and its transport.
const NOT_OF_PROGRAMS: [&str; 7] = [
    "/rustc/",
    "/rustlib/src/",
    "/.cargo/",
    "model/src/program/",
    "sim/src/awaits/",
    "sim/src/covered/",
    "sim/src/walked/awaits.rs",
];

/// Collects the lines of a program's source, the innermost one first.
#[derive(Default)]
pub(crate) struct Places(Vec<String>);

impl Places {
    /// Takes the next frame: its function, and `file:line` if known. Breaks at the executor, which polls the program: what
    /// is outside of it is no program's.
    pub(crate) fn frame(&mut self, function: &str, place: Option<&str>) -> ControlFlow<()> {
        if function.contains("handle::executor::") || function.contains("handle::run_queue::") {
            return ControlFlow::Break(());
        }
        let Some(place) = place else { return ControlFlow::Continue(()) };
        if NOT_OF_PROGRAMS.iter().any(|part| place.contains(part)) {
            return ControlFlow::Continue(());
        }
        let place = place.trim_start_matches("./").to_owned();
        if self.0.last() != Some(&place) {
            self.0.push(place);
        }
        ControlFlow::Continue(())
    }

    pub(crate) fn into_vec(self) -> Vec<String> {
        self.0
    }
}
