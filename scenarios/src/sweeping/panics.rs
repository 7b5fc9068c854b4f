//! Keeps panics that a report describes from being printed too.
//!
//! A program that panics is run again to examine it, so its panic would be printed several times, between the lines of
//! other output. This module catches each panic where programs run, remembers it, and lets the report describe it once.

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
    /// `file:line:column`, if it is known.
    pub(crate) place: Option<String>,
}

#[derive(Default)]
struct Memory {
    #[cfg(feature = "explore")]
    last: Option<Caught>,
    /// The place of the latest panic with each message.
    places: BTreeMap<String, String>,
}

static MEMORY: Mutex<Memory> = Mutex::new(Memory {
    #[cfg(feature = "explore")]
    last: None,
    places: BTreeMap::new(),
});

/// The message of a scope of threads after one of its threads has panicked.
const SCOPED: &str = "a scoped thread panicked";

/// The most places that are remembered.
const MOST_PLACES: usize = 1_000;

/// Suppresses the output of panics on threads that run programs, and on no others.
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

/// Suppresses the output of all panics, in a process that reports each as a sentence.
#[cfg(feature = "cli")]
pub(crate) fn everything() {
    panic::set_hook(Box::new(remember));
}

fn remember(info: &PanicHookInfo<'_>) {
    let message = panic_message(info.payload()).to_string();
    // A scope of threads panics again after one of its threads has; this second panic carries no information.
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

/// Takes the latest panic that was not printed.
#[cfg(feature = "explore")]
pub(crate) fn last() -> Option<Caught> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner).last.take()
}

/// Returns the place of a panic that ended a program or a property, if it is known.
pub(crate) fn place_of(failure: Option<&Failure>) -> Option<String> {
    let Failure::Panicked(message) = failure? else { return None };
    let memory = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    memory.places.get(message).cloned()
}

/// Returns the sentence about a panic outside of programs and monitors, with the place.
#[cfg(feature = "explore")]
pub(crate) fn unexpected(message: String) -> String {
    let Caught { message, place } = match last() {
        // The thread's own panic has a better message than that of its scope.
        Some(caught) if message == SCOPED || message == caught.message => caught,
        _ => Caught { message, place: None },
    };
    let place = place.map_or(String::new(), |place| format!(" (at {place})"));
    format!(
        "Vivarium itself failed, please report it unless the place is your own: {message}{place}"
    )
}
