//! Depth-first search: each worker follows one path as far as possible, and backtracks where all states are known.
//!
//! Only the states on the current path are held. A single worker knows which states are on the path, so it detects an
//! action that leads back to one of them: a cycle. Several workers share the work: a busy worker gives half of the
//! actions of its state nearest to the start to an idle one. A state that another worker reached first is skipped, so
//! several workers cannot detect cycles.
//!
//! With a greatest depth, a state that is reached again in fewer steps is expanded again, because more of its
//! successors now lie within the bound. Otherwise a state first reached at the bound would hide all its successors.

use super::super::model::Model;
use super::super::outcome::Bound;
use super::super::visited::{Arrival, Id, Met};
use super::in_thread;
use super::shared::{Counts, Shared};
use super::step::{Taken, may_close};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::vec::IntoIter;

/// How long an idle worker sleeps before it checks whether the search was stopped.
const NAP: Duration = Duration::from_millis(5);

/// The size of one entered state in this many is sampled.
const SAMPLE: u32 = 64;

/// A state on the path, with the actions that were not taken yet.
struct Frame<M: Model> {
    state: M::State,
    id: Id,
    rank: u32,
    level: u32,
    actions: IntoIter<M::Action>,
    /// The index of the next action.
    place: u32,
    has_successor: bool,
}

/// A pool of work for idle workers.
struct Pool<M: Model> {
    inner: Mutex<Inner<M>>,
    changed: Condvar,
    /// True if a worker waits and the pool has no work for it.
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
    /// No state below this index of the stack has actions to give away.
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

    /// Searches from the initial states, one after the other. An initial state that waits for its turn must not count
    /// as visited, or paths through it would be cut off.
    fn start(&mut self) {
        let states = self.shared.model.init_states();
        assert!(!states.is_empty(), "a model has an initial state");
        for (place, state) in (0..).zip(states) {
            if self.shared.is_halted() {
                // The state is known but was not expanded.
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
                // Reached from another initial state before; with a greatest depth, perhaps too close to the bound.
                Met::Cheaper(id) => self.enter_again(state, id, fingerprint.0 as u32, 0),
                Met::Known { .. } => {}
                Met::Full => self.shared.halt(Bound::Numbers),
            }
            self.work();
        }
        self.shared.flush(&mut self.counts);
    }

    /// Works on frames from the pool until no worker has any work.
    fn help(&mut self) {
        while let Some(frame) = self.pool.take(self.shared) {
            self.open(frame);
            self.work();
            self.shared.flush(&mut self.counts);
        }
    }

    /// Works until the stack is empty or the search is stopped.
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
            Taken::Reached { state, fingerprint, length, progress } => {
                self.counts.generated += 1;
                let level = from.saturating_add(length);
                let arrival = Arrival { from: Some(id), rank, action: place, level };
                let met = self.shared.visited.insert(fingerprint, arrival);
                let deeper = self.is_deeper(met, from);
                self.counts.may_close += u64::from(may_close(progress, deeper));
                self.meet(met, state, fingerprint.0 as u32, level);
            }
        }
    }

    /// Returns true if a state that was met is proven to be deeper than this level.
    fn is_deeper(&self, met: Met, than: u32) -> bool {
        let bounded = self.shared.options.max_depth.is_some();
        match met {
            Met::New(_) | Met::Full => true,
            Met::Cheaper(_) => false,
            // With a greatest depth, levels can be lowered later, so a higher level is no proof.
            Met::Known { level, on_stack } => on_stack || level > than && !bounded,
        }
    }

    fn meet(&mut self, met: Met, state: M::State, rank: u32, level: u32) {
        match met {
            Met::New(id) => {
                self.counts.distinct += 1;
                self.enter(state, id, rank, level);
            }
            Met::Cheaper(id) => {
                self.enter_again(state, id, rank, level);
            }
            Met::Known { on_stack: true, .. } => self.counts.cycles += 1,
            Met::Known { .. } => {}
            Met::Full => self.shared.halt(Bound::Numbers),
        }
    }

    /// Enters a state, unless it has no actions or lies at the greatest depth.
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

    /// Enters a state that was reached in more steps before.
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

    /// Leaves the topmost state after all its actions were taken.
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

    /// Gives the later half of the actions of the state nearest to the start to the pool. A state without a known
    /// successor is not divided, because the worker must still find out whether it is at rest.
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

    /// Waits for work and takes it. Returns `None` when all workers wait or the search was stopped.
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
