//! Checks, during a search, two claims that monitors make about themselves.
//!
//! A monitor says which events concern it, and its hash is to cover its whole state. The first claim is checked
//! whenever a step is computed: copies of the monitors that an event does not concern receive the event all the same,
//! and must neither change nor object. The second claim is checked after the search. Monitors with equal hashes are one
//! piece, which is stored as it was when it was first reached. For some pieces, the audit remembers the steps of
//! monitors from one piece to the next. Copies that reached a piece by another path take the remembered steps from
//! there, and must reach the same pieces.

use super::ProgramModel;
use super::check::REDUCTION;
use super::pieces::Keys;
use crate::every::intern::Fold;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasherDefault;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use vivarium_model::event::Event;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::{Monitors, Objection, is_concerned};
use vivarium_model::time::Time;
use vivarium_model::witnesses::{Contradiction, Shown, Witnesses};

/// The number of states that are all checked, after which one in [`RARITY`](super::check::RARITY) is.
const FIRST: u64 = 2_000;

/// The number of pairs of places after which no further state counts among the first. A state can have thousands of
/// pairs, and then checking it takes a hundred times as long as expanding it.
const FIRST_PAIRS: u64 = 100_000;

/// The number of steps that are all checked, after which one in [`STEPS_RARITY`] is.
const FIRST_STEPS: u64 = if cfg!(debug_assertions) { 2_000 } else { 10_000 };

const STEPS_RARITY: u128 = 64;

/// The most pieces of monitors that are remembered, and the most steps of each.
const PIECES: usize = 4_000;
const STEPS: usize = 12;

/// The most walks of each copy, the length of a walk, and the most steps of all walks together.
const WALKS: usize = 8;
const STRIDES: usize = 16;
const ALL_STRIDES: usize = if cfg!(debug_assertions) { 10_000 } else { 100_000 };

/// The checks made in the course of a search.
#[derive(Default)]
pub(super) struct Audit {
    states: Mutex<Keys>,
    checked: AtomicU64,
    /// Pairs of places of two clients that were checked.
    pairs: AtomicU64,
    /// Places that are checked, by a hash of them: they are many.
    places: Mutex<hashbrown::HashSet<u64, BuildHasherDefault<Fold>>>,
    /// States with an objection. Each repeated visit must find the objection again.
    objectionable: Mutex<Keys>,
    objections: AtomicU64,
    steps: AtomicU64,
    pieces: Mutex<BTreeMap<Fingerprint, Piece>>,
}

/// Monitors, and the steps from them.
struct Piece {
    monitors: Monitors,
    steps: Vec<MonitorsStep>,
    known: BTreeSet<Fingerprint>,
    /// The witnesses of states in which the monitors did not object at the end of a run.
    ends: Vec<Witnesses>,
}

/// The events that monitors received, and the piece that they became.
#[derive(Clone)]
struct MonitorsStep {
    told: Arc<[(Event, Shown)]>,
    to: Fingerprint,
}

/// The number of checks of claims about monitors and programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audited {
    /// States in which steps that reductions treat as independent were tried in both orders.
    pub states: u64,
    /// Steps whose events were also given to monitors that they do not concern.
    pub steps: u64,
    /// Walks of monitor copies that have the same hash but reached it by another path.
    pub walks: u64,
}

impl Audit {
    /// Returns true if a state is to be checked.
    pub(super) fn takes(&self, state: Fingerprint, rarity: u128) -> bool {
        if self.objections.load(Ordering::Relaxed) > 0
            && locked(&self.objectionable).contains(&state.0)
        {
            return true;
        }
        let is_chosen = (state.0 >> 64).is_multiple_of(rarity);
        let enough = self.checked.load(Ordering::Relaxed) >= FIRST
            || self.pairs.load(Ordering::Relaxed) >= FIRST_PAIRS;
        if enough && !is_chosen {
            return false;
        }
        let is_new = locked(&self.states).insert(state.0);
        self.checked.fetch_add(is_new.into(), Ordering::Relaxed);
        is_new
    }

    /// Returns true if a place is not checked yet. After the first objection, everything is checked again, so that a
    /// path taken again finds the same objection.
    pub(super) fn is_new(&self, place: u128) -> bool {
        locked(&self.places).insert(place as u64) || self.objections.load(Ordering::Relaxed) > 0
    }

    /// Returns true if the places of two clients are not checked yet, as [`Audit::is_new`].
    pub(super) fn is_new_pair(&self, places: u128) -> bool {
        let is_new = self.is_new(places);
        self.pairs.fetch_add(is_new.into(), Ordering::Relaxed);
        is_new
    }

    pub(super) fn objects(&self, state: Fingerprint) {
        locked(&self.objectionable).insert(state.0);
        self.objections.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns true if a step is to be checked; `key` identifies the place of the step. After the first objection,
    /// every step is checked, so that a path taken again finds the same objection.
    pub(super) fn takes_step(&self, key: u128) -> bool {
        let is_chosen = Fingerprint::of(&key).0.is_multiple_of(STEPS_RARITY);
        if !is_chosen
            && self.steps.load(Ordering::Relaxed) >= FIRST_STEPS
            && self.objections.load(Ordering::Relaxed) == 0
        {
            return false;
        }
        self.steps.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Checks the events of a step, and remembers the monitors' step.
    ///
    /// # Errors
    /// Returns an objection if an event changes a monitor that the event does not concern, or if a copy of a monitor
    /// objects where the monitor did not.
    pub(super) fn step(
        &self,
        before: &Witnesses,
        events: &[Event],
        after: &Monitors,
    ) -> Result<(), Objection> {
        let shown = before.audit(Time::ZERO, events).map_err(|contradiction| {
            self.objections.fetch_add(1, Ordering::Relaxed);
            match contradiction {
                Contradiction::Copy(objection) => {
                    differs(&objection.property, "after the same events", &objection.saw)
                }
                Contradiction::Unconcerned(objection) => {
                    let failure = objection.failure.clone();
                    Objection { failure, ..Objection::new(REDUCTION, is_concerned(&objection)) }
                }
            }
        })?;
        if !events.iter().any(|event| before.monitors().concerns(event)) {
            return Ok(());
        }
        let mut pieces = locked(&self.pieces);
        let to = after.fingerprint();
        for monitors in [before.monitors(), after] {
            if pieces.len() < PIECES {
                pieces.entry(monitors.fingerprint()).or_insert_with(|| Piece::of(monitors));
            }
        }
        if let Some(piece) = pieces.get_mut(&before.monitors().fingerprint())
            && piece.steps.len() < STEPS
            && piece.known.insert(Fingerprint::of(&(to, events)))
        {
            let told = events.iter().cloned().zip(shown).collect();
            piece.steps.push(MonitorsStep { told, to });
        }
        Ok(())
    }

    /// Remembers that monitors did not object at the end of a run.
    pub(super) fn ends(&self, witnesses: &Witnesses) {
        if let Some(piece) = locked(&self.pieces).get_mut(&witnesses.monitors().fingerprint())
            && piece.ends.len() < 2
        {
            piece.ends.push(witnesses.clone());
        }
    }

    /// Walks copies of monitors that reached a piece by another path along the remembered steps, until the given
    /// instant.
    ///
    /// # Errors
    /// Returns an objection if two monitors with equal hashes differ.
    fn walk(&self, until: Option<Instant>) -> Result<u64, Objection> {
        let pieces = locked(&self.pieces);
        let arrivals: Vec<(&Piece, &MonitorsStep)> = pieces
            .values()
            .flat_map(|piece| piece.steps.iter().map(move |step| (piece, step)))
            .collect();
        let walks = (ALL_STRIDES / STRIDES / arrivals.len().max(1)).clamp(1, WALKS);
        let every = (arrivals.len() * walks * STRIDES).div_ceil(ALL_STRIDES).max(1);
        let mut count = 0;
        for (from, step) in arrivals.into_iter().step_by(every) {
            if until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
            let mut arrived = from.monitors.clone();
            let Some(piece) = step.take(&mut arrived, &pieces)? else { continue };
            for walk in 0..walks {
                count += 1;
                piece.lead(arrived.clone(), walk, &pieces)?;
            }
        }
        Ok(count)
    }
}

impl Piece {
    fn of(monitors: &Monitors) -> Piece {
        let monitors = monitors.clone();
        Piece { monitors, steps: Vec::new(), known: BTreeSet::new(), ends: Vec::new() }
    }

    /// Walks monitors that equal those of this piece along the remembered steps.
    fn lead(
        &self,
        mut monitors: Monitors,
        walk: usize,
        pieces: &BTreeMap<Fingerprint, Piece>,
    ) -> Result<(), Objection> {
        let mut at = self;
        for stride in 0..STRIDES {
            at.asked_at_the_end(&monitors)?;
            if at.steps.is_empty() {
                break;
            }
            let draw = Fingerprint::of(&(walk, stride)).0 as usize % at.steps.len();
            match at.steps[draw].take(&mut monitors, pieces)? {
                Some(next) => at = next,
                None => break,
            }
        }
        Ok(())
    }

    fn asked_at_the_end(&self, monitors: &Monitors) -> Result<(), Objection> {
        for end in &self.ends {
            let history = Arc::clone(end.shared_history());
            let mut copy = Witnesses::new(history, monitors.clone());
            copy.at_rest(Time::ZERO)
                .and_then(|()| copy.end(Time::ZERO))
                .map_err(|objection| differs(&objection.property, "at the end", &objection.saw))?;
        }
        Ok(())
    }
}

impl MonitorsStep {
    /// Gives monitors the events that other monitors with the same hash received. Both must become the same piece,
    /// which is returned if it is known.
    fn take<'a>(
        &self,
        monitors: &mut Monitors,
        pieces: &'a BTreeMap<Fingerprint, Piece>,
    ) -> Result<Option<&'a Piece>, Objection> {
        let last = self.told.last().map_or_else(String::new, |(event, _)| event.to_string());
        let told = format!("after the event \"{last}\"");
        for (event, shown) in &*self.told {
            monitors
                .event(shown.view(Time::ZERO), event)
                .map_err(|objection| differs(&objection.property, &told, &objection.saw))?;
        }
        let piece = pieces.get(&self.to);
        if monitors.fingerprint() == self.to {
            return Ok(piece);
        }
        let name = piece.and_then(|piece| {
            let mut both = monitors.iter().zip(piece.monitors.iter());
            let differ = both.find(|(one, other)| Fingerprint::of(one) != Fingerprint::of(other));
            differ.map(|(one, _)| one.name())
        });
        Err(differs(name.unwrap_or("a property"), &told, "its state changes"))
    }
}

fn differs(name: &str, when: &str, saw: &str) -> Objection {
    let saw = format!(
        "two copies of `{name}` have equal hashes but differ: {when}, one goes on and the other one does not \
         (\"{saw}\"). A property's hash must include all state that its judgement depends on, and copies must \
         share no memory"
    );
    Objection::new(REDUCTION, saw)
}

impl ProgramModel {
    /// Checks after a search, until the given instant, that monitors with equal hashes are equal.
    ///
    /// # Errors
    /// Returns an objection if two copies of a monitor have equal hashes but differ.
    pub fn audit(&self, until: Option<Instant>) -> Result<Audited, Objection> {
        let walks = self.audit.walk(until)?;
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Audit { checked, steps, .. } = &*self.audit;
        Ok(Audited { states: load(checked), steps: load(steps), walks })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
