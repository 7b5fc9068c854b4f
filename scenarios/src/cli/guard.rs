//! No panic reaches a user: a failed assertion in Vivarium becomes a sentence and exit code 3.
//!
//! Panics of *programs* are violations, which the hosts catch and report; the hook below keeps both
//! from scribbling over the progress bar.

use crate::engine::panic_message;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

/// The latest panic: its message, and its place as ` (file:line)`.
static LAST: Mutex<Option<(String, String)>> = Mutex::new(None);

/// Keeps panics quiet and remembers the latest one.
pub(super) fn install() {
    panic::set_hook(Box::new(|info| {
        let message = panic_message(info.payload()).to_string();
        let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line()));
        // A scope of threads panics once more when one of its threads has; that says nothing.
        if message != "a scoped thread panicked" {
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) =
                Some((message, place.unwrap_or_default()));
        }
    }));
}

/// Runs something; a panic becomes a sentence.
pub(super) fn guarded<T>(what: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(what)).map_err(|_payload| {
        let (message, place) = last().unwrap_or_default();
        format!("Vivarium itself failed, please report it: {message}{place}")
    })
}

/// Where the latest panic was, as ` (file:line)`; empty if there was none.
pub(super) fn last_place() -> String {
    last().map(|(_message, place)| place).unwrap_or_default()
}

fn last() -> Option<(String, String)> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).take()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_sentence_also_from_another_thread() {
        let before = panic::take_hook();
        install();
        let here: Result<(), String> = guarded(|| panic!("no quorum of {}", 3));
        let there = guarded(|| {
            std::thread::scope(|scope| {
                scope.spawn(|| panic!("lost a packet"));
            });
        });
        panic::set_hook(before);
        let sentence = here.expect_err("it panicked");
        assert!(sentence.starts_with("Vivarium itself failed, please report it: no quorum of 3 ("));
        assert!(there.expect_err("it panicked").contains("lost a packet ("));
    }
}
