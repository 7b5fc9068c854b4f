//! What monitors make of the events of steps, looked up by the piece of the monitors, the events, and as much of the
//! history as the monitors look at.

use super::ProgramModel;
use super::pieces::{Events, Shared, WitnessPiece, Witnessed};
use super::reductions::Flaw;
use super::tables::WitnessedKey;
use crate::every::intern::Number;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::{LooksBack, Monitors, Objection};
use vivarium_model::time::Time;
use vivarium_model::witnesses::Witnesses;

impl ProgramModel {
    /// Returns the number of a list of events; `None` for an empty list.
    pub(super) fn events(&self, events: &[Event]) -> Option<Number> {
        if events.is_empty() {
            return None;
        }
        Some(self.tables.events.number(Fingerprint::of(&events).0, || {
            let looks = self.beginning_monitors.look_back_at(events);
            Events { events: events.into(), looks }
        }))
    }

    /// Returns what the monitors make of these events, when the shared piece before the step is this one.
    pub(super) fn witnessed(&self, monitors: Number, events: Number, shared: Number) -> &Witnessed {
        let looks = self.tables.events.get(events).looks;
        let key = self.witnessed_key(monitors, events.get(), looks, shared);
        let make = || self.witnessed_with_images(monitors, events, shared);
        self.tables.witnessed.get(self.tables.witnessed.find(key).unwrap_or_else(make))
    }

    /// Returns what the monitors make of the fact that nothing but the passing of time is left.
    pub(super) fn rested(&self, monitors: Number, shared: Number) -> &Witnessed {
        let key = self.rested_key(monitors, shared);
        let make = || self.rested_with_images(monitors, shared);
        self.tables.witnessed.get(self.tables.witnessed.find(key).unwrap_or_else(make))
    }

    pub(super) fn rested_key(&self, monitors: Number, shared: Number) -> WitnessedKey {
        self.witnessed_key(monitors, 0, LooksBack::Tip.max(self.looks_back), shared)
    }

    /// Passes to the monitors that nothing but the passing of time is left.
    pub(super) fn rest_at(&self, monitors: Number, shared: Number) -> Witnessed {
        let mut witnesses = self.witnesses_at(monitors, shared);
        let objection = witnesses.at_rest(Time::ZERO).err().map(Arc::new);
        let to = self.monitors(witnesses.monitors());
        Witnessed { to, invisible: false, unheard: false, objection }
    }

    pub(super) fn witnessed_key(
        &self,
        monitors: Number,
        events: u32,
        looks: LooksBack,
        shared: Number,
    ) -> WitnessedKey {
        let seen = match looks {
            LooksBack::Tip if self.has(Flaw::MonitorsWithoutTip) => 0,
            LooksBack::Nothing => 0,
            LooksBack::Tip => self.tables.shared.get(shared).tip.0,
            LooksBack::Whole => u128::from(shared.get()),
        };
        let word = |word: u32| (seen >> (32 * word)) as u32;
        [monitors.get(), events, word(0), word(1), word(2), word(3)]
    }

    fn witnesses_at(&self, monitors: Number, shared: Number) -> Witnesses {
        let (piece, shared): (&WitnessPiece, &Shared) =
            (self.tables.witnesses.get(monitors), self.tables.shared.get(shared));
        Witnesses::new(Arc::clone(&shared.history), piece.monitors.clone())
    }

    /// Passes events to the monitors.
    pub(super) fn witness(&self, monitors: Number, events: Number, shared: Number) -> Witnessed {
        let before = self.witnesses_at(monitors, shared);
        let events = &self.tables.events.get(events).events;
        let mut after = before.clone();
        let objection = after.witness(Time::ZERO, &mut events.to_vec());
        let checked = self.check_replies(before.monitors(), events).and(objection);
        let checked = checked.and_then(|()| {
            let key = Fingerprint::of(&(before.monitors().fingerprint(), events)).0;
            match self.audit.takes_step(key) {
                true => self.audit.step(&before, events, after.monitors()),
                false => Ok(()),
            }
        });
        Witnessed {
            to: self.monitors(after.monitors()),
            invisible: self.is_invisible(before.monitors(), events),
            unheard: !events.iter().any(|event| before.monitors().concerns(event)),
            objection: checked.err().map(Arc::new),
        }
    }

    /// Returns the number of the piece of these monitors.
    pub(super) fn monitors(&self, monitors: &Monitors) -> Number {
        let fingerprint = monitors.fingerprint();
        let entry = || WitnessPiece { monitors: monitors.clone(), fingerprint };
        self.tables.witnesses.number(fingerprint.0, entry)
    }

    /// Returns true if no monitor minds when these events happen.
    fn is_invisible(&self, monitors: &Monitors, events: &[Event]) -> bool {
        let ignored =
            |event: &&Event| self.has(Flaw::SentIsInvisible) && matches!(event, Event::Sent { .. });
        self.has(Flaw::VisibleIsPrivate)
            || !events.iter().filter(|event| !ignored(event)).any(|event| monitors.mind(event))
    }

    /// Passes events to the monitors again. Returns true if the result differs from what was looked up.
    pub(super) fn is_witnessed_otherwise(
        &self,
        monitors: Number,
        events: Number,
        shared: Number,
    ) -> bool {
        let known = self.witnessed(monitors, events, shared);
        let anew = self.witness(monitors, events, shared);
        let saw = |of: &Option<Arc<Objection>>| of.as_ref().map(|objection| objection.saw.clone());
        let about = |of: &Witnessed| (of.to, of.invisible, of.unheard, saw(&of.objection));
        about(known) != about(&anew)
    }
}
