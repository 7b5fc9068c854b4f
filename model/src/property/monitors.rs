//! All monitors of a world, shared until one of them moves.

use super::{Asked, LooksBack, Measure, Monitor, Objection, View};
use crate::vocabulary::event::Event;
use crate::vocabulary::fingerprint::{Fingerprint, StableHasher, Tracked};
use crate::vocabulary::words::panic_message;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The monitors of a world. Cloning shares each until it is next told something.
#[derive(Clone)]
pub struct Monitors(Vec<Tracked<Slot>>);

#[derive(Clone, Hash)]
struct Slot {
    monitor: Box<dyn Monitor>,
    /// Asked once: it does not change.
    looks_back: LooksBack,
    /// As well.
    asked: Asked,
}

impl Slot {
    /// Asks the monitor; if it panics, that is its objection: a property can be written with assertions.
    fn ask(
        &mut self,
        reach: LooksBack,
        view: View<'_>,
        ask: impl FnOnce(&mut dyn Monitor, View<'_>) -> Result<(), Objection>,
    ) -> Result<(), Objection> {
        let view = view.within(reach).asked(self.asked);
        let monitor = &mut *self.monitor;
        let asked = catch_unwind(AssertUnwindSafe(|| ask(monitor, view)));
        asked.unwrap_or_else(|panic| {
            let saw = format!("the property panicked: {}", panic_message(&*panic));
            Err(Objection::new(self.monitor.name(), saw))
        })
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        self.ask(self.looks_back, view, |monitor, view| monitor.event(view, event))
    }

    fn at_rest(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.ask(self.looks_back.max(LooksBack::Tip), view, |monitor, view| monitor.at_rest(view))
    }

    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.ask(self.looks_back.max(LooksBack::Tip), view, |monitor, view| monitor.end(view))
    }
}

impl Monitors {
    /// What they measured.
    pub fn measured(&self) -> Vec<Measure> {
        let mut all = Vec::new();
        for slot in &self.0 {
            Measure::add_all(&mut all, &slot.monitor.measured());
        }
        all
    }

    /// These monitors.
    pub fn new(monitors: Vec<Box<dyn Monitor>>) -> Monitors {
        let slot = |monitor: Box<dyn Monitor>| {
            let (looks_back, asked) = (monitor.looks_back(), monitor.asked());
            Tracked::new(Slot { monitor, looks_back, asked })
        };
        Monitors(monitors.into_iter().map(slot).collect())
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Monitor> {
        self.0.iter().map(|slot| &*slot.monitor)
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

    /// How far back those look that both engines have ([`Asked::Everywhere`]). Where one looks at all of the
    /// history, states that differ in its past only are not the same.
    pub fn look_back(&self) -> LooksBack {
        let asked = self.0.iter().filter(|slot| slot.monitor.asked() == Asked::Everywhere);
        asked.map(|slot| slot.looks_back).max().unwrap_or(LooksBack::Nothing)
    }

    /// Tells those whom it concerns, each as much of the history as it looks at.
    ///
    /// # Errors
    /// The first objection.
    pub fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        let mut concerned = self.0.iter_mut().filter(|slot| slot.monitor.concerns(event));
        concerned.try_for_each(|slot| slot.make_mut().event(view, event))
    }

    /// Tells a copy of each monitor that this event does not concern, as it says, of the event all the same.
    ///
    /// # Errors
    /// The name of a monitor that moves or objects, with what it said. One that panics with `unreachable!` has
    /// only repeated that it is never told.
    pub fn unconcerned(&self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        for slot in self.0.iter().filter(|slot| !slot.monitor.concerns(event)) {
            let mut copy = slot.clone();
            let asked = copy.make_mut().event(view, event);
            let name = slot.monitor.name();
            match asked {
                Err(objection) if objection.saw.contains("entered unreachable code") => {}
                Err(objection) => return Err(Objection::new(name, objection.saw)),
                Ok(()) if copy.fingerprint() != slot.fingerprint() => {
                    return Err(Objection::new(name, "its state is another one then"));
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Tells all that nothing can happen any more but that time passes.
    ///
    /// # Errors
    /// The first objection.
    pub fn at_rest(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.0.iter_mut().try_for_each(|slot| slot.make_mut().at_rest(view))
    }

    /// Tells all that the run has ended.
    ///
    /// # Errors
    /// The first objection.
    pub fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.0.iter_mut().try_for_each(|slot| slot.make_mut().end(view))
    }

    /// Of the states of those that both engines have ([`Asked::Everywhere`]).
    pub fn fingerprint(&self) -> Fingerprint {
        let mut whole = StableHasher::new();
        let hashed = self.0.iter().filter(|slot| slot.monitor.asked() == Asked::Everywhere);
        hashed.for_each(|slot| slot.fingerprint().hash(&mut whole));
        whole.finished()
    }
}
