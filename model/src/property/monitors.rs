//! All monitors of a world, shared until one of them moves.

use super::{Class, Monitor, Objection, View};
use crate::event::Event;
use crate::fingerprint::{Fingerprint, StableHasher, Tracked};
use std::hash::Hash;

/// The monitors of a world. Cloning shares each until it is next told something.
#[derive(Clone)]
pub struct Monitors(Vec<Tracked<Slot>>);

#[derive(Clone, Hash)]
struct Slot(Box<dyn Monitor>);

impl Monitors {
    /// These monitors.
    pub fn new(monitors: Vec<Box<dyn Monitor>>) -> Monitors {
        Monitors(monitors.into_iter().map(|monitor| Tracked::new(Slot(monitor))).collect())
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Monitor> {
        self.0.iter().map(|slot| &*slot.0)
    }

    /// Whether none of them was told anything since one set was cloned from the other.
    pub fn is_shared_with(&self, other: &Monitors) -> bool {
        self.0.iter().zip(&other.0).all(|(one, other)| one.is_shared_with(other))
    }

    /// Whether any of them takes notice of this event.
    pub fn concerns(&self, event: &Event) -> bool {
        self.iter().any(|monitor| monitor.concerns(event))
    }

    /// Whether for any of them the order of this event among other clients' events matters.
    pub fn mind(&self, event: &Event) -> bool {
        self.iter().any(|monitor| monitor.minds_order(event))
    }

    /// Tells those whom it concerns.
    ///
    /// # Errors
    /// The first objection.
    pub fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        let mut concerned = self.0.iter_mut().filter(|slot| slot.0.concerns(event));
        concerned.try_for_each(|slot| slot.make_mut().0.event(view, event))
    }

    /// Tells all that nothing can happen any more but that time passes.
    ///
    /// # Errors
    /// The first objection.
    pub fn at_rest(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.0.iter_mut().try_for_each(|slot| slot.make_mut().0.at_rest(view))
    }

    /// Tells all that the run has ended.
    ///
    /// # Errors
    /// The first objection.
    pub fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.0.iter_mut().try_for_each(|slot| slot.make_mut().0.end(view))
    }

    /// Of the states of those that both engines have ([`Class::Event`]).
    pub fn fingerprint(&self) -> Fingerprint {
        let mut whole = StableHasher::new();
        let hashed = self.0.iter().filter(|slot| slot.0.class() == Class::Event);
        hashed.for_each(|slot| slot.fingerprint().hash(&mut whole));
        whole.finished()
    }
}
