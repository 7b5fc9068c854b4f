//! A simulated process: a port and an executor that run together.

use super::executor::{Began, Executor};
use super::port::{Pending, Port};
use super::run_queue::RunQueue;
use super::transport::Unseen;
use super::{Carried, Program};
use crate::program::host::{Input, Output};
use crate::vocabulary::id::{CallId, ClientId};
use std::fmt;
use std::sync::Arc;

/// A program that runs whenever it is fed an input. Dropping it kills the process: first its handle is closed, then
/// its futures are dropped.
///
/// ```
/// use vivarium_model::handle::{Process, program};
/// use vivarium_model::host::{Input, Operation, Outcome, Output};
/// use vivarium_model::id::{CallId, ClientId};
/// use std::time::Duration;
///
/// let sleeper = program(|zookeeper| async move {
///     zookeeper.sleep(Duration::from_secs(1)).await;
///     Ok(())
/// });
/// let mut process = Process::new(ClientId(1), &sleeper);
/// let mut outputs = Vec::new();
///
/// process.feed(Input::Start, &mut outputs);
/// let operation = Operation::Sleep(Duration::from_secs(1));
/// assert_eq!(outputs, [Output::Submit { call: CallId(0), operation }]);
///
/// outputs.clear();
/// process.feed(Input::Reply { call: CallId(0), outcome: Outcome::Elapsed }, &mut outputs);
/// assert_eq!(outputs, [Output::Finished(Ok(()))]);
/// ```
#[derive(Debug)]
pub struct Process {
    pub(super) port: Arc<Port>,
    executor: Executor,
}

impl Process {
    /// Returns a process that has not run yet: its first input is [`Input::Start`].
    pub fn new(client: ClientId, program: &Program) -> Process {
        let port = Port::new(client);
        Process { executor: Executor::new(Arc::clone(&port), program), port }
    }

    /// Like [`Process::new`], but the first round begins with this state.
    pub fn at(client: ClientId, program: &Program, state: Carried) -> Process {
        let port = Port::new(client);
        Process { executor: Executor::at(Arc::clone(&port), program, Some(state)), port }
    }

    /// Delivers one input, runs the program until it blocks, and appends its outputs to `outputs`.
    ///
    /// # Panics
    /// If the program cannot get this input, see [`Port::deliver`].
    pub fn feed(&mut self, input: Input, outputs: &mut Vec<Output>) {
        self.port.deliver(input);
        self.executor.run();
        self.port.take_outputs(outputs);
    }

    /// Returns true if the program has neither returned nor panicked.
    pub fn is_running(&self) -> bool {
        self.port.is_open()
    }

    /// Returns true if the program was woken by something other than its handle, see [`Port::is_foreign`].
    pub fn is_foreign(&self) -> bool {
        self.port.is_foreign()
    }

    /// Returns the last round since the previous call that depends only on its state, see `Executor::take_began`. If
    /// this is called after each input, `said` counts outputs of that input.
    pub fn take_began(&mut self) -> Option<Began> {
        self.executor.take_began()
    }

    /// Returns the parts of pending replies that the program does not observe, see [`Port::unseen`].
    pub fn unseen(&self) -> Vec<(CallId, Unseen)> {
        self.port.unseen()
    }

    /// Returns the pending calls, see [`Port::pending`].
    pub fn pending(&self) -> Vec<(CallId, Pending)> {
        self.port.pending()
    }

    /// Returns true if the program has subscribed to the session's state, see [`Port::listens`].
    pub fn listens(&self) -> bool {
        self.port.listens()
    }

    /// Returns true if the program reads the session ids of changes, see [`Port::listens_for_sessions`].
    pub fn listens_for_sessions(&self) -> bool {
        self.port.listens_for_sessions()
    }

    /// Returns the number of tasks ever spawned, including the program itself.
    pub fn tasks(&self) -> u64 {
        self.port.queue().spawned()
    }

    /// Returns the number of tasks that have not ended, including the program itself.
    pub fn live_tasks(&self) -> usize {
        self.port.queue().live()
    }

    /// Returns the number of polls of its tasks.
    pub fn polls(&self) -> u64 {
        self.executor.polls()
    }

    /// Ends the process, and returns what can still be woken from outside.
    pub fn bury(self) -> Remains {
        Remains(Arc::clone(self.port.queue()))
    }
}

/// The remains of a process that has ended: nothing, unless code outside the program keeps one of its wakers.
pub struct Remains(Arc<RunQueue>);

impl Remains {
    /// Returns true if code outside the program still holds a waker of it.
    pub fn is_held(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Returns true if the program was ever woken by something other than its handle, before its end or after.
    pub fn is_foreign(&self) -> bool {
        self.0.is_foreign()
    }
}

impl fmt::Debug for Remains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remains")
            .field("held", &self.is_held())
            .field("foreign", &self.is_foreign())
            .finish()
    }
}
