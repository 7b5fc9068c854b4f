//! A walk: a run whose every step a reader chooses.
//!
//! An [`Origin`] is what a run begins with. A [`Walk`] keeps all ways that were taken from it, as a tree of places: the
//! root is the beginning of the run, and every other place is one step after its parent. A place never changes, so a
//! reader can return to any place, and several readers can walk at the same time.
//!
//! [`Origin::look`] shows the position at the end of a way: the film of its steps, and the steps that are possible next.
//! It takes the steps again from the beginning, in a world without monitors. The replay of the same way as a case says
//! which property is violated.

mod awaits;
mod offers;
mod origin;

pub use awaits::Await;
pub use offers::{Choice, Kind};
pub use origin::{Origin, Position};

use vivarium_model::step::Step;
use vivarium_model::time::Time;

/// The number of a place in its walk. The beginning of the run is place 0.
pub type PlaceId = usize;

/// A place: the parent, and the step that leads here from there. `None` for the beginning of the run.
#[derive(Clone, Copy, Debug)]
struct Place {
    from: Option<(PlaceId, (Time, Step))>,
    steps: usize,
}

/// All ways that were taken from one origin.
#[derive(Debug)]
pub struct Walk {
    origin: Origin,
    places: Vec<Place>,
    /// The places of the recorded way, without the beginning.
    recorded: Vec<PlaceId>,
}

impl Walk {
    /// Begins a walk at an origin. `recorded` are the steps of a case, which become the first places.
    pub fn new(origin: Origin, recorded: &[(Time, Step)]) -> Walk {
        let places = vec![Place { from: None, steps: 0 }];
        let mut walk = Walk { origin, places, recorded: Vec::new() };
        let mut at = 0;
        for step in recorded {
            at = walk.add(at, *step);
            walk.recorded.push(at);
        }
        walk
    }

    /// Returns the origin.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns true if there is such a place.
    pub fn has(&self, place: PlaceId) -> bool {
        place < self.places.len()
    }

    /// Returns the place before this one. `None` for the beginning of the run.
    pub fn back(&self, place: PlaceId) -> Option<PlaceId> {
        self.places[place].from.map(|(parent, _)| parent)
    }

    /// Returns the number of steps from the beginning to a place.
    pub fn steps(&self, place: PlaceId) -> usize {
        self.places[place].steps
    }

    /// Returns the steps from the beginning to a place.
    pub fn way(&self, place: PlaceId) -> Vec<(Time, Step)> {
        let mut way = Vec::with_capacity(self.steps(place));
        let mut at = place;
        while let Some((parent, step)) = self.places[at].from {
            way.push(step);
            at = parent;
        }
        way.reverse();
        way
    }

    /// Returns the places of the recorded way, from the one after its first step.
    pub fn recorded(&self) -> &[PlaceId] {
        &self.recorded
    }

    /// Returns the next place of the recorded way, if this place is on that way and is not its end.
    pub fn next_recorded(&self, place: PlaceId) -> Option<PlaceId> {
        let next = match place {
            0 => 0,
            _ => self.recorded.iter().position(|known| *known == place)? + 1,
        };
        self.recorded.get(next).copied()
    }

    /// Returns the step that leads to a place.
    pub fn step_to(&self, place: PlaceId) -> Option<Step> {
        self.places[place].from.map(|(_, (_, step))| step)
    }

    /// Takes a step from a place, and returns the place after it. A step that was taken from there before leads to the
    /// same place.
    pub fn take(&mut self, place: PlaceId, choice: &Choice) -> PlaceId {
        let step = (choice.line.at, choice.line.step);
        let known = |other: &Place| other.from == Some((place, step));
        self.places.iter().position(known).unwrap_or_else(|| self.add(place, step))
    }

    fn add(&mut self, parent: PlaceId, step: (Time, Step)) -> PlaceId {
        let steps = self.places[parent].steps + 1;
        self.places.push(Place { from: Some((parent, step)), steps });
        self.places.len() - 1
    }
}
