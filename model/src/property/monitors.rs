//! All monitors of a world; clones share each monitor until it changes.

use super::{Asked, Failure, Kinds, LooksBack, Measure, Monitor, Objection, View};
use crate::program::exchange::Exchange;
use crate::vocabulary::event::Event;
use crate::vocabulary::fingerprint::{Fingerprint, StableHasher, Tracked};
use crate::vocabulary::id::ClientId;
use crate::vocabulary::words::panic_message;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The monitors of a world. Clones share each monitor until it next receives an event.
#[derive(Clone)]
pub struct Monitors {
    slots: Vec<Tracked<Slot>>,
    /// Indices of the monitors that receive exchanges of client machines. Derived from the monitors.
    hearing: Vec<usize>,
    /// For each monitor, the kinds of events that can concern it. Derived from the monitors.
    kinds: Arc<[Kinds]>,
    telling: Telling,
}

/// Which monitors receive an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Telling {
    /// Each monitor that the event concerns, as the monitor declares.
    #[default]
    Concerned,
    /// All monitors. A monitor whose `concerns` wrongly excludes an event then ends in another state.
    Everyone,
    /// Each monitor that the event concerns, and a copy of every other monitor; the copy must not change.
    Copies,
}

/// The name of the property that a monitor changes or objects only after events that it declares in `concerns`.
pub const OF_ITSELF: &str = "what a property says of itself";

/// Returns the sentence about a monitor that was changed by an event although it declares that the event does not
/// concern it. `seen` is what `Monitors::unconcerned` has found.
pub fn is_concerned(seen: &Objection) -> String {
    let Objection { property, saw, .. } = seen;
    format!("`{property}` depends on an event that its `concerns` excludes: {saw}")
}

#[derive(Clone, Hash)]
struct Slot {
    monitor: Box<dyn Monitor>,
    /// Constant, so it is read from the monitor once.
    looks_back: LooksBack,
    /// Constant, so it is read from the monitor once.
    asked: Asked,
}

impl Slot {
    /// Calls the monitor. A panic counts as an objection, so that properties can be written with assertions.
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
            let failure = Failure::Panicked(panic_message(&*panic).to_string());
            Err(Objection::failed(self.monitor.name(), "the property", failure))
        })
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        let asked = self.ask(self.looks_back, view, |monitor, view| monitor.event(view, event));
        asked.map_err(|objection| objection.with_event(event))
    }

    fn at_rest(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.ask(self.looks_back.max(LooksBack::Tip), view, |monitor, view| monitor.at_rest(view))
    }

    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.ask(self.looks_back.max(LooksBack::Tip), view, |monitor, view| monitor.end(view))
    }
}

impl Monitors {
    /// Returns what the monitors have measured.
    pub fn measured(&self) -> Vec<Measure> {
        let mut all = Vec::new();
        for slot in &self.slots {
            Measure::add_all(&mut all, &slot.monitor.measured());
        }
        all
    }

    /// Returns a set of these monitors.
    ///
    /// # Panics
    /// Panics if a monitor of [`Asked::Everywhere`] receives exchanges, which searches do not report.
    pub fn new(monitors: Vec<Box<dyn Monitor>>) -> Monitors {
        let hears = |monitor: &dyn Monitor| {
            let hears = monitor.hears_exchanges();
            assert!(
                !hears || monitor.asked() == Asked::InSweeps,
                "{} takes the packets of client machines, which searches do not report: declare it as \
                 `Asked::InSweeps`",
                monitor.name()
            );
            hears
        };
        let all = monitors.iter().enumerate();
        let hearing = all.filter(|(_, monitor)| hears(&***monitor)).map(|(at, _)| at).collect();
        let slot = |monitor: Box<dyn Monitor>| {
            let (looks_back, asked) = (monitor.looks_back(), monitor.asked());
            Tracked::new(Slot { monitor, looks_back, asked })
        };
        let kinds = monitors.iter().map(|monitor| monitor.kinds()).collect();
        let slots = monitors.into_iter().map(slot).collect();
        Monitors { slots, hearing, kinds, telling: Telling::default() }
    }

    /// Sets which monitors receive the following events.
    pub fn tell(&mut self, telling: Telling) {
        self.telling = telling;
    }

    /// Returns each monitor's name and the fingerprint of its state. A monitor whose name or hash panics is left out.
    pub fn states(&self) -> Vec<(String, Fingerprint)> {
        let state = |slot: &Tracked<Slot>| (slot.monitor.name().to_string(), slot.fingerprint());
        let asked = |slot| catch_unwind(AssertUnwindSafe(|| state(slot))).ok();
        self.slots.iter().filter_map(asked).collect()
    }

    /// Returns an iterator over the monitors.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Monitor> {
        self.slots.iter().map(|slot| &*slot.monitor)
    }

    /// Returns true if no monitor has received anything since one set was cloned from the other.
    pub fn is_shared_with(&self, other: &Monitors) -> bool {
        self.slots.iter().zip(&other.slots).all(|(one, other)| one.is_shared_with(other))
    }

    /// Returns true if this event concerns at least one monitor.
    pub fn concerns(&self, event: &Event) -> bool {
        self.of_kind(event).any(|slot| slot.monitor.concerns(event))
    }

    /// Returns true if the order of this event among other clients' events matters to at least one monitor.
    pub fn mind(&self, event: &Event) -> bool {
        self.of_kind(event).any(|slot| slot.monitor.minds_order(event))
    }

    /// Returns the monitors that an event of this kind can concern.
    fn of_kind(&self, event: &Event) -> impl Iterator<Item = &Slot> {
        let kind = event.kind();
        let all = self.slots.iter().zip(&*self.kinds);
        all.filter(move |(_, kinds)| kinds.contains(kind)).map(|(slot, _)| &**slot)
    }

    /// Returns how far back the monitors of both engines ([`Asked::Everywhere`]) look. If one looks at the whole
    /// history, states with different histories are different even if all else is equal.
    pub fn look_back(&self) -> LooksBack {
        let asked = self.slots.iter().filter(|slot| slot.monitor.asked() == Asked::Everywhere);
        asked.map(|slot| slot.looks_back).max().unwrap_or(LooksBack::Nothing)
    }

    /// Returns how far back those monitors look that events of these kinds can concern.
    pub fn look_back_at(&self, events: &[Event]) -> LooksBack {
        let slots = events.iter().flat_map(|event| self.of_kind(event));
        slots.map(|slot| slot.looks_back).max().unwrap_or(LooksBack::Nothing)
    }

    /// Passes the event to the monitors that it concerns, each with as much of the history as it looks at.
    ///
    /// # Errors
    /// The first objection.
    pub fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        let kind = event.kind();
        for (slot, kinds) in self.slots.iter_mut().zip(&*self.kinds) {
            if kinds.contains(kind) && slot.monitor.concerns(event) {
                slot.make_mut().event(view, event)?;
            } else if self.telling == Telling::Everyone {
                slot.make_mut().event(view, event).or_else(unless_unreachable)?;
            }
        }
        match self.telling {
            Telling::Copies => self.unconcerned(view, event).map_err(|objection| {
                let saw = format!("after the event \"{event}\": {}", objection.saw);
                let seen = Objection { saw, ..objection };
                let failure = seen.failure.clone();
                Objection { failure, ..Objection::new(OF_ITSELF, is_concerned(&seen)) }
            }),
            Telling::Concerned | Telling::Everyone => Ok(()),
        }
    }

    /// Returns true if at least one monitor receives exchanges of client machines.
    pub(crate) fn hear_exchanges(&self) -> bool {
        !self.hearing.is_empty()
    }

    /// Passes a step's exchanges of client machines to the monitors that receive them.
    ///
    /// # Errors
    /// The first objection.
    pub fn exchanges(
        &mut self,
        view: View<'_>,
        exchanges: &[(ClientId, Exchange)],
    ) -> Result<(), Objection> {
        let Monitors { slots, hearing, .. } = self;
        hearing.iter().try_for_each(|at| {
            let slot = slots[*at].make_mut();
            slot.ask(slot.looks_back, view, |monitor, view| {
                let mut told = exchanges.iter();
                told.try_for_each(|(client, exchange)| monitor.exchange(view, *client, exchange))
            })
        })
    }

    /// Passes the event to a copy of each monitor that it does not concern, as the monitor declares.
    ///
    /// # Errors
    /// The name of a monitor that changes or objects, with its objection.
    pub(crate) fn unconcerned(&self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        for slot in self.slots.iter().filter(|slot| !slot.monitor.concerns(event)) {
            let mut copy = slot.clone();
            let asked = copy.make_mut().event(view, event);
            let name = slot.monitor.name();
            match asked {
                Err(objection) => unless_unreachable(objection)
                    .map_err(|objection| Objection::new(name, objection.saw))?,
                Ok(()) if copy.fingerprint() != slot.fingerprint() => {
                    return Err(Objection::new(name, "its state changes"));
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Calls [`Monitor::at_rest`] of all monitors: no step but the passing of time is left.
    ///
    /// # Errors
    /// The first objection.
    pub fn at_rest(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.slots.iter_mut().try_for_each(|slot| slot.make_mut().at_rest(view))
    }

    /// Calls [`Monitor::end`] of all monitors: the run has ended.
    ///
    /// # Errors
    /// The first objection.
    pub fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.slots.iter_mut().try_for_each(|slot| slot.make_mut().end(view))
    }

    /// Returns the fingerprint of the states of the monitors that both engines have ([`Asked::Everywhere`]).
    pub fn fingerprint(&self) -> Fingerprint {
        let mut whole = StableHasher::new();
        let hashed = self.slots.iter().filter(|slot| slot.monitor.asked() == Asked::Everywhere);
        hashed.for_each(|slot| slot.fingerprint().hash(&mut whole));
        whole.finished()
    }
}

/// Ignores an objection by `unreachable!`: such a monitor only states that it never receives the event.
fn unless_unreachable(objection: Objection) -> Result<(), Objection> {
    match objection.saw.contains("entered unreachable code") {
        true => Ok(()),
        false => Err(objection),
    }
}
