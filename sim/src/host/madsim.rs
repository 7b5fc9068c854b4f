//! A host that runs each program as a node of a madsim runtime.
//!
//! The engine leads and madsim follows. To feed a program, the host puts the input into the program's port and wakes
//! the program's executor, which is one madsim task. Then the host runs the runtime until that executor is blocked
//! again. The executor handles a whole input within one poll, and at most one task besides the driver is awake. So a
//! program cannot observe madsim's random choice among ready tasks, its random number generator, or its clock (which
//! advances by 50 to 100 ns per poll). A program sleeps and reads the clock through its handle only.
//!
//! These facts about madsim 0.2.34 shape the code:
//!
//! * `Runtime::block_on` may be called repeatedly. Each call enqueues its future as one more task of the main node,
//!   runs the ready tasks, and advances the clock to the next timer only when no task is ready. The driver yields by
//!   waking itself, so a task is always ready. Each call leaks about 160 bytes until the runtime is dropped, because
//!   the main node keeps a weak reference to each of its tasks and never prunes them.
//! * `Handle::kill` drops a future only when its task is polled the next time. So the host closes the port first, and
//!   the kill waits until the executor is gone.
//! * A task that is alive when the runtime is dropped is never freed. So the host kills all nodes when it is dropped.
//! * After a restart, the old `NodeHandle` spawns nothing: the host looks the node up again.

use madsim::runtime::Runtime;
use madsim::task::NodeId;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Poll;
use vivarium_model::handle::Program;
use vivarium_model::handle::executor::Executor;
use vivarium_model::handle::port::Port;
use vivarium_model::host::{Host, Input, Output};
use vivarium_model::id::ClientId;

/// Runs each program as the one task of its own madsim node.
///
/// The host must stay on the thread that made it: madsim's tasks cannot move.
pub struct MadsimHost {
    runtime: Runtime,
    machines: Vec<Machine>,
    /// Makes the host `!Send`.
    thread: PhantomData<*const ()>,
}

/// A client machine: a madsim node, and the process on it if there is one.
struct Machine {
    program: Program,
    node: NodeId,
    process: Option<Process>,
}

struct Process {
    port: Arc<Port>,
    /// The executor before the first input. It is not spawned yet, because madsim would poll it together with the tasks
    /// of other programs.
    unstarted: Option<Executor>,
}

impl MadsimHost {
    /// Creates a host of these programs: the first one runs on client 1. The seed is that of madsim's own generator;
    /// nothing that a program does through its handle depends on it.
    pub fn new(programs: Vec<Program>, seed: u64) -> MadsimHost {
        let runtime = Runtime::with_seed_and_config(seed, madsim::Config::default());
        let machines = programs
            .into_iter()
            .enumerate()
            .map(|(index, program)| {
                let name = ClientId::at(index).to_string();
                let node = runtime.create_node().name(name).build().id();
                Machine { program, node, process: None }
            })
            .collect();
        MadsimHost { runtime, machines, thread: PhantomData }
    }

    /// Runs madsim's tasks until `done` returns true.
    fn settle(&self, done: impl Fn() -> bool) {
        self.runtime.block_on(poll_fn(|context| {
            if done() {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }));
    }
}

impl Host for MadsimHost {
    fn start(&mut self, client: ClientId) {
        self.kill(client);
        let machine = &mut self.machines[client.index()];
        let port = Port::new(client);
        let executor = Executor::new(Arc::clone(&port), &machine.program);
        machine.process = Some(Process { port, unstarted: Some(executor) });
    }

    fn feed(&mut self, client: ClientId, input: Input, outputs: &mut Vec<Output>) {
        let machine = &mut self.machines[client.index()];
        let process = machine.process.as_mut().expect("only a started program is fed");
        process.port.deliver(input);
        process.port.wake_executor();
        if let Some(executor) = process.unstarted.take() {
            let node = self.runtime.handle().get_node(machine.node);
            drop(node.expect("nodes are never removed").spawn(executor));
        }
        let port = Arc::clone(&process.port);
        if !port.is_blocked() {
            self.settle(|| port.is_blocked());
        }
        port.take_outputs(outputs);
    }

    fn kill(&mut self, client: ClientId) {
        let machine = &mut self.machines[client.index()];
        let node = machine.node;
        let Some(process) = machine.process.take() else {
            return;
        };
        process.port.close();
        // An executor that was never spawned is dropped here.
        drop(process.unstarted);
        let handle = self.runtime.handle();
        handle.kill(node);
        if !process.port.is_gone() {
            self.settle(|| process.port.is_gone());
        }
        handle.restart(node);
    }

    fn awaits_its_handle(&self, client: ClientId) -> bool {
        let process = self.machines[client.index()].process.as_ref();
        let awaits = |port: &Port| !port.pending().is_empty() || port.listens();
        process.is_some_and(|process| awaits(&process.port))
    }

    fn listens_only(&self, client: ClientId) -> bool {
        let process = self.machines[client.index()].process.as_ref();
        let listens = |port: &Port| port.pending().is_empty() && port.listens();
        process.is_some_and(|process| listens(&process.port))
    }

    fn woken_from_outside(&self) -> Option<ClientId> {
        let is_foreign = |machine: &Machine| {
            machine.process.as_ref().is_some_and(|process| process.port.is_foreign())
        };
        self.machines.iter().position(is_foreign).map(ClientId::at)
    }
}

impl Drop for MadsimHost {
    fn drop(&mut self) {
        for index in 0..self.machines.len() {
            self.kill(ClientId::at(index));
        }
    }
}
