//! Runs the tasks of one program: its main future, round by round, and its spawned tasks.
//!
//! It is single-threaded, first in first out, with real wakers: a no-op waker would starve futures that poll only
//! what was woken. It runs after an input was delivered to its port, until every task is blocked. It is itself a
//! future, so that a task of another runtime can host a program.

use super::port::Port;
use super::program::RoundEnd;
use super::run_queue::{MAIN, Ran, lock};
use super::{Carried, Program, ZooKeeper};
use crate::program::host::Output;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

/// The most polls of a program's tasks for one input. A program that needs more never blocks, because some task keeps
/// waking itself.
pub const POLLS_PER_INPUT: u32 = 100_000;

type Return = Arc<Mutex<Option<RoundEnd>>>;

/// The tasks of one program. Dropping it ends the process: first the port is closed, then the futures are dropped.
pub struct Executor {
    port: Arc<Port>,
    program: Program,
    returned: Return,
    began: Option<Began>,
    polls: u64,
}

/// The beginning of a round whose behaviour depends only on the round's state and later inputs.
pub struct Began {
    /// The round's state.
    pub state: Carried,
    /// Number of untaken outputs that precede it.
    pub said: usize,
}

impl Executor {
    /// Returns a process of `program` for `port`. No code of the program has run yet: even its factory is called
    /// during the first input.
    pub fn new(port: Arc<Port>, program: &Program) -> Executor {
        Executor::at(port, program, program.first())
    }

    /// Like [`Executor::new`], but the first round begins with this state.
    pub(super) fn at(port: Arc<Port>, program: &Program, state: Option<Carried>) -> Executor {
        let (program, returned) = (program.clone(), Return::default());
        let mut executor = Executor { port, program, returned, began: None, polls: 0 };
        executor.begin(state);
        executor
    }

    /// Begins a round after the previous one has ended.
    fn begin(&mut self, state: Option<Carried>) {
        if let Some(state) = &state
            && self.port.is_bare()
        {
            self.began = Some(Began { state: state.clone(), said: self.port.said() });
        }
        let handle = ZooKeeper::new(Arc::clone(&self.port) as Arc<_>);
        let (program, returned) = (self.program.clone(), Arc::clone(&self.returned));
        self.port.queue().spawn_main(Box::pin(async move {
            let result = program.round(handle, state).await;
            *lock(&returned) = Some(result);
        }));
    }

    /// Returns the last round since the previous call that depends only on its state, if there was one.
    pub(super) fn take_began(&mut self) -> Option<Began> {
        self.began.take()
    }

    /// Runs until every task is blocked. No effect unless an input was delivered.
    pub fn run(&mut self) {
        let mut polls = 0;
        while let Some(task) = self.port.queue().pop() {
            if polls == POLLS_PER_INPUT {
                let message = format!("the program does not block: {polls} polls for one input");
                return self.end(Output::Panicked(message));
            }
            polls += 1;
            self.polls += 1;
            match task.run() {
                Ran::Pending => {}
                Ran::Done if task.number == MAIN => {
                    let result = lock(&self.returned).take().expect("main has returned");
                    match result.transpose() {
                        Some(Ok(state)) => {
                            self.port.queue().retire(MAIN);
                            self.begin(Some(state));
                        }
                        Some(Err(error)) => return self.end(Output::Finished(Err(error))),
                        None => return self.end(Output::Finished(Ok(()))),
                    }
                }
                Ran::Done => self.port.queue().retire(task.number),
                Ran::Panicked(message) => return self.end(Output::Panicked(message)),
            }
        }
    }

    /// Returns the number of polls for all inputs so far.
    pub fn polls(&self) -> u64 {
        self.polls
    }

    /// Emits the program's last output, closes the port, then drops the futures.
    fn end(&mut self, last: Output) {
        self.port.finish(last);
        self.port.queue().end();
    }
}

impl Future for Executor {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.port.queue().set_host(context.waker());
        self.run();
        if self.port.is_open() { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.port.close();
        self.port.queue().end();
        self.port.queue().set_gone();
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("port", &self.port).finish_non_exhaustive()
    }
}
