//! Where the programs of a walk await something.

use crate::awaits::places::Places;
use crate::awaits::{Awaited, Fate, Witness};
use std::backtrace::Backtrace;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use vivarium_model::id::ClientId;

/// A place in a program that awaits something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Await {
    /// The client machine of the program.
    pub client: ClientId,
    /// The source lines of the awaits, such as `src/worker.rs:41`: the innermost one first. Empty if the program was
    /// compiled without line tables.
    pub places: Vec<String>,
}

/// The stack traces of all awaits that have not ended.
#[derive(Default)]
pub(super) struct Traces(Mutex<BTreeMap<(ClientId, Awaited), Backtrace>>);

impl Traces {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(ClientId, Awaited), Backtrace>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the awaits that have not ended, each place of a client once.
    pub(super) fn awaits(&self) -> Vec<Await> {
        let mut awaits: Vec<Await> = Vec::new();
        for ((client, _), trace) in self.lock().iter() {
            let found = Await { client: *client, places: places(&trace.to_string()) };
            if !awaits.contains(&found) {
                awaits.push(found);
            }
        }
        awaits
    }
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traces").finish_non_exhaustive()
    }
}

impl Witness for Traces {
    fn starts(&self, client: ClientId) {
        self.lock().retain(|(of, _), _| *of != client);
    }

    fn awaits(&self, client: ClientId, awaited: Awaited) {
        self.lock().insert((client, awaited), Backtrace::force_capture());
    }

    fn ended(&self, client: ClientId, awaited: Awaited, _: Fate) {
        self.lock().remove(&(client, awaited));
    }

    fn killed(&self, _: ClientId) {}
}

/// Returns the lines of a program's source in a printed stack trace, the innermost one first.
fn places(trace: &str) -> Vec<String> {
    let mut places = Places::default();
    let mut function = "";
    for line in trace.lines() {
        let line = line.trim();
        let ended = match line.strip_prefix("at ") {
            Some(at) => {
                let place = at.rsplit_once(':').map_or(at, |(place, _column)| place);
                places.frame(function, Some(place))
            }
            None => {
                function = line;
                places.frame(function, None)
            }
        };
        if ended.is_break() {
            break;
        }
    }
    places.into_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_shows_the_lines_of_the_program_and_nothing_around_it() {
        let trace = "   0: vivarium_sim::awaits::tracing::Tracing::awaits\n             \
                     at ./sim/src/awaits/tracing.rs:80:9\n   \
                     1: vivarium_model::program::handle::ZooKeeper::create::{{closure}}\n             \
                     at ./model/src/program/handle/request.rs:50:9\n   \
                     2: shop::reserve::{{closure}}\n             at ./src/shop.rs:12:30\n   \
                     3: core::future::poll\n             at /rustc/0123/library/core/src/future.rs:1:1\n   \
                     4: shop::main::{{closure}}\n             at ./src/shop.rs:40:9\n   \
                     5: vivarium_model::program::handle::executor::Executor::run\n   \
                     6: vivarium::cli::walk\n             at ./scenarios/src/cli/walk.rs:3:1\n";
        assert_eq!(places(trace), ["src/shop.rs:12", "src/shop.rs:40"]);
    }
}
