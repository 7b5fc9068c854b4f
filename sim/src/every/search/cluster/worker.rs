//! One worker of a search in several processes.

use super::super::super::model::Model;
use super::super::super::outcome::Bound;
use super::super::found::Found;
use super::super::shared::{Counts, Shared, Totals};
use super::super::step::Taken;
use super::connect::Gone;
use super::meeting::Meeting;
use super::messages::{Batch, Candidate, Halt, Report};
use super::table::{Met, owner};
use super::ways::{Number, Ways};
use super::wire::{Command, Wire};
use super::{Cluster, lock};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::Objection;

/// The longest time for which a worker expands states in a round.
const ROUND: Duration = Duration::from_millis(200);

/// The number of states that are expanded before the worker looks at the clock.
const AT_A_TIME: usize = 32;

/// The number of candidates in a batch.
const BATCH: usize = 256;

/// The states that one worker holds.
pub(super) struct Place<S> {
    pub(super) levels: BTreeMap<u32, Vec<Held<S>>>,
}

impl<S> Default for Place<S> {
    fn default() -> Place<S> {
        Place { levels: BTreeMap::new() }
    }
}

/// A state that waits to be expanded.
pub(super) struct Held<S> {
    pub(super) state: S,
    pub(super) fingerprint: u128,
    pub(super) number: Number,
}

/// A generated state, until its owner has answered.
struct Pending<S> {
    state: S,
    fingerprint: u128,
    level: u32,
    /// The state before it; `None` for an initial state.
    before: Option<Number>,
    action: u32,
    progress: Ordering,
}

/// What all workers know after a round.
#[derive(Default)]
struct Seen {
    level: Option<u32>,
    /// How many states of that level each worker holds.
    held: Vec<u64>,
    distinct: u64,
    depth: u32,
    best: Option<Found>,
    bound: Option<Bound>,
    link: Option<(u128, u32)>,
    is_due: bool,
}

/// A worker: it expands the states that it holds, in rounds with all others.
pub(super) struct Worker<'a, M: Model> {
    pub(super) shared: &'a Shared<'a, M>,
    pub(super) cluster: &'a Cluster,
    /// The places of this process's workers.
    pub(super) places: &'a [Mutex<Place<M::State>>],
    meeting: &'a Meeting,
    pub(super) wire: Wire,
    /// The number of this worker among those of its process.
    pub(super) local: usize,
    pub(super) ways: Ways,
    pending: Vec<Option<Pending<M::State>>>,
    /// Candidates for each worker.
    batches: Vec<Vec<Candidate>>,
    /// Levels and fingerprints of states that wait at a lower level, too.
    pub(super) stale: BTreeSet<(u32, u128)>,
    actions: Vec<M::Action>,
    pub(super) counts: Counts,
    /// The actions that led to a known state that is no deeper, as far as they are counted, and the bytes of tables.
    counted: (u64, u64),
    /// The number of checkpoints so far, and a number of this search.
    pub(super) moment: (u64, u64),
}

impl<'a, M: Model> Worker<'a, M> {
    pub(super) fn new(
        shared: &'a Shared<'a, M>,
        cluster: &'a Cluster,
        places: &'a [Mutex<Place<M::State>>],
        meeting: &'a Meeting,
        wire: Wire,
    ) -> Worker<'a, M> {
        Worker {
            shared,
            cluster,
            places,
            meeting,
            local: wire.own % places.len(),
            ways: Ways::default(),
            pending: Vec::new(),
            batches: (0..wire.workers).map(|_| Vec::new()).collect(),
            wire,
            stale: BTreeSet::new(),
            actions: Vec::new(),
            counts: Counts::default(),
            counted: (0, 0),
            moment: (0, 0),
        }
    }

    /// Searches.
    pub(super) fn search(mut self) -> Result<(), Gone> {
        let is_resumed = self.resume()?;
        if !is_resumed && self.wire.own == 0 {
            self.begin();
        }
        self.complete(None)?;
        let mut seen = self.agree(None)?;
        if is_resumed && self.local == 0 {
            self.shared.goes_on_from(seen.distinct, seen.depth);
        }
        while let Some(level) = goes_on(&seen) {
            if seen.is_due {
                self.save()?;
            }
            self.even_out(level, &seen.held)?;
            self.renew()?;
            self.expand_some(level, seen.distinct);
            self.complete(Some(level))?;
            seen = self.agree(None)?;
        }
        // A violation ends a search for good, and so do processes that disagree; a bound does not.
        let disagree = matches!(seen.bound, Some(Bound::Cluster(_)));
        if !disagree && seen.bound.as_ref().is_some_and(Bound::is_external) {
            self.save()?;
        }
        let links = self.links(&seen)?;
        if self.local == 0 {
            self.shared.settle(seen.bound, links);
        }
        self.wire.part()
    }

    /// Offers the initial states to their owners.
    fn begin(&mut self) {
        let states = self.shared.model.init_states();
        assert!(!states.is_empty(), "a model has an initial state");
        for (index, state) in (0..).zip(states) {
            self.counts.generated += 1;
            if let Some(Fingerprint(fingerprint)) = self.shared.initial(&state, index) {
                let (level, before) = (0, None);
                let progress = Ordering::Equal;
                let pending =
                    Pending { state, fingerprint, level, before, action: index, progress };
                self.offer(pending, fingerprint, None);
            }
        }
    }

    /// Offers a state to its owner. `from` is the fingerprint of the state before it, of the level `below`.
    fn offer(&mut self, pending: Pending<M::State>, from: u128, below: Option<u32>) {
        let Pending { fingerprint, action, level, progress, .. } = pending;
        let to = owner(fingerprint, self.wire.workers);
        let number = self.pending.len() as u32;
        self.counts.may_close += u64::from(progress.is_lt());
        let is_flat = progress.is_eq();
        let candidate = Candidate { state: fingerprint, from, action, level, is_flat, number };
        if to == self.wire.own {
            let met = lock(&self.wire.table).meet(&candidate, below);
            match met {
                Met::New => self.hold_new(pending),
                Met::Cheaper(stale) => {
                    self.tell_stale(fingerprint, stale);
                    self.hold(pending);
                }
                Met::Known => {}
            }
            return;
        }
        self.pending.push(Some(pending));
        self.batches[to].push(candidate);
        if self.batches[to].len() == BATCH {
            self.send(to, below);
        }
    }

    fn send(&mut self, to: usize, below: Option<u32>) {
        let candidates = std::mem::take(&mut self.batches[to]);
        if !candidates.is_empty() {
            let (to, by) = (to as u32, self.wire.own as u32);
            let stale = Vec::new();
            self.wire.send(Command::States(Batch { to, by, below, candidates, stale }));
        }
    }

    /// Tells all workers that a state no longer waits at a level.
    fn tell_stale(&mut self, state: u128, level: u32) {
        for to in 0..self.wire.workers as u32 {
            let (by, stale) = (self.wire.own as u32, vec![(state, level)]);
            let candidates = Vec::new();
            let batch = Batch { to, by, below: None, candidates, stale };
            self.wire.send(Command::States(batch));
        }
    }

    /// Waits for the answers to everything that was offered in this round, from states of the level `below`.
    fn complete(&mut self, below: Option<u32>) -> Result<(), Gone> {
        for to in 0..self.wire.workers {
            self.send(to, below);
        }
        let answers = self.wire.answers()?;
        for answer in answers {
            for number in answer.new {
                if let Some(pending) = self.pending[number as usize].take() {
                    self.hold_new(pending);
                }
            }
            for number in answer.cheaper {
                if let Some(pending) = self.pending[number as usize].take() {
                    self.hold(pending);
                }
            }
            self.stale.extend(answer.stale.into_iter().map(|(state, level)| (level, state)));
        }
        self.pending.clear();
        self.count_table();
        self.shared.flush(&mut self.counts);
        // One of the process's workers reports what all of them have counted.
        self.meeting.meet(&self.wire.losses, || {})
    }

    /// Adds to the process's counts what the table of this worker counts.
    fn count_table(&mut self) {
        let table = lock(&self.wire.table);
        let bytes = table.bytes() + self.ways.bytes();
        self.counts.may_close += table.may_close - self.counted.0;
        self.shared.tables(bytes as i64 - self.counted.1 as i64);
        self.counted = (table.may_close, bytes);
        if table.is_full {
            self.shared.halt(Bound::Numbers);
        }
    }

    fn hold_new(&mut self, pending: Pending<M::State>) {
        self.counts.distinct += 1;
        self.counts.frontier += 1;
        self.hold(pending);
    }

    fn hold(&mut self, pending: Pending<M::State>) {
        let Pending { state, fingerprint, level, before, action, .. } = pending;
        let number = match before {
            None => self.ways.first(action),
            Some(before) => self.ways.next(before, action),
        };
        self.wait(level, Held { state, fingerprint, number });
    }

    pub(super) fn wait(&mut self, level: u32, held: Held<M::State>) {
        self.counts.held += 1;
        let mut place = lock(&self.places[self.local]);
        let states = place.levels.entry(level).or_insert_with(|| {
            self.shared.sample(&held.state, size_of::<Held<M::State>>());
            Vec::new()
        });
        states.push(held);
    }

    /// Tells all workers what this one has, and returns what all have together. `sought` is a state whose record is
    /// looked for.
    fn agree(&mut self, sought: Option<u128>) -> Result<Seen, Gone> {
        let mut report = Report::default();
        let place = lock(&self.places[self.local]);
        let least = place.levels.iter().find(|(_, states)| !states.is_empty());
        report.least = least.map(|(level, states)| (*level, states.len() as u64));
        drop(place);
        report.link = sought.and_then(|state| lock(&self.wire.table).link(state));
        if self.local == 0 {
            self.shared.halt_when_late();
            report.totals = Some(self.shared.totals());
            let json = |found: Found| serde_json::to_string(&found).expect("it is data");
            report.found = self.shared.found().map(json);
            report.halt = self.shared.bound().and_then(Halt::of);
            report.is_due = self.wire.own == 0 && self.shared.is_paused();
        }
        let reports = self.wire.report(report)?;
        Ok(self.seen(reports))
    }

    fn seen(&self, reports: Vec<Report>) -> Seen {
        let level = reports.iter().filter_map(|report| report.least).map(|(level, _)| level).min();
        let at = |report: &Report| report.least.filter(|(least, _)| Some(*least) == level);
        let held =
            reports.iter().map(|report| at(report).map_or(0, |(_, states)| states)).collect();
        let mut seen = Seen { level, held, ..Seen::default() };
        let mut elsewhere = Totals::default();
        for (worker, report) in reports.into_iter().enumerate() {
            seen.link = seen.link.or(report.link);
            seen.is_due |= report.is_due;
            seen.bound = seen.bound.or(report.halt.map(Halt::bound));
            let read = |json: String| serde_json::from_str::<Found>(&json);
            let found = report.found.map(|json| read(json).expect("the same program wrote it"));
            if let Some(found) = found
                && seen.best.as_ref().is_none_or(|best| found.key() < best.key())
            {
                seen.best = Some(found);
            }
            if let Some(totals) = report.totals {
                seen.distinct += totals.counted.distinct;
                seen.depth = seen.depth.max(totals.counted.depth);
                if worker / self.places.len() != self.cluster.process {
                    elsewhere.add(totals);
                }
            }
        }
        let most = self.shared.options.max_states.filter(|most| seen.distinct > *most);
        seen.bound = seen.bound.or(most.map(Bound::States));
        if self.local == 0 {
            self.shared.elsewhere(elsewhere);
            seen.best.clone().into_iter().for_each(|found| self.shared.offer(found));
        }
        seen
    }

    /// Lets the process replace its model, if it has grown too large.
    fn renew(&mut self) -> Result<(), Gone> {
        let (shared, places) = (self.shared, self.places);
        self.meeting.meet(&self.wire.losses, || {
            let mut places: Vec<_> = places.iter().map(lock).collect();
            let levels = places.iter_mut().flat_map(|place| place.levels.values_mut());
            shared.renew_if_due(&mut levels.flatten().map(|held| &mut held.state));
        })
    }

    /// Expands states of this level for a while.
    fn expand_some(&mut self, level: u32, distinct: u64) {
        self.stale = self.stale.split_off(&(level, 0));
        let newest = self.shared.newest();
        let model = newest.as_deref().unwrap_or(self.shared.model);
        let until = Instant::now() + ROUND;
        // With a bound on the number of states, a round is short enough not to go far beyond it.
        let most = self.shared.options.max_states.map_or(u64::MAX, |most| {
            most.saturating_sub(distinct) / (2 * self.wire.workers as u64) + 1
        });
        let mut expanded = 0;
        while expanded < most && Instant::now() < until && !self.shared.is_halted() {
            let mut place = lock(&self.places[self.local]);
            let Some(states) = place.levels.get_mut(&level) else { break };
            let at_a_time = AT_A_TIME.min(usize::try_from(most - expanded).unwrap_or(AT_A_TIME));
            let some = states.split_off(states.len().saturating_sub(at_a_time));
            if states.is_empty() {
                place.levels.remove(&level);
            }
            drop(place);
            expanded += some.len() as u64;
            for held in some {
                self.counts.held -= 1;
                if !self.is_stale(&held, level) {
                    self.counts.frontier -= 1;
                    self.counts.depth = level;
                    self.expand(model, &held, level);
                }
            }
            self.shared.flush(&mut self.counts);
        }
    }

    /// Returns true if the state waits, or waited, at a lower level, too.
    pub(super) fn is_stale(&self, held: &Held<M::State>, level: u32) -> bool {
        !self.stale.is_empty() && self.stale.contains(&(level, held.fingerprint))
    }

    fn expand(&mut self, model: &M, held: &Held<M::State>, level: u32) {
        let mut actions = std::mem::take(&mut self.actions);
        let looked = self.shared.look(model, &held.state, &mut actions);
        if let Err(objection) = looked {
            self.object(held, level, objection);
        } else if !actions.is_empty() {
            if self.shared.options.max_depth.is_some_and(|depth| level >= depth) {
                self.shared.cut(1);
            } else {
                self.take_all(model, held, level, &mut actions);
            }
        }
        self.actions = actions;
    }

    fn take_all(
        &mut self,
        model: &M,
        held: &Held<M::State>,
        level: u32,
        actions: &mut Vec<M::Action>,
    ) {
        let mut has_successor = false;
        for (action, taken) in (0..).zip(actions.drain(..)) {
            match self.shared.take(model, &held.state, taken) {
                Taken::Nothing => continue,
                Taken::Objected(objection, length) => {
                    let (cost, state) = (level.saturating_add(length), at(held));
                    let action = Some(action);
                    self.shared.offer(Found { cost, state, action, length, objection });
                }
                Taken::Reached {
                    state,
                    fingerprint: Fingerprint(fingerprint),
                    length,
                    progress,
                } => {
                    let there = level.saturating_add(length);
                    let before = Some(held.number);
                    let pending =
                        Pending { state, fingerprint, level: there, before, action, progress };
                    self.offer(pending, held.fingerprint, Some(level));
                }
            }
            has_successor = true;
            self.counts.generated += 1;
        }
        if !has_successor && let Err(objection) = self.shared.rest(model, &held.state) {
            self.object(held, level, objection);
        }
    }

    fn object(&self, held: &Held<M::State>, cost: u32, objection: Objection) {
        let state = at(held);
        self.shared.offer(Found { cost, state, action: None, length: 0, objection });
    }

    /// Returns the way to the best violation, backwards: each state, and the index of the action that led to it.
    fn links(&mut self, seen: &Seen) -> Result<Vec<(Fingerprint, usize)>, Gone> {
        let mut links = Vec::new();
        let mut next = seen.best.as_ref().and_then(|found| found.state);
        while let Some(Fingerprint(state)) = next {
            let link = self.agree(Some(state))?.link;
            let (from, action) = link.expect("a visited state has an owner");
            links.push((Fingerprint(state), action as usize));
            next = (from != state).then_some(Fingerprint(from));
        }
        Ok(links)
    }
}

fn at<S>(held: &Held<S>) -> Option<Fingerprint> {
    Some(Fingerprint(held.fingerprint))
}

/// Returns the level of the next round, unless the search is over.
fn goes_on(seen: &Seen) -> Option<u32> {
    let level = seen.level.filter(|_| seen.bound.is_none())?;
    let is_settled = seen.best.as_ref().is_some_and(|best| best.cost <= level);
    (!is_settled).then_some(level)
}
