//! Computes what the images of monitors make of the images of events, and compares.

use super::super::ProgramModel;
use super::super::orbits::images;
use super::super::pieces::Witnessed;
use super::super::reductions::Flaw;
use super::super::state::State;
use super::entry::{Entry, entries, keep};
use super::mirror::unrelated;
use super::{Differs, Symmetry};
use crate::every::intern::Number;
use vivarium_model::property::Objection;

impl ProgramModel {
    /// Compares what monitors make of events in the images of a state, as they are and not as they were looked up.
    pub(super) fn compare_heard(
        &self,
        symmetry: &Symmetry,
        states: &[State],
        events: Number,
    ) -> Result<(), Differs> {
        let State { witnesses, shared, .. } = states[0];
        let own = self.witnessed(witnesses, events, shared);
        let events = images(&self.tables.orbits.events, events).ok_or_else(unrelated)?;
        let mut anew = Vec::new();
        for at in symmetry.others() {
            let State { witnesses, shared, .. } = states[at];
            anew.push(self.witness(witnesses, events[at], shared));
        }
        let all: Vec<&Witnessed> = [own].into_iter().chain(&anew).collect();
        self.compare_witnessed(symmetry, &all)
    }

    /// Computes what monitors make of events, and what their images make of the events' images. Returns the number of the
    /// first.
    pub(in super::super) fn witnessed_with_images(
        &self,
        monitors: Number,
        events: Number,
        shared: Number,
    ) -> Number {
        let key = |monitors, events: Number, shared| {
            let looks = self.tables.events.get(events).looks;
            self.witnessed_key(monitors, events.get(), looks, shared)
        };
        let own = self.witness(monitors, events, shared);
        let mut all = vec![(key(monitors, events, shared), Entry::New(own))];
        self.mirror(None, |symmetry| {
            let orbits = &self.tables.orbits;
            let monitors = images(&orbits.witnesses, monitors).ok_or_else(unrelated)?;
            let events = images(&orbits.events, events).ok_or_else(unrelated)?;
            let shared = images(&orbits.shared, shared).ok_or_else(unrelated)?;
            for at in symmetry.others() {
                let (monitors, events, shared) = (monitors[at], events[at], shared[at]);
                let key = key(monitors, events, shared);
                let witness = || self.witness(monitors, events, shared);
                all.push((key, Entry::of(&self.tables.witnessed, key, witness)));
            }
            self.compare_witnessed(symmetry, &entries(&self.tables.witnessed, &all))
        });
        keep(&self.tables.witnessed, all, |_| true)
    }

    /// Computes what monitors make of the passing of time, and what their images make of it. Returns the number of the
    /// first.
    pub(in super::super) fn rested_with_images(&self, monitors: Number, shared: Number) -> Number {
        let own = Entry::New(self.rest_at(monitors, shared));
        let mut all = vec![(self.rested_key(monitors, shared), own)];
        self.mirror(None, |symmetry| {
            let orbits = &self.tables.orbits;
            let monitors = images(&orbits.witnesses, monitors).ok_or_else(unrelated)?;
            let shared = images(&orbits.shared, shared).ok_or_else(unrelated)?;
            for at in symmetry.others() {
                let (monitors, shared) = (monitors[at], shared[at]);
                let key = self.rested_key(monitors, shared);
                let rest = || self.rest_at(monitors, shared);
                all.push((key, Entry::of(&self.tables.witnessed, key, rest)));
            }
            self.compare_witnessed(symmetry, &entries(&self.tables.witnessed, &all))
        });
        keep(&self.tables.witnessed, all, |_| true)
    }

    fn compare_witnessed(&self, symmetry: &Symmetry, all: &[&Witnessed]) -> Result<(), Differs> {
        let own = all[0];
        let ignores = self.has(Flaw::SymmetryOfMonitors);
        for at in symmetry.others().filter(|_| !ignores) {
            let (here, there) = (property(own), property(all[at]));
            if here != there {
                let (here, there) = (here.unwrap_or("none"), there.unwrap_or("none"));
                let how = format!(
                    "properties tell clients apart: after the same events with the clients exchanged, the property that \
                     objects is not {here} but {there}"
                );
                let objection = own.objection.as_ref().or(all[at].objection.as_ref());
                let objection = objection.map(|objection| Box::new(Objection::clone(objection)));
                return Err(Differs { at, how, objection });
            }
            if (own.invisible, own.unheard) != (all[at].invisible, all[at].unheard) {
                let how = "which events concern a property depends on the number of a client";
                return Err(Differs::new(at, how));
            }
        }
        let after: Vec<Number> = all.iter().map(|witnessed| witnessed.to).collect();
        let objects = all.iter().any(|witnessed| witnessed.objection.is_some());
        match objects || symmetry.relate(&self.tables.orbits.witnesses, &after) || ignores {
            false => Err(Differs::new(
                1,
                "a property's state does not follow the clients when they are exchanged: it depends on their numbers, or on \
                 an order of theirs",
            )),
            true => Ok(()),
        }
    }
}

/// Returns the property that objects.
fn property(of: &Witnessed) -> Option<&str> {
    of.objection.as_ref().map(|objection| &*objection.property)
}
