//! The state of a monitor, copied and hashed by derived code, so that no field can be forgotten.

use super::Monitor;
use crate::vocabulary::fingerprint::StableHasher;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// The operations of an engine on a monitor's state. Every [`Monitor`] that is [`Clone`] and [`Hash`] implements this
/// trait, and nothing else can: a monitor derives both, so all its fields take part.
///
/// A search merges two states if all their parts have equal hashes. If the hash of a monitor left out a field, a
/// search would merge states that differ in it and explore only one of them, and could report "held" wrongly. A value
/// that is only counted for reports is marked as [`Unhashed`].
pub trait MonitorState {
    /// Returns a copy with the same state.
    fn clone_box(&self) -> Box<dyn Monitor>;

    /// Writes the state into a fingerprint.
    fn hash_state(&self, hasher: &mut StableHasher);
}

impl<T: Monitor + Clone + Hash + 'static> MonitorState for T {
    fn clone_box(&self) -> Box<dyn Monitor> {
        Box::new(self.clone())
    }

    fn hash_state(&self, hasher: &mut StableHasher) {
        self.hash(hasher);
    }
}

impl Clone for Box<dyn Monitor> {
    fn clone(&self) -> Box<dyn Monitor> {
        (**self).clone_box()
    }
}

impl Hash for dyn Monitor + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut hasher = StableHasher::new();
        self.hash_state(&mut hasher);
        hasher.finished().hash(state);
    }
}

/// A part of a monitor that its hash leaves out.
///
/// It may be used only for what is counted or measured for reports ([`Monitor::measured`]). Its value must never
/// influence to which events the monitor objects, in which words, or what its hashed parts become: only reports may
/// depend on it. Otherwise a search merges different states and can miss a violation. (A monitor of
/// [`Asked::InSweeps`](super::Asked::InSweeps) is in no search, and uses this type for values that have no hash.)
#[derive(Clone, Copy, Debug, Default)]
pub struct Unhashed<T>(pub T);

impl<T> Hash for Unhashed<T> {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

impl<T> Deref for Unhashed<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Unhashed<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Asked, Objection, View};
    use super::*;
    use crate::vocabulary::event::Event;
    use crate::vocabulary::fingerprint::Fingerprint;

    /// Objects to the third event. Its hash is derived.
    #[derive(Clone, Debug, Default, Hash)]
    struct Third {
        seen: u32,
        told: Unhashed<u32>,
    }

    impl Monitor for Third {
        fn name(&self) -> &'static str {
            "third"
        }
        fn asked(&self) -> Asked {
            Asked::Everywhere
        }
        fn event(&mut self, _view: View<'_>, _event: &Event) -> Result<(), Objection> {
            self.seen += 1;
            match self.seen {
                3 => Err(Objection::new(self.name(), "that was the third")),
                _ => Ok(()),
            }
        }
    }

    fn of(monitor: Third) -> Fingerprint {
        let monitor: Box<dyn Monitor> = Box::new(monitor);
        assert_eq!(Fingerprint::of(&monitor.clone()), Fingerprint::of(&monitor));
        Fingerprint::of(&monitor)
    }

    #[test]
    fn a_derived_state_is_told_apart_but_for_what_is_unhashed() {
        let with = |seen, told| of(Third { seen, told: Unhashed(told) });
        assert_ne!(with(1, 0), with(2, 0));
        assert_eq!(with(1, 0), with(1, 7));
    }
}
