//! Depth first: each worker follows one way as far as it goes, and turns back where all is known.
//!
//! Only the states on the current way are held. One worker knows which states those are, so it sees
//! an action that leads back to one of them: a cycle. Several workers share the work by handing a
//! part of the actions nearest to the start to whoever has nothing to do; a state that another
//! worker came to first is passed over, so they cannot tell cycles.
//!
//! With a greatest depth, a state that is reached again in fewer steps is expanded again, since now
//! more of what follows lies within the bound. Without that a state first reached at the bound would
//! hide everything behind it.

use super::super::model::Model;
use super::super::outcome::Bound;
use super::super::visited::{Arrival, Id, Met};
use super::in_thread;
use super::shared::{Counts, Shared};
use super::step::Taken;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::vec::IntoIter;

/// How long a worker without work sleeps before it looks whether the search was stopped.
const NAP: Duration = Duration::from_millis(5);

/// A waiting state is sampled for its size once in so many.
const SAMPLE: u32 = 64;

/// A state on the way, and its actions not taken yet.
struct Frame<M: Model> {
    state: M::State,
    id: Id,
    rank: u32,
    level: u32,
    actions: IntoIter<M::Action>,
    /// The place of the next of them.
    place: u32,
    has_successor: bool,
}

/// Where workers without work find some.
struct Pool<M: Model> {
    inner: Mutex<Inner<M>>,
    changed: Condvar,
    /// Somebody waits for work and none is there.
    hungry: AtomicBool,
    workers: usize,
}

struct Inner<M: Model> {
    frames: Vec<Frame<M>>,
    idle: usize,
    is_over: bool,
}

struct Worker<'a, M: Model> {
    shared: &'a Shared<'a, M>,
    pool: &'a Pool<M>,
    stack: Vec<Frame<M>>,
    /// Below this place of the stack no state has actions to give away.
    lowest: usize,
    counts: Counts,
    pushed: u32,
}

/// Searches depth first.
pub(super) fn search<M: Model>(shared: &Shared<'_, M>) {
    let workers = shared.options.threads.get();
    let pool = Pool::new(workers);
    std::thread::scope(|scope| {
        for _ in 1..workers {
            in_thread(scope, || {
                let _guard = shared.stop_on_panic();
                Worker::new(shared, &pool).help();
            });
        }
        let _guard = shared.stop_on_panic();
        let mut first = Worker::new(shared, &pool);
        first.start();
        first.help();
    });
}

impl<'a, M: Model> Worker<'a, M> {
    fn new(shared: &'a Shared<'a, M>, pool: &'a Pool<M>) -> Worker<'a, M> {
        Worker { shared, pool, stack: Vec::new(), lowest: 0, counts: Counts::default(), pushed: 0 }
    }

    /// Searches from the initial states, one after the other: one that waits for its turn must not
    /// count as visited, or the ways through it would be passed over.
    fn start(&mut self) {
        let states = self.shared.model.init_states();
        assert!(!states.is_empty(), "a model has an initial state");
        for (place, state) in (0..).zip(states) {
            if self.shared.is_halted() {
                // Known, and not looked into.
                self.counts.frontier += 1;
                continue;
            }
            self.counts.generated += 1;
            let Some(fingerprint) = self.shared.initial(&state, place) else {
                self.shared.stop();
                continue;
            };
            let arrival = Arrival { from: None, rank: 0, action: place, level: 0 };
            match self.shared.visited.insert(fingerprint, arrival) {
                Met::New(id) => {
                    self.counts.distinct += 1;
                    self.enter(state, id, fingerprint.0 as u32, 0);
                }
                // Reached from another one before, and with a greatest depth perhaps too late.
                Met::Cheaper(id) => self.enter_again(state, id, fingerprint.0 as u32, 0),
                Met::Known { .. } => {}
                Met::Full => self.shared.halt(Bound::Numbers),
            }
            self.work();
        }
        self.shared.flush(&mut self.counts);
    }

    /// Works on what others give until nothing is left for anybody.
    fn help(&mut self) {
        while let Some(frame) = self.pool.take(self.shared) {
            self.open(frame);
            self.work();
            self.shared.flush(&mut self.counts);
        }
    }

    /// Goes on until the stack is empty or the search is stopped.
    fn work(&mut self) {
        while !self.stack.is_empty() && !self.shared.is_halted() {
            self.advance();
            if self.pool.hungry.load(Ordering::Relaxed) {
                self.give();
            }
            self.shared.count(&mut self.counts);
        }
    }

    /// Takes the next action of the topmost state, or leaves the state.
    fn advance(&mut self) {
        let frame = self.stack.last_mut().expect("a state to go on from");
        let Some(action) = frame.actions.next() else {
            return self.leave();
        };
        let place = frame.place;
        frame.place += 1;
        self.counts.frontier -= 1;
        let taken = self.shared.take(self.shared.model, &frame.state, action);
        let Frame { id, rank, level: from, .. } = *frame;
        frame.has_successor |= !matches!(taken, Taken::Nothing);
        match taken {
            Taken::Nothing => {}
            Taken::Objected(objection, length) => {
                self.counts.generated += 1;
                self.shared.offer_step(id, from, place, length, objection);
                self.shared.stop();
            }
            Taken::Reached { state, fingerprint, length } => {
                self.counts.generated += 1;
                let level = from.saturating_add(length);
                let arrival = Arrival { from: Some(id), rank, action: place, level };
                let met = self.shared.visited.insert(fingerprint, arrival);
                self.meet(met, state, fingerprint.0 as u32, level, from);
            }
        }
    }

    fn meet(&mut self, met: Met, state: M::State, rank: u32, level: u32, from: u32) {
        let bounded = self.shared.options.max_depth.is_some();
        match met {
            Met::New(id) => {
                self.counts.distinct += 1;
                self.enter(state, id, rank, level);
            }
            Met::Cheaper(id) => {
                self.counts.edges_back += 1;
                self.enter_again(state, id, rank, level);
            }
            Met::Known { on_stack: true, .. } => self.counts.cycles += 1,
            // Levels that are lowered later prove nothing.
            Met::Known { level, .. } if level <= from || bounded => self.counts.edges_back += 1,
            Met::Known { .. } => {}
            Met::Full => self.shared.halt(Bound::Numbers),
        }
    }

    /// Goes on from a state, unless it has no actions or lies at the greatest depth.
    fn enter(&mut self, state: M::State, id: Id, rank: u32, level: u32) {
        self.counts.depth = self.counts.depth.max(level);
        let mut actions = Vec::new();
        if let Err(objection) = self.shared.look(self.shared.model, &state, &mut actions) {
            self.shared.offer_state(id, level, objection);
            return self.shared.stop();
        }
        if actions.is_empty() {
            return;
        }
        if self.shared.options.max_depth.is_some_and(|depth| level >= depth) {
            if self.shared.visited.cut(id, level) {
                self.shared.cut(1);
            }
            return;
        }
        if self.pushed.is_multiple_of(SAMPLE) {
            let actions = actions.capacity() * size_of::<M::Action>();
            self.shared.sample(&state, size_of::<Frame<M>>() + actions);
        }
        self.pushed = self.pushed.wrapping_add(1);
        self.counts.frontier += actions.len() as i64;
        self.counts.held += 1;
        let actions = actions.into_iter();
        self.open(Frame { state, id, rank, level, actions, place: 0, has_successor: false });
    }

    /// Goes on from a state that was reached in more steps before.
    fn enter_again(&mut self, state: M::State, id: Id, rank: u32, level: u32) {
        if self.shared.visited.uncut(id) {
            self.shared.cut(-1);
        }
        self.enter(state, id, rank, level);
    }

    fn open(&mut self, frame: Frame<M>) {
        if self.shared.has_colours() {
            self.shared.visited.set_on_stack(frame.id, true);
        }
        self.stack.push(frame);
    }

    /// All actions of the topmost state are taken.
    fn leave(&mut self) {
        let frame = self.stack.pop().expect("a state to leave");
        self.lowest = self.lowest.min(self.stack.len());
        self.counts.held -= 1;
        if self.shared.has_colours() {
            self.shared.visited.set_on_stack(frame.id, false);
        }
        if !frame.has_successor
            && let Err(objection) = self.shared.rest(self.shared.model, &frame.state)
        {
            self.shared.offer_state(frame.id, frame.level, objection);
            self.shared.stop();
        }
    }

    /// Gives the later half of the actions of the state nearest to the start to the pool. A state of
    /// which nobody knows yet whether it has a successor is not divided.
    fn give(&mut self) {
        let spent = |frame: &Frame<M>| frame.actions.len() <= 1;
        while self.stack.get(self.lowest).is_some_and(spent) {
            self.lowest += 1;
        }
        let Some(frame) = self.stack.get_mut(self.lowest).filter(|frame| frame.has_successor)
        else {
            return;
        };
        let mut ours: Vec<M::Action> = frame.actions.by_ref().collect();
        let theirs = ours.split_off(ours.len().div_ceil(2)).into_iter();
        let place = frame.place + ours.len() as u32;
        frame.actions = ours.into_iter();
        let Frame { id, rank, level, .. } = *frame;
        let state = frame.state.clone();
        let given = Frame { state, id, rank, level, actions: theirs, place, has_successor: true };
        self.counts.held += 1;
        self.pool.give(given);
    }
}

impl<M: Model> Pool<M> {
    fn new(workers: usize) -> Pool<M> {
        let inner = Inner { frames: Vec::new(), idle: 0, is_over: false };
        Pool {
            inner: Mutex::new(inner),
            changed: Condvar::new(),
            hungry: AtomicBool::new(false),
            workers,
        }
    }

    /// Something to do, waited for; nothing when everybody waits or the search was stopped.
    fn take(&self, shared: &Shared<'_, M>) -> Option<Frame<M>> {
        let mut inner = lock(&self.inner);
        inner.idle += 1;
        loop {
            if inner.is_over || shared.is_halted() {
                return None;
            }
            if let Some(frame) = inner.frames.pop() {
                inner.idle -= 1;
                self.note(&inner);
                return Some(frame);
            }
            if inner.idle == self.workers {
                inner.is_over = true;
                self.changed.notify_all();
                return None;
            }
            self.note(&inner);
            let waited = self.changed.wait_timeout(inner, NAP);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn give(&self, frame: Frame<M>) {
        let mut inner = lock(&self.inner);
        inner.frames.push(frame);
        self.note(&inner);
        self.changed.notify_one();
    }

    fn note(&self, inner: &Inner<M>) {
        self.hungry.store(inner.idle > inner.frames.len(), Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
