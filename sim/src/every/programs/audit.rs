//! What a search knows of monitors from themselves, checked while it is used.
//!
//! A monitor says which events concern it, and its state is what its hash takes in. The first is checked where a
//! step is worked out: copies of the monitors that an event does not concern get it all the same, and
//! must neither change nor object. The second is checked when the search is over. Monitors with equal hashes are
//! one piece, which is kept as it was when it was first come to; for some of the pieces, the steps of monitors
//! from one to the next are remembered. Copies that came to a piece in other ways are led along what is known
//! from there on, and must come to the same pieces.

use super::ProgramModel;
use super::check::REDUCTION;
use super::pieces::Keys;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use vivarium_model::event::Event;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::{Monitors, Objection, is_concerned};
use vivarium_model::time::Time;
use vivarium_model::witnesses::{Shown, Witnesses};

/// The states that are checked before only one in [`RARITY`](super::check::RARITY) is, and the steps before only one in
/// [`STEPS_RARITY`] is.
pub(super) const FIRST: u64 = if cfg!(debug_assertions) { 2_000 } else { 10_000 };

const STEPS_RARITY: u128 = 64;

/// The monitors' pieces that are remembered, and the steps of each.
const PIECES: usize = 4_000;
const STEPS: usize = 12;

/// How many walks are taken by each copy, how long they are, and how many steps all have together.
const WALKS: usize = 8;
const STRIDES: usize = 16;
const ALL_STRIDES: usize = if cfg!(debug_assertions) { 10_000 } else { 100_000 };

/// What was checked in the course of a search.
#[derive(Default)]
pub(super) struct Audit {
    states: Mutex<Keys>,
    checked: AtomicU64,
    /// States with an objection: they have it whenever they are come to.
    objectionable: Mutex<Keys>,
    objections: AtomicU64,
    steps: AtomicU64,
    pieces: Mutex<BTreeMap<Fingerprint, Piece>>,
}

/// Monitors, and how they went on.
struct Piece {
    monitors: Monitors,
    steps: Vec<MonitorsStep>,
    known: BTreeSet<Fingerprint>,
    /// Where they were asked at the end, and did not object.
    ends: Vec<Witnesses>,
}

/// What monitors were told, and what they became.
#[derive(Clone)]
struct MonitorsStep {
    told: Arc<[(Event, Shown)]>,
    to: Fingerprint,
}

/// How much was checked of what a search knows of monitors and programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audited {
    /// States in which steps that reductions hold for independent were tried in both orders.
    pub states: u64,
    /// Steps whose events were shown to monitors that they do not concern.
    pub steps: u64,
    /// Walks of copies of the monitors that have the same hash and came another way.
    pub walks: u64,
}

impl Audit {
    /// Whether a state is one of those that are checked.
    pub(super) fn takes(&self, state: Fingerprint, rarity: u128) -> bool {
        if self.objections.load(Ordering::Relaxed) > 0
            && locked(&self.objectionable).contains(&state.0)
        {
            return true;
        }
        let is_chosen = (state.0 >> 64).is_multiple_of(rarity);
        if !is_chosen && self.checked.load(Ordering::Relaxed) >= FIRST {
            return false;
        }
        let is_new = locked(&self.states).insert(state.0);
        self.checked.fetch_add(is_new.into(), Ordering::Relaxed);
        is_new
    }

    pub(super) fn objects(&self, state: Fingerprint) {
        locked(&self.objectionable).insert(state.0);
        self.objections.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a step is one of those that are checked; `key` names the place that it is taken at. Since one was
    /// objected to, all are: who goes the way to it again must come upon the same.
    pub(super) fn takes_step(&self, key: u128) -> bool {
        let is_chosen = Fingerprint::of(&key).0.is_multiple_of(STEPS_RARITY);
        if !is_chosen
            && self.steps.load(Ordering::Relaxed) >= FIRST
            && self.objections.load(Ordering::Relaxed) == 0
        {
            return false;
        }
        self.steps.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Checks the events of a step, and remembers what monitors made of them.
    ///
    /// # Errors
    /// An event moves a monitor that it does not concern.
    pub(super) fn step(
        &self,
        before: &Witnesses,
        events: &[Event],
        after: &Monitors,
    ) -> Result<(), Objection> {
        let shown = before.audit(Time::ZERO, events).map_err(|objection| {
            self.objections.fetch_add(1, Ordering::Relaxed);
            let failure = objection.failure.clone();
            Objection { failure, ..Objection::new(REDUCTION, is_concerned(&objection)) }
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

    /// Remembers that monitors did not object at the end.
    pub(super) fn ends(&self, witnesses: &Witnesses) {
        if let Some(piece) = locked(&self.pieces).get_mut(&witnesses.monitors().fingerprint())
            && piece.ends.len() < 2
        {
            piece.ends.push(witnesses.clone());
        }
    }

    /// Leads copies of monitors that came to a piece in other ways along what is known from there, until some time.
    ///
    /// # Errors
    /// Two with equal hashes that are not the same.
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

    /// Leads monitors that are equal to these along what is known of these.
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
    /// Tells monitors what others with the same hash were told; they must become the same. Returns what that is.
    fn take<'a>(
        &self,
        monitors: &mut Monitors,
        pieces: &'a BTreeMap<Fingerprint, Piece>,
    ) -> Result<Option<&'a Piece>, Objection> {
        let last = self.told.last().map_or_else(String::new, |(event, _)| event.to_string());
        let told = format!("told that {last}");
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
        Err(differs(name.unwrap_or("a property"), &told, "its state is another one then"))
    }
}

fn differs(name: &str, when: &str, saw: &str) -> Objection {
    let saw = format!(
        "two copies of `{name}` have one hash and are not the same: {when}, one goes on and the other one does \
         not (\"{saw}\"). All that a property goes by must be part of its hash, and copies must share nothing"
    );
    Objection::new(REDUCTION, saw)
}

impl ProgramModel {
    /// Checks, after a search and until some time, that monitors with equal hashes are equal.
    ///
    /// # Errors
    /// Two copies of a monitor with one hash that are not the same.
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
