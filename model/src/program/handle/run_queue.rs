//! The tasks of one program in the order in which they run: first in, first out.
//!
//! A task enters the queue when it is spawned or woken. Tasks run only between an input and the moment when none is
//! ready. A wake at any other time comes from outside the handle (another program, another runtime's timer). It takes
//! effect at the next input, so that every host runs the same tasks at the same input, and it is recorded, because
//! such a program is not a function of its inputs.

use super::transport::BoxFuture;
use crate::vocabulary::words::panic_message;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Ignores poisoning: only a failed assertion poisons a lock, and it is already unwinding.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of the task that is the program itself.
pub(super) const MAIN: u64 = 0;

/// A future and its place in the queue.
pub(super) struct Task {
    /// In the order of spawning.
    pub(super) number: u64,
    /// `None` after the task's end.
    future: Mutex<Option<BoxFuture<()>>>,
    /// True if the task is in the queue or has ended; a wake then has no effect.
    queued: AtomicBool,
    queue: Arc<RunQueue>,
}

/// How one poll of a task ended.
pub(super) enum Ran {
    /// It is blocked.
    Pending,
    /// It returned, and its future was dropped.
    Done,
    /// It panicked, with this message.
    Panicked(String),
}

impl Task {
    /// Polls the task's future once. Catches panics, also those of its destructor.
    pub(super) fn run(self: &Arc<Task>) -> Ran {
        // Held while the program runs; the program cannot reach this lock.
        let mut place = lock(&self.future);
        let Some(future) = place.as_mut() else {
            return Ran::Pending;
        };
        self.queued.store(false, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(self));
        let polled = catch_unwind(AssertUnwindSafe(|| {
            future.as_mut().poll(&mut Context::from_waker(&waker))
        }));
        if let Ok(Poll::Pending) = polled {
            return Ran::Pending;
        }
        self.queued.store(true, Ordering::Relaxed);
        let future = place.take();
        drop(place);
        match (polled, dropped(future)) {
            // Of two panics, the first is reported.
            (Err(payload), _) => Ran::Panicked(panic_message(&*payload).to_owned()),
            (Ok(_), Err(message)) => Ran::Panicked(message),
            (Ok(_), Ok(())) => Ran::Done,
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Task>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Task>) {
        if !self.queued.swap(true, Ordering::Relaxed) {
            self.queue.push(Arc::clone(self));
        } else if self.queue.is_gone() {
            // The whole program is gone, so this wake comes from outside it.
            self.queue.foreign.store(true, Ordering::Relaxed);
        }
    }
}

/// Drops a value of the program. Returns the message if its destructor panics.
fn dropped<T>(value: T) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| drop(value)))
        .map_err(|payload| panic_message(&*payload).to_owned())
}

/// The queue between the port, which wakes tasks, and the executor, which runs them.
pub(super) struct RunQueue {
    phase: AtomicU8,
    foreign: AtomicBool,
    tasks: Mutex<Tasks>,
    /// Wakes the runtime that polls the executor, if the executor is used as a future.
    host: Mutex<Option<Waker>>,
}

/// Waiting for an input.
const BLOCKED: u8 = 0;
/// Working on an input.
const FED: u8 = 1;
/// The program has ended: no task runs any more.
const ENDED: u8 = 2;
/// The program has ended and its executor was dropped.
const GONE: u8 = 3;

#[derive(Default)]
struct Tasks {
    ready: VecDeque<Arc<Task>>,
    live: BTreeMap<u64, Arc<Task>>,
    next: u64,
}

impl RunQueue {
    pub(super) fn new() -> Arc<RunQueue> {
        Arc::new(RunQueue {
            phase: AtomicU8::new(BLOCKED),
            foreign: AtomicBool::new(false),
            tasks: Mutex::new(Tasks { next: MAIN + 1, ..Tasks::default() }),
            host: Mutex::new(None),
        })
    }

    /// Adds a task, ready to run. After the program's end it is dropped instead.
    pub(super) fn spawn(self: &Arc<RunQueue>, future: BoxFuture<()>) {
        let mut tasks = lock(&self.tasks);
        if self.phase() >= ENDED {
            drop(tasks);
            let _ = dropped(future);
            return;
        }
        let task = self.task(tasks.next, future);
        tasks.next += 1;
        tasks.live.insert(task.number, Arc::clone(&task));
        tasks.ready.push_back(task);
    }

    /// Adds a round of the program's main task, in front of all other tasks: it continues where the previous round
    /// has ended.
    pub(super) fn spawn_main(self: &Arc<RunQueue>, future: BoxFuture<()>) {
        let mut tasks = lock(&self.tasks);
        let task = self.task(MAIN, future);
        let before = tasks.live.insert(MAIN, Arc::clone(&task));
        assert!(before.is_none(), "a program is in one round at a time");
        tasks.ready.push_front(task);
    }

    fn task(self: &Arc<RunQueue>, number: u64, future: BoxFuture<()>) -> Arc<Task> {
        Arc::new(Task {
            number,
            future: Mutex::new(Some(future)),
            queued: AtomicBool::new(true),
            queue: Arc::clone(self),
        })
    }

    fn push(&self, task: Arc<Task>) {
        let mut tasks = lock(&self.tasks);
        match self.phase() {
            FED => {}
            BLOCKED => self.foreign.store(true, Ordering::Relaxed),
            _ => return,
        }
        tasks.ready.push_back(task);
    }

    /// Begins the delivery of an input: from now on the program may run.
    pub(super) fn open(&self) {
        assert!(self.phase() == BLOCKED, "a program gets one input at a time");
        self.phase.store(FED, Ordering::Relaxed);
    }

    /// Ends the delivery of an input: wakes the host if a task is ready.
    pub(super) fn wake_host(&self) {
        if lock(&self.tasks).ready.is_empty() {
            self.phase.store(BLOCKED, Ordering::Relaxed);
            return;
        }
        let host = lock(&self.host).clone();
        host.into_iter().for_each(Waker::wake);
    }

    /// Stores the waker to wake after an input.
    pub(super) fn set_host(&self, waker: &Waker) {
        let mut host = lock(&self.host);
        if !host.as_ref().is_some_and(|host| host.will_wake(waker)) {
            let old = host.replace(waker.clone());
            drop(host);
            drop(old);
        }
    }

    /// Returns the next task to run; `None` if the program is blocked.
    pub(super) fn pop(&self) -> Option<Arc<Task>> {
        if self.phase() != FED {
            return None;
        }
        let next = lock(&self.tasks).ready.pop_front();
        if next.is_none() {
            self.phase.store(BLOCKED, Ordering::Relaxed);
        }
        next
    }

    /// Returns the number of tasks ever spawned, including the program itself.
    pub(super) fn spawned(&self) -> u64 {
        lock(&self.tasks).next
    }

    /// Forgets a task that has ended.
    pub(super) fn retire(&self, number: u64) {
        let task = lock(&self.tasks).live.remove(&number);
        drop(task);
    }

    /// Returns the number of tasks that have not ended.
    pub(super) fn live(&self) -> usize {
        lock(&self.tasks).live.len()
    }

    /// Ends the program: drops the remaining futures in the order of spawning. Panics of their destructors are
    /// ignored.
    pub(super) fn end(&self) {
        let (ready, live) = {
            let mut tasks = lock(&self.tasks);
            self.phase.store(ENDED, Ordering::Relaxed);
            (std::mem::take(&mut tasks.ready), std::mem::take(&mut tasks.live))
        };
        for task in live.values() {
            task.queued.store(true, Ordering::Relaxed);
            let future = lock(&task.future).take();
            let _ = dropped(future);
        }
        drop((ready, live));
    }

    /// Records that the executor was dropped.
    pub(super) fn set_gone(&self) {
        let host = lock(&self.host).take();
        self.phase.store(GONE, Ordering::Relaxed);
        drop(host);
    }

    /// Returns true if no task is ready to run.
    pub(super) fn is_blocked(&self) -> bool {
        self.phase() != FED
    }

    pub(super) fn is_gone(&self) -> bool {
        self.phase() == GONE
    }

    pub(super) fn is_foreign(&self) -> bool {
        self.foreign.load(Ordering::Relaxed)
    }

    /// One thread at a time runs a program; the atomics only make its handle `Sync`.
    fn phase(&self) -> u8 {
        self.phase.load(Ordering::Relaxed)
    }
}
