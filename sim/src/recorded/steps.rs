//! The loop that replays recorded steps, for every grain and host, without a clock and random numbers.
//!
//! A step that is not possible (any more) is skipped and reported, so a record survives a change of the code as far
//! as possible.

use vivarium_model::case::Case;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::Objection;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::trace::TraceLine;

/// A world that takes steps, with the checks of them.
pub(crate) trait Taker {
    /// Takes a step and checks the properties that it may have violated.
    ///
    /// # Errors
    /// The objection.
    fn take(&mut self, at: Time, step: &Step, effects: &mut Effects) -> Result<Status, Objection>;

    /// Records a step that was done or objected to, with its consequences.
    fn taken(&mut self, at: Time, step: Step, effects: &Effects);
}

/// The result of recorded steps.
pub(crate) struct Took {
    /// The steps that were not possible, with their numbers in the record, from 1.
    pub(crate) skipped: Vec<(u64, Time, Step)>,
    /// The objection, if there was one; later steps were not taken.
    pub(crate) outcome: Result<(), Objection>,
}

/// Takes these steps in a world that has begun, up to an objection.
pub(crate) fn take_all<'a>(
    taker: &mut impl Taker,
    steps: impl IntoIterator<Item = &'a (Time, Step)>,
    effects: &mut Effects,
) -> Took {
    let mut skipped = Vec::new();
    for (number, (at, step)) in (1..).zip(steps) {
        effects.clear();
        let outcome = match taker.take(*at, step, effects) {
            Ok(Status::Blocked(_) | Status::NotEnabled) => {
                skipped.push((number, *at, *step));
                continue;
            }
            Ok(Status::Done) => Ok(()),
            Err(objection) => Err(objection),
        };
        taker.taken(*at, *step, effects);
        if outcome.is_err() {
            return Took { skipped, outcome };
        }
    }
    Took { skipped, outcome: Ok(()) }
}

/// A replay of steps that a search has recorded, which have no times and no seed.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The steps that were taken, including the one objected to.
    pub taken: Vec<Step>,
    /// The steps that were not possible, with their numbers in the record, from 1.
    pub skipped: Vec<(u64, Step)>,
    /// The lines of a timeline, if they were kept.
    pub lines: Vec<TraceLine>,
    /// The rolling hash over (step, effects), as in the simulator.
    pub hash: Fingerprint,
    /// The objection, if there was one; later steps were not taken.
    pub objection: Option<Objection>,
}

impl Replayed {
    /// Whether this is the recorded run: nothing skipped, and the same hash.
    pub fn is_run_of(&self, case: &Case) -> bool {
        self.skipped.is_empty() && self.hash == case.hash
    }
}

/// Takes one step of a world.
pub(crate) type Take<'a> = dyn FnMut(Time, &Step, &mut Effects) -> Result<Status, Objection> + 'a;

/// Takes these steps, all at time zero, in a world that has begun with these effects.
pub(crate) fn replayed(
    steps: &[Step],
    effects: &mut Effects,
    take: &mut dyn FnMut(&Step, &mut Effects) -> Result<Status, Objection>,
) -> Replayed {
    let steps: Vec<(Time, Step)> = steps.iter().map(|step| (Time::ZERO, *step)).collect();
    replayed_at(&steps, effects, &mut |_at, step, effects| take(step, effects))
}

/// Takes these steps, each at its time, in a world that has begun with these effects.
pub(crate) fn replayed_at(
    steps: &[(Time, Step)],
    effects: &mut Effects,
    take: &mut Take<'_>,
) -> Replayed {
    let mut plain = Plain { take, taken: Vec::new(), lines: Vec::new() };
    let Took { skipped, outcome } = take_all(&mut plain, steps, effects);
    let Plain { taken, lines, .. } = plain;
    let skipped = skipped.into_iter().map(|(number, _, step)| (number, step)).collect();
    let hash = effects.hasher.as_ref().expect("it was made with one").fingerprint();
    Replayed { taken, skipped, lines, hash, objection: outcome.err() }
}

/// A run without a scenario.
struct Plain<'a, 'b> {
    take: &'a mut Take<'b>,
    taken: Vec<Step>,
    lines: Vec<TraceLine>,
}

impl Taker for Plain<'_, '_> {
    fn take(&mut self, at: Time, step: &Step, effects: &mut Effects) -> Result<Status, Objection> {
        (self.take)(at, step, effects)
    }

    fn taken(&mut self, at: Time, step: Step, effects: &Effects) {
        self.taken.push(step);
        if let Some(notes) = &effects.notes {
            let told = effects.events.iter().filter(|event| !event.is_left_out_of_timelines());
            let (notes, events) = (notes.clone(), told.cloned().collect());
            let number = self.taken.len() as u64;
            self.lines.push(TraceLine { at, number, step, notes, events });
        }
    }
}
