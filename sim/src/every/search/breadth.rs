//! Breadth-first search, in the order of world steps.
//!
//! Actions can take several steps, so the frontier is a queue of levels (Dial's algorithm). Level n holds the states
//! whose cheapest known path takes n steps. Every action takes at least one step, so when level n is next, its states
//! have their least cost, and their successors belong to later levels. If a state is found again at a lower cost, it
//! moves to the lower level; the search skips its stale copy later.
//!
//! Between two levels, a model that has grown much larger than the waiting states need is replaced by one that holds
//! only what they need ([`super::renewal`]).
//!
//! A violation of cost n is reported when all levels below n are done: no other violation can be shorter, and the
//! choice among equally short ones does not depend on the threads.

use super::super::model::Model;
use super::super::outcome::Bound;
use super::super::visited::{Arrival, Id, Met};
use super::checkpoint::{self, Checkpoint, Checkpoints};
use super::shared::{Counts, Shared};
use super::step::{Taken, may_close};
use super::{in_thread, resume};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of states in a chunk, the unit of work for a worker.
const CHUNK: usize = 64;

/// A state that waits to be expanded.
struct Waiting<S> {
    state: S,
    id: Id,
    /// The low bits of the state's fingerprint.
    rank: u32,
}

type Chunk<S> = Vec<Waiting<S>>;

/// The queue of levels.
struct Frontier<S> {
    levels: Mutex<BTreeMap<u32, Vec<Chunk<S>>>>,
    /// True if a state has moved to a cheaper level, so that there are stale copies.
    moved: AtomicBool,
}

/// The work of one thread on a level.
struct Worker<'a, M: Model> {
    shared: &'a Shared<'a, M>,
    /// The model of these states.
    model: &'a M,
    frontier: &'a Frontier<M::State>,
    /// Chunks being filled, by level.
    filling: Vec<(u32, Chunk<M::State>)>,
    actions: Vec<M::Action>,
    counts: Counts,
}

/// Searches breadth first.
pub(super) fn search<M: Model>(shared: &Shared<'_, M>) {
    let frontier = Frontier { levels: Mutex::default(), moved: AtomicBool::new(false) };
    match shared.resumed() {
        None => Worker::new(shared, shared.model, &frontier).start(),
        Some(checkpoint) => {
            if let Err(sentence) = frontier.restore(shared, checkpoint) {
                shared.halt(Bound::Checkpoint(sentence));
            }
        }
    }
    // A thread drops replaced models, which can be gigabytes in small allocations.
    let (outlived, to_drop) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| to_drop.into_iter().for_each(drop::<Arc<M>>));
        levels(shared, &frontier, outlived);
    });
    frontier.discard(shared.options.threads.get());
}

/// Expands one level after the other.
fn levels<M: Model>(
    shared: &Shared<'_, M>,
    frontier: &Frontier<M::State>,
    outlived: Sender<Arc<M>>,
) {
    loop {
        if shared.is_paused() {
            frontier.save(shared);
            shared.pause(false);
        }
        if let Some(model) = frontier.show(|states| shared.renew_if_due(states)) {
            // The send fails only if dropping a model has panicked.
            let _ = outlived.send(model);
        }
        let Some((level, chunks)) = frontier.next() else { break };
        if shared.is_halted() || shared.is_settled(level) {
            frontier.put_back(level, chunks);
            break;
        }
        let newest = shared.newest();
        let model = newest.as_deref().unwrap_or(shared.model);
        let workers = shared.options.threads.get().min(chunks.len());
        let chunks = Mutex::new(chunks);
        in_threads(workers, || Worker::new(shared, model, frontier).expand_all(level, &chunks));
        frontier.put_back(level, chunks.into_inner().unwrap_or_else(PoisonError::into_inner));
    }
    // A violation ends a search for good; a bound does not.
    if shared.bound().is_some_and(|bound| bound.is_external()) {
        frontier.save(shared);
    }
}

/// Runs `work` in several threads, one of which is the caller's.
fn in_threads(threads: usize, work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        for _ in 1..threads {
            in_thread(scope, &work);
        }
        work();
    });
}

impl<S: Send> Frontier<S> {
    /// Removes and returns the states of the lowest level.
    fn next(&self) -> Option<(u32, Vec<Chunk<S>>)> {
        lock(&self.levels).pop_first()
    }

    fn add(&self, level: u32, chunk: Chunk<S>) {
        lock(&self.levels).entry(level).or_default().push(chunk);
    }

    /// Passes all states to `show`, which may convert them to another model.
    fn show<T>(&self, show: impl FnOnce(&mut dyn Iterator<Item = &mut S>) -> T) -> T {
        let mut levels = lock(&self.levels);
        show(&mut levels.values_mut().flatten().flatten().map(|waiting| &mut waiting.state))
    }

    fn put_back(&self, level: u32, mut chunks: Vec<Chunk<S>>) {
        if !chunks.is_empty() {
            lock(&self.levels).entry(level).or_default().append(&mut chunks);
        }
    }

    /// Writes a checkpoint, if the search keeps any.
    fn save<M: Model<State = S>>(&self, shared: &Shared<'_, M>) {
        let Some(Checkpoints { file, .. }) = &shared.options.checkpoints else { return };
        let levels = lock(&self.levels);
        let all = levels.iter().flat_map(|(level, chunks)| {
            chunks.iter().flatten().map(|waiting| (waiting.id, *level))
        });
        // A state that has moved to a cheaper level also waits there.
        let waiting: Vec<(Id, u32)> =
            all.filter(|(id, level)| shared.visited.level(*id) == *level).collect();
        let header = shared.header(shared.started.elapsed());
        let written =
            checkpoint::write(file, &shared.options.of, header, &shared.visited, &waiting);
        shared.wrote(written.map_err(|error| format!("`{}`: {error}", file.display())));
    }

    /// Reads the table of visited states from a checkpoint, and makes the waiting states anew.
    ///
    /// # Errors
    /// One sentence about why that cannot be done.
    fn restore<M: Model<State = S>>(
        &self,
        shared: &Shared<'_, M>,
        checkpoint: &Checkpoint,
    ) -> Result<(), String> {
        let waiting = checkpoint.states_of(&shared.visited).map_err(|error| error.to_string())?;
        shared.wait_again(waiting.len());
        resume::anew(shared, &waiting, |state, id, level, rank| {
            let mut levels = lock(&self.levels);
            let chunks = levels.entry(level).or_default();
            if chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
                chunks.push(Vec::with_capacity(CHUNK));
            }
            chunks.last_mut().expect("one was just added").push(Waiting { state, id, rank });
        })
    }

    /// Drops the rest of the frontier, which can be gigabytes in small allocations, with all threads.
    fn discard(&self, threads: usize) {
        let levels = std::mem::take(&mut *lock(&self.levels));
        let chunks = Mutex::new(levels.into_values().flatten().collect::<Vec<_>>());
        let pieces = lock(&chunks).len();
        in_threads(threads.min(pieces), || while pop(&chunks).is_some() {});
    }
}

impl<'a, M: Model> Worker<'a, M> {
    fn new(
        shared: &'a Shared<'a, M>,
        model: &'a M,
        frontier: &'a Frontier<M::State>,
    ) -> Worker<'a, M> {
        let counts = Counts::default();
        Worker { shared, model, frontier, filling: Vec::new(), actions: Vec::new(), counts }
    }

    /// Enters the initial states.
    fn start(mut self) {
        let states = self.shared.model.init_states();
        assert!(!states.is_empty(), "a model has an initial state");
        for (place, state) in (0..).zip(states) {
            self.counts.generated += 1;
            if let Some(fingerprint) = self.shared.initial(&state, place) {
                let arrival = Arrival { from: None, rank: 0, action: place, level: 0 };
                // Equal initial states are entered once.
                let met = self.shared.visited.insert(fingerprint, arrival);
                if let Met::New(id) = met {
                    self.counts.distinct += 1;
                    self.counts.frontier += 1;
                    self.wait(Waiting { state, id, rank: fingerprint.0 as u32 }, 0);
                }
            }
        }
        self.finish();
    }

    /// Expands states of a level while there are any.
    fn expand_all(mut self, level: u32, chunks: &Mutex<Vec<Chunk<M::State>>>) {
        while !self.must_stop()
            && let Some(chunk) = pop(chunks)
        {
            let mut waiting = chunk.into_iter();
            while !self.must_stop()
                && let Some(waiting) = waiting.next()
            {
                self.counts.held -= 1;
                if !self.is_stale(&waiting, level) {
                    self.counts.frontier -= 1;
                    self.counts.depth = level;
                    self.expand(&waiting, level);
                }
                self.shared.count(&mut self.counts);
            }
            let rest: Chunk<M::State> = waiting.collect();
            if !rest.is_empty() {
                lock(chunks).push(rest);
            }
        }
        self.finish();
    }

    /// Returns true if no further state is to be expanded now. A state is always expanded whole, so that a checkpoint
    /// leaves nothing out.
    fn must_stop(&self) -> bool {
        self.shared.is_halted() || self.shared.is_paused()
    }

    fn finish(mut self) {
        for (level, chunk) in std::mem::take(&mut self.filling) {
            self.frontier.add(level, chunk);
        }
        self.shared.flush(&mut self.counts);
    }

    /// Returns true if the state was expanded at a cheaper level.
    fn is_stale(&self, waiting: &Waiting<M::State>, level: u32) -> bool {
        self.frontier.moved.load(Ordering::Relaxed)
            && self.shared.visited.level(waiting.id) != level
    }

    fn expand(&mut self, waiting: &Waiting<M::State>, level: u32) {
        let mut actions = std::mem::take(&mut self.actions);
        let looked = self.shared.look(self.model, &waiting.state, &mut actions);
        if let Err(objection) = looked {
            self.shared.offer_state(waiting.id, level, objection);
        } else if !actions.is_empty() {
            if self.shared.options.max_depth.is_some_and(|depth| level >= depth) {
                self.shared.cut(1);
            } else {
                self.take_all(waiting, level, &mut actions);
            }
        }
        self.actions = actions;
    }

    fn take_all(&mut self, waiting: &Waiting<M::State>, level: u32, actions: &mut Vec<M::Action>) {
        let mut has_successor = false;
        for (place, action) in (0..).zip(actions.drain(..)) {
            match self.shared.take(self.model, &waiting.state, action) {
                Taken::Nothing => continue,
                Taken::Objected(objection, length) => {
                    self.shared.offer_step(waiting.id, level, place, length, objection);
                }
                Taken::Reached { state, fingerprint, length, progress } => {
                    let there = level.saturating_add(length);
                    let Waiting { id, rank, .. } = *waiting;
                    let arrival = Arrival { from: Some(id), rank, action: place, level: there };
                    let met = self.shared.visited.insert(fingerprint, arrival);
                    self.counts.may_close += u64::from(may_close(progress, is_deeper(met, level)));
                    self.meet(met, state, fingerprint.0 as u32, there);
                }
            }
            has_successor = true;
            self.counts.generated += 1;
        }
        if !has_successor && let Err(objection) = self.shared.rest(self.model, &waiting.state) {
            self.shared.offer_state(waiting.id, level, objection);
        }
    }

    fn meet(&mut self, met: Met, state: M::State, rank: u32, level: u32) {
        match met {
            Met::New(id) => {
                self.counts.distinct += 1;
                self.counts.frontier += 1;
                self.wait(Waiting { state, id, rank }, level);
            }
            Met::Cheaper(id) => {
                self.frontier.moved.store(true, Ordering::Relaxed);
                self.wait(Waiting { state, id, rank }, level);
            }
            Met::Known { .. } => {}
            Met::Full => self.shared.halt(Bound::Numbers),
        }
    }

    fn wait(&mut self, waiting: Waiting<M::State>, level: u32) {
        self.counts.held += 1;
        let known = self.filling.iter().position(|(filling, _)| *filling == level);
        let place = known.unwrap_or_else(|| {
            self.shared.sample(&waiting.state, size_of::<Waiting<M::State>>());
            self.filling.push((level, Vec::with_capacity(CHUNK)));
            self.filling.len() - 1
        });
        self.filling[place].1.push(waiting);
        if self.filling[place].1.len() == CHUNK {
            let (level, chunk) = self.filling.swap_remove(place);
            self.frontier.add(level, chunk);
        }
    }
}

/// Returns true if a state that was met is deeper than this level. A new state is, since each action takes a step.
fn is_deeper(met: Met, than: u32) -> bool {
    !matches!(met, Met::Known { level, .. } if level <= than)
}

fn pop<T>(pieces: &Mutex<Vec<T>>) -> Option<T> {
    lock(pieces).pop()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
