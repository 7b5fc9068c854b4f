//! Turns panics into messages: a failed assertion in Vivarium becomes a sentence and exit code 3.
//!
//! Panics of *programs* are violations, which the hosts catch and report. The hook below keeps both kinds from printing
//! over the progress bar.

use crate::sweeping::panics;
use std::panic::{self, AssertUnwindSafe};

/// Suppresses the output of panics and remembers the latest one.
pub(super) fn install() {
    panics::everything();
}

/// Runs a function, and returns a panic as a sentence.
pub(super) fn guarded<T>(what: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(what)).map_err(|_payload| {
        let caught = panics::last().unwrap_or_default();
        let place = caught.place.map(|place| format!(" ({place})")).unwrap_or_default();
        format!("Vivarium itself failed, please report it: {}{place}", caught.message)
    })
}

/// Returns the place of the latest panic as ` (file:line:column)`; empty if there was none.
pub(super) fn last_place() -> String {
    let place = panics::last().and_then(|caught| caught.place);
    place.map(|place| format!(" ({place})")).unwrap_or_default()
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
