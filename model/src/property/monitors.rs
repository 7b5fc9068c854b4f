//! All monitors of a world, shared until one of them moves.

use super::{Asked, Failure, Kinds, LooksBack, Measure, Monitor, Objection, View};
use crate::program::exchange::Exchange;
use crate::vocabulary::event::Event;
use crate::vocabulary::fingerprint::{Fingerprint, StableHasher, Tracked};
use crate::vocabulary::id::ClientId;
use crate::vocabulary::words::panic_message;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The monitors of a world. Cloning shares each until it is next told something.
#[derive(Clone)]
pub struct Monitors {
    slots: Vec<Tracked<Slot>>,
    /// Where those are that hear what passes client machines. Follows from them.
    hearing: Vec<usize>,
    /// The kinds of events that can concern each of them. Follows from them.
    kinds: Arc<[Kinds]>,
    telling: Telling,
}

/// Which monitors receive an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Telling {
    /// Each monitor that it concerns, as the monitor says.
    #[default]
    Concerned,
    /// All monitors. A monitor whose `concerns` leaves out an event that changes it has another state at the end.
    Everyone,
    /// Each monitor that it concerns, and a copy of every other monitor; the copy must not change.
    Copies,
}

/// The property that a monitor changes and objects only as its `concerns` and its events say.
pub const OF_ITSELF: &str = "what a property says of itself";

/// The sentence about a monitor that an event moves of which it says that it does not concern it: what
/// [`Monitors::unconcerned`] has seen.
pub fn is_concerned(seen: &Objection) -> String {
    let Objection { property, saw, .. } = seen;
    format!(
        "`{property}` says of an event that it does not concern it, and it does (`concerns`): {saw}"
    )
}

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
            let failure = Failure::Panicked(panic_message(&*panic).to_string());
            Err(Objection::failed(self.monitor.name(), "the property", failure))
        })
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        let asked = self.ask(self.looks_back, view, |monitor, view| monitor.event(view, event));
        asked.map_err(|objection| objection.to_event(event))
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
        for slot in &self.slots {
            Measure::add_all(&mut all, &slot.monitor.measured());
        }
        all
    }

    /// These monitors.
    ///
    /// # Panics
    /// If one of [`Asked::Everywhere`] wants to hear what searches do not tell.
    pub fn new(monitors: Vec<Box<dyn Monitor>>) -> Monitors {
        let hears = |monitor: &dyn Monitor| {
            let hears = monitor.hears_exchanges();
            assert!(
                !hears || monitor.asked() == Asked::InSweeps,
                "{} hears what passes client machines, which searches do not tell: it must be of `Asked::InSweeps`",
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

    /// Chooses which monitors receive the events that follow.
    pub fn tell(&mut self, telling: Telling) {
        self.telling = telling;
    }

    /// The name of each monitor and the fingerprint of its state. A monitor whose name or hash panics is left out.
    pub fn states(&self) -> Vec<(String, Fingerprint)> {
        let state = |slot: &Tracked<Slot>| (slot.monitor.name().to_string(), slot.fingerprint());
        let asked = |slot| catch_unwind(AssertUnwindSafe(|| state(slot))).ok();
        self.slots.iter().filter_map(asked).collect()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Monitor> {
        self.slots.iter().map(|slot| &*slot.monitor)
    }

    /// Whether none of them was told anything since one set was cloned from the other.
    pub fn is_shared_with(&self, other: &Monitors) -> bool {
        self.slots.iter().zip(&other.slots).all(|(one, other)| one.is_shared_with(other))
    }

    /// Whether any of them takes notice of this event.
    pub fn concerns(&self, event: &Event) -> bool {
        self.of_kind(event).any(|slot| slot.monitor.concerns(event))
    }

    /// Whether for any of them the order of this event among other clients' events matters.
    pub fn mind(&self, event: &Event) -> bool {
        self.of_kind(event).any(|slot| slot.monitor.minds_order(event))
    }

    /// Those that an event of this kind can concern.
    fn of_kind(&self, event: &Event) -> impl Iterator<Item = &Slot> {
        let kind = event.kind();
        let all = self.slots.iter().zip(&*self.kinds);
        all.filter(move |(_, kinds)| kinds.contains(kind)).map(|(slot, _)| &**slot)
    }

    /// How far back those look that both engines have ([`Asked::Everywhere`]). Where one looks at all of the
    /// history, states that differ in its past only are not the same.
    pub fn look_back(&self) -> LooksBack {
        let asked = self.slots.iter().filter(|slot| slot.monitor.asked() == Asked::Everywhere);
        asked.map(|slot| slot.looks_back).max().unwrap_or(LooksBack::Nothing)
    }

    /// Tells those whom it concerns, each as much of the history as it looks at.
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
                let saw = format!("told that {event}: {}", objection.saw);
                let seen = Objection { saw, ..objection };
                let failure = seen.failure.clone();
                Objection { failure, ..Objection::new(OF_ITSELF, is_concerned(&seen)) }
            }),
            Telling::Concerned | Telling::Everyone => Ok(()),
        }
    }

    /// Whether any of them hears what passes client machines.
    pub fn hear_exchanges(&self) -> bool {
        !self.hearing.is_empty()
    }

    /// Tells those that hear it what passed client machines in a step.
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

    /// Tells a copy of each monitor that this event does not concern, as it says, of the event all the same.
    ///
    /// # Errors
    /// The name of a monitor that moves or objects, with what it said.
    pub fn unconcerned(&self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        for slot in self.slots.iter().filter(|slot| !slot.monitor.concerns(event)) {
            let mut copy = slot.clone();
            let asked = copy.make_mut().event(view, event);
            let name = slot.monitor.name();
            match asked {
                Err(objection) => unless_unreachable(objection)
                    .map_err(|objection| Objection::new(name, objection.saw))?,
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
        self.slots.iter_mut().try_for_each(|slot| slot.make_mut().at_rest(view))
    }

    /// Tells all that the run has ended.
    ///
    /// # Errors
    /// The first objection.
    pub fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.slots.iter_mut().try_for_each(|slot| slot.make_mut().end(view))
    }

    /// Of the states of those that both engines have ([`Asked::Everywhere`]).
    pub fn fingerprint(&self) -> Fingerprint {
        let mut whole = StableHasher::new();
        let hashed = self.slots.iter().filter(|slot| slot.monitor.asked() == Asked::Everywhere);
        hashed.for_each(|slot| slot.fingerprint().hash(&mut whole));
        whole.finished()
    }
}

/// A monitor that panics with `unreachable!` has only repeated that it is never told.
fn unless_unreachable(objection: Objection) -> Result<(), Objection> {
    match objection.saw.contains("entered unreachable code") {
        true => Ok(()),
        false => Err(objection),
    }
}
