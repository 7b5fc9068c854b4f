//! Counts of events, by what they are.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use vivarium_model::event::Event;
use vivarium_model::property::{Asked, EventKind, Monitor, Objection, Unhashed, View};

/// A monitor that counts all events of all runs, and never objects.
#[derive(Clone, Hash)]
pub(super) struct Counting(Unhashed<Arc<Sums>>);

#[derive(Default)]
struct Sums {
    /// By the position of the kind in [`EventKind::ALL`].
    kinds: Vec<AtomicU64>,
    /// Of the kinds that have a reason or an error, in words.
    reasons: Mutex<BTreeMap<String, u64>>,
}

impl Counting {
    pub(super) fn new() -> Counting {
        let kinds = EventKind::ALL.iter().map(|_| AtomicU64::new(0)).collect();
        Counting(Unhashed(Arc::new(Sums { kinds, ..Sums::default() })))
    }

    /// Returns how often each kind and each reason happened.
    pub(super) fn counts(&self) -> BTreeMap<String, u64> {
        let reasons = self.0.reasons.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let kinds = EventKind::ALL.iter().zip(&self.0.kinds);
        let kinds = kinds.map(|(kind, count)| (words(*kind), count.load(Ordering::Relaxed)));
        kinds.chain(reasons).collect()
    }
}

/// Returns the name of a kind in lower-case words: `left role`.
fn words(kind: EventKind) -> String {
    let mut words = String::new();
    for letter in format!("{kind:?}").chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

/// Returns the reason or the error of an event that has one.
fn reason(event: &Event) -> Option<String> {
    let reason = match event {
        Event::LeftRole { reason, .. } | Event::Exited { reason, .. } => (*reason).to_string(),
        Event::Synchronising { mode, .. } => format!("{mode:?}").to_uppercase(),
        Event::Replied { result: Err(error), .. } => format!("{error:?}"),
        Event::Session { state, .. } => format!("{state:?}"),
        Event::Notified { event, .. } => format!("{:?}", event.kind),
        _ => return None,
    };
    Some(format!("{}: {reason}", words(event.kind())))
}

impl Monitor for Counting {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn asked(&self) -> Asked {
        Asked::InSweeps
    }

    fn event(&mut self, _: View<'_>, event: &Event) -> Result<(), Objection> {
        self.0.kinds[event.kind() as usize].fetch_add(1, Ordering::Relaxed);
        if let Some(reason) = reason(event) {
            let mut reasons = self.0.reasons.lock().unwrap_or_else(PoisonError::into_inner);
            *reasons.entry(reason).or_default() += 1;
        }
        Ok(())
    }
}
