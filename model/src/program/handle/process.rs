//! One simulated process: a port and an executor that run together.

use super::executor::{Began, Executor};
use super::port::{Pending, Port};
use super::run_queue::RunQueue;
use super::transport::Unseen;
use super::{Carried, Program};
use crate::program::host::{Input, Output};
use crate::vocabulary::id::{CallId, ClientId};
use std::fmt;
use std::sync::Arc;

/// A program that is run by whoever feeds it. Dropping it kills the process: its handle is closed
/// first, then its futures are dropped.
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
    /// A new process, not yet run: its first input is [`Input::Start`].
    pub fn new(client: ClientId, program: &Program) -> Process {
        let port = Port::new(client);
        Process { executor: Executor::new(Arc::clone(&port), program), port }
    }

    /// The same, but its first round begins with this state.
    pub fn at(client: ClientId, program: &Program, state: Carried) -> Process {
        let port = Port::new(client);
        Process { executor: Executor::at(Arc::clone(&port), program, Some(state)), port }
    }

    /// Delivers one input and runs the program until it blocks, appending what it did to `outputs`.
    ///
    /// # Panics
    /// If the input is none that this program can get, see [`Port::deliver`].
    pub fn feed(&mut self, input: Input, outputs: &mut Vec<Output>) {
        self.port.deliver(input);
        self.executor.run();
        self.port.take_outputs(outputs);
    }

    /// Whether the program has neither returned nor panicked.
    pub fn is_running(&self) -> bool {
        self.port.is_open()
    }

    /// Whether it was woken by something else than its handle, see [`Port::is_foreign`].
    pub fn is_foreign(&self) -> bool {
        self.port.is_foreign()
    }

    /// Where it began a round since this was last asked, see `Executor::take_began`; asked after
    /// each input, `said` counts its outputs.
    pub fn take_began(&mut self) -> Option<Began> {
        self.executor.take_began()
    }

    /// Parts of the replies it waits for that the program does not observe, see [`Port::unseen`].
    pub fn unseen(&self) -> Vec<(CallId, Unseen)> {
        self.port.unseen()
    }

    /// What the program waits for, see [`Port::pending`].
    pub fn pending(&self) -> Vec<(CallId, Pending)> {
        self.port.pending()
    }

    /// Whether it would hear of a change of the session's state, see [`Port::listens`].
    pub fn listens(&self) -> bool {
        self.port.listens()
    }

    /// Whether it asks for the sessions of changes, see [`Port::listens_for_sessions`].
    pub fn listens_for_sessions(&self) -> bool {
        self.port.listens_for_sessions()
    }

    /// How many tasks it ever had, the program itself included.
    pub fn tasks(&self) -> u64 {
        self.port.queue().spawned()
    }

    /// How many tasks it has that have not ended, the program itself included.
    pub fn live_tasks(&self) -> usize {
        self.port.queue().live()
    }

    /// How often its tasks were polled.
    pub fn polls(&self) -> u64 {
        self.executor.polls()
    }

    /// Ends the process, and keeps what can still be woken from outside.
    pub fn bury(self) -> Remains {
        Remains(Arc::clone(self.port.queue()))
    }
}

/// What is left of a process that has ended: nothing, unless something outside the program keeps
/// one of its wakers.
pub struct Remains(Arc<RunQueue>);

impl Remains {
    /// Whether something outside the program could still wake it.
    pub fn is_held(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Whether it was woken by something else than its handle, before its end or after.
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
