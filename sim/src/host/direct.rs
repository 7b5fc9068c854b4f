//! A host that polls the programs' futures itself: it needs no runtime and no compiler flag.

use vivarium_model::handle::{Process, Program};
use vivarium_model::host::{Host, Input, Output};
use vivarium_model::id::ClientId;

/// Runs each program as a plain value.
///
/// ```
/// use vivarium_model::handle::program;
/// use vivarium_model::host::{Host, Input, Output};
/// use vivarium_model::id::ClientId;
/// use vivarium_sim::host::DirectHost;
///
/// let mut host = DirectHost::new(vec![program(|_zookeeper| async { Ok(()) })]);
/// let mut outputs = Vec::new();
/// host.start(ClientId(1));
/// host.feed(ClientId(1), Input::Start, &mut outputs);
/// assert_eq!(outputs, [Output::Finished(Ok(()))]);
/// ```
pub struct DirectHost {
    programs: Vec<Program>,
    processes: Vec<Option<Process>>,
}

impl DirectHost {
    /// Creates a host of these programs: the first one runs on client 1.
    pub fn new(programs: Vec<Program>) -> DirectHost {
        let processes = programs.iter().map(|_| None).collect();
        DirectHost { programs, processes }
    }
}

impl Host for DirectHost {
    fn start(&mut self, client: ClientId) {
        self.kill(client);
        let process = Process::new(client, &self.programs[client.index()]);
        self.processes[client.index()] = Some(process);
    }

    fn feed(&mut self, client: ClientId, input: Input, outputs: &mut Vec<Output>) {
        let process = self.processes[client.index()].as_mut();
        process.expect("only a started program is fed").feed(input, outputs);
    }

    fn kill(&mut self, client: ClientId) {
        self.processes[client.index()] = None;
    }

    fn awaits_its_handle(&self, client: ClientId) -> bool {
        let process = self.processes[client.index()].as_ref();
        process.is_some_and(|process| !process.pending().is_empty() || process.listens())
    }

    fn listens_only(&self, client: ClientId) -> bool {
        let process = self.processes[client.index()].as_ref();
        process.is_some_and(|process| process.pending().is_empty() && process.listens())
    }

    fn woken_from_outside(&self) -> Option<ClientId> {
        let is_foreign =
            |process: &Option<Process>| process.as_ref().is_some_and(Process::is_foreign);
        self.processes.iter().position(is_foreign).map(ClientId::at)
    }
}
