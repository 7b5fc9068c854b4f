//! No panic reaches a user: a failed assertion in Vivarium becomes a sentence and exit code 3.
//!
//! Panics of *programs* are violations, which the hosts catch and report; the hook below keeps both
//! from scribbling over the progress bar.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

/// The first panic that has not been told yet, as `message (file:line)`.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Keeps panics quiet and remembers the latest one.
pub(super) fn install() {
    panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let message = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("a panic without a message");
        let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line()));
        let text = format!("{message}{}", place.unwrap_or_default());
        // A scope of threads panics once more when one of its threads has; that says nothing.
        if message != "a scoped thread panicked" {
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        }
    }));
}

/// Runs something; a panic becomes a sentence.
pub(super) fn guarded<T>(what: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(what)).map_err(|_payload| {
        let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).take();
        let told = last.unwrap_or_else(|| "an unknown panic".to_string());
        format!("Vivarium itself failed, please report it: {told}")
    })
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
