//! Panics that a report tells are not printed as well.
//!
//! A program that panics is run again to look into it, so its panic would be printed several times, between
//! the lines of whatever else is written. Here each is caught where programs run, remembered, and told once.

use std::collections::BTreeMap;
use std::panic::{self, PanicHookInfo};
use std::sync::{Mutex, Once, PoisonError};
use vivarium_model::host::THREAD;
use vivarium_model::property::Failure;
use vivarium_model::words::panic_message;

/// A panic that was not printed.
#[cfg(feature = "explore")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Caught {
    pub(crate) message: String,
    /// `file:line:column`, where it is known.
    pub(crate) place: Option<String>,
}

#[derive(Default)]
struct Memory {
    #[cfg(feature = "explore")]
    last: Option<Caught>,
    /// Where a panic with this message was, for the latest of them.
    places: BTreeMap<String, String>,
}

static MEMORY: Mutex<Memory> = Mutex::new(Memory {
    #[cfg(feature = "explore")]
    last: None,
    places: BTreeMap::new(),
});

/// What a scope of threads panics with when one of its threads has.
const SCOPED: &str = "a scoped thread panicked";

/// More places than this nobody asks for.
const MOST_PLACES: usize = 1_000;

/// Keeps the panics quiet of threads that run programs, and no others.
pub(crate) fn programs() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            match std::thread::current().name() == Some(THREAD) {
                true => remember(info),
                false => before(info),
            }
        }));
    });
}

/// Keeps all panics quiet: of a process that turns each into a sentence.
#[cfg(feature = "cli")]
pub(crate) fn everything() {
    panic::set_hook(Box::new(remember));
}

fn remember(info: &PanicHookInfo<'_>) {
    let message = panic_message(info.payload()).to_string();
    // A scope of threads panics once more when one of its threads has; that says nothing.
    if message == SCOPED {
        return;
    }
    let place = info.location().map(ToString::to_string);
    let mut memory = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(place) = &place {
        if memory.places.len() >= MOST_PLACES {
            memory.places.clear();
        }
        memory.places.insert(message.clone(), place.clone());
    }
    #[cfg(feature = "explore")]
    {
        memory.last = Some(Caught { message, place });
    }
}

/// The latest panic that was not printed, once.
#[cfg(feature = "explore")]
pub(crate) fn last() -> Option<Caught> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner).last.take()
}

/// Where the panic was that a program or a property ended with, if it did.
pub(crate) fn place_of(failure: Option<&Failure>) -> Option<String> {
    let Failure::Panicked(message) = failure? else { return None };
    let memory = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    memory.places.get(message).cloned()
}

/// Something panicked with this message that is neither a program nor a monitor that is told an event: the
/// sentence that says so, with the place.
#[cfg(feature = "explore")]
pub(crate) fn unexpected(message: String) -> String {
    let Caught { message, place } = match last() {
        // The thread's own says more than its scope's.
        Some(caught) if message == SCOPED || message == caught.message => caught,
        _ => Caught { message, place: None },
    };
    let place = place.map_or(String::new(), |place| format!(" (at {place})"));
    format!(
        "Vivarium itself failed, please report it unless the place is your own: {message}{place}"
    )
}
