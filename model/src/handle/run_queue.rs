//! The tasks of one program and the order in which they run: first in, first out.
//!
//! A task enters the queue when it is spawned or woken. The queue is open for a run only between an
//! input and the moment when nothing is left to do. A wake at any other time comes from outside the
//! handle (another program, another runtime's timer); it is kept for the next input, so that every
//! host runs the same tasks at the same input, and noted, because such a program is no function of
//! its inputs.

use super::transport::BoxFuture;
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// A lock is poisoned only by a broken assertion, which is on its way up already.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Number of the task that is the program itself.
pub(super) const MAIN: u64 = 0;

/// A future and its place in the queue.
pub(super) struct Task {
    /// In order of spawning.
    pub(super) number: u64,
    /// `None` while it is polled and after its end.
    future: Mutex<Option<BoxFuture<()>>>,
    /// In the queue already, or past its end: a wake changes nothing.
    queued: AtomicBool,
    queue: Arc<RunQueue>,
}

/// How one poll of a task ended.
pub(super) enum Ran {
    /// It waits for something.
    Pending,
    /// It returned, and its future is dropped.
    Done,
    /// It panicked, with this message.
    Panicked(String),
}

impl Task {
    /// Polls the task's future once. A panic, also one in its destructor, is caught.
    pub(super) fn run(self: &Arc<Task>) -> Ran {
        let Some(mut future) = lock(&self.future).take() else {
            return Ran::Pending;
        };
        self.queued.store(false, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(self));
        let polled = catch_unwind(AssertUnwindSafe(|| {
            future.as_mut().poll(&mut Context::from_waker(&waker))
        }));
        match polled {
            Ok(Poll::Pending) => {
                *lock(&self.future) = Some(future);
                Ran::Pending
            }
            Ok(Poll::Ready(())) => {
                self.queued.store(true, Ordering::Relaxed);
                match dropped(future) {
                    Ok(()) => Ran::Done,
                    Err(message) => Ran::Panicked(message),
                }
            }
            Err(payload) => {
                self.queued.store(true, Ordering::Relaxed);
                // The first panic is the one to report.
                let _ = dropped(future);
                Ran::Panicked(message(&*payload))
            }
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
        }
    }
}

/// Drops a program's value; the message if its destructor panics.
fn dropped<T>(value: T) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| drop(value))).map_err(|payload| message(&*payload))
}

/// What a panic said.
fn message(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic whose payload is no text".to_owned()
    }
}

/// Between the port, which wakes tasks, and the executor, which runs them.
pub(super) struct RunQueue {
    inner: Mutex<Inner>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Waits for an input.
    Blocked,
    /// Has an input to work on.
    Fed,
    /// The program has ended: nothing runs any more.
    Ended,
    /// And its executor is dropped.
    Gone,
}

struct Inner {
    phase: Phase,
    ready: VecDeque<Arc<Task>>,
    live: BTreeMap<u64, Arc<Task>>,
    next: u64,
    foreign: bool,
    /// Wakes whatever polls the executor, where the executor is itself a future.
    host: Option<Waker>,
}

impl RunQueue {
    pub(super) fn new() -> Arc<RunQueue> {
        Arc::new(RunQueue {
            inner: Mutex::new(Inner {
                phase: Phase::Blocked,
                ready: VecDeque::new(),
                live: BTreeMap::new(),
                next: MAIN,
                foreign: false,
                host: None,
            }),
        })
    }

    /// Adds a task, ready to run. After the end it is dropped instead.
    pub(super) fn spawn(self: &Arc<RunQueue>, future: BoxFuture<()>) {
        let mut inner = lock(&self.inner);
        if inner.has_ended() {
            drop(inner);
            let _ = dropped(future);
            return;
        }
        let task = Arc::new(Task {
            number: inner.next,
            future: Mutex::new(Some(future)),
            queued: AtomicBool::new(true),
            queue: Arc::clone(self),
        });
        inner.next += 1;
        inner.live.insert(task.number, Arc::clone(&task));
        inner.ready.push_back(task);
    }

    fn push(&self, task: Arc<Task>) {
        let mut inner = lock(&self.inner);
        if inner.has_ended() {
            return;
        }
        inner.foreign |= inner.phase == Phase::Blocked;
        inner.ready.push_back(task);
    }

    /// An input is being delivered: from now on the program may run.
    pub(super) fn open(&self) {
        let mut inner = lock(&self.inner);
        assert!(inner.phase == Phase::Blocked, "a program gets one input at a time");
        inner.phase = Phase::Fed;
    }

    /// The input is delivered: wakes the host if there is anything to run.
    pub(super) fn wake_host(&self) {
        let mut inner = lock(&self.inner);
        if inner.ready.is_empty() && inner.phase == Phase::Fed {
            inner.phase = Phase::Blocked;
        } else if let Some(host) = inner.host.clone() {
            drop(inner);
            host.wake();
        }
    }

    /// Remembers whom to wake for an input.
    pub(super) fn set_host(&self, waker: &Waker) {
        let mut inner = lock(&self.inner);
        if !inner.host.as_ref().is_some_and(|host| host.will_wake(waker)) {
            let old = inner.host.replace(waker.clone());
            drop(inner);
            drop(old);
        }
    }

    /// The next task to run; `None` when the program is blocked (again).
    pub(super) fn pop(&self) -> Option<Arc<Task>> {
        let mut inner = lock(&self.inner);
        if inner.phase != Phase::Fed {
            return None;
        }
        let next = inner.ready.pop_front();
        if next.is_none() {
            inner.phase = Phase::Blocked;
        }
        next
    }

    /// Forgets a task that is done.
    pub(super) fn retire(&self, number: u64) {
        let task = lock(&self.inner).live.remove(&number);
        drop(task);
    }

    /// Ends everything: the remaining futures are dropped in the order of their spawning. What
    /// their destructors panic with is nobody's affair any more.
    pub(super) fn end(&self) {
        let (ready, live) = {
            let mut inner = lock(&self.inner);
            inner.phase = Phase::Ended;
            (std::mem::take(&mut inner.ready), std::mem::take(&mut inner.live))
        };
        for task in live.values() {
            task.queued.store(true, Ordering::Relaxed);
            let future = lock(&task.future).take();
            let _ = dropped(future);
        }
        drop((ready, live));
    }

    /// The executor is dropped.
    pub(super) fn set_gone(&self) {
        let host = {
            let mut inner = lock(&self.inner);
            inner.phase = Phase::Gone;
            inner.host.take()
        };
        drop(host);
    }

    /// Whether the program has nothing to run.
    pub(super) fn is_blocked(&self) -> bool {
        lock(&self.inner).phase != Phase::Fed
    }

    pub(super) fn is_gone(&self) -> bool {
        lock(&self.inner).phase == Phase::Gone
    }

    pub(super) fn is_foreign(&self) -> bool {
        lock(&self.inner).foreign
    }
}

impl Inner {
    fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended | Phase::Gone)
    }
}
