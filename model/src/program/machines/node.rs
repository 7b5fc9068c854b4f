//! A client machine together with its program's pending calls.

use super::clock::Clock;
use super::knowledge::Told;
use crate::client::ClientMachine;
use crate::program::host::{Message, ResourceRequest};
use crate::vocabulary::config::Config;
use crate::vocabulary::effect::{Blocker, Status};
use crate::vocabulary::id::{CallId, ClientConnection, ClientId};
use crate::vocabulary::step::Step;
use crate::vocabulary::time::Time;
use crate::vocabulary::timer::Timer;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// The state of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProgramState {
    /// Not started yet.
    NotStarted,
    /// Running, or waiting.
    Running,
    /// Its main future returned, or it panicked.
    Finished,
    /// Its process was killed; a replacement may start.
    Killed,
}

/// A client machine together with its program's pending calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClientNode {
    pub(crate) machine: ClientMachine,
    pub(crate) program: ProgramState,
    pub(crate) paused: bool,
    /// The connection in use.
    pub(crate) connection: Option<ClientConnection>,
    pub(crate) inbox: VecDeque<Told>,
    pub(crate) sleeping: BTreeSet<CallId>,
    /// Calls waiting for a random number.
    pub(super) drawing: BTreeSet<CallId>,
    /// Number of random numbers drawn. It follows from the program's inputs, so it distinguishes no states that the
    /// inputs do not.
    pub(super) drawn: u64,
    /// The program's clock at a grain where no time passes.
    pub(super) clock: Clock,
    /// Calls waiting for a message, oldest first.
    pub(super) receiving: VecDeque<CallId>,
    /// Messages that have arrived and that the program has not received yet.
    pub(super) received: VecDeque<Message>,
    /// Messages in flight to this machine, by sender.
    pub(super) under_way: BTreeMap<ClientId, VecDeque<Arc<[u8]>>>,
    /// Calls waiting for a cancellation.
    pub(crate) cancellable: Vec<CallId>,
    /// Requests in flight to outside resources.
    pub(super) to_resources: BTreeMap<CallId, ResourceRequest>,
    /// Requests in flight to outside resources whose calls were abandoned; they are executed nevertheless.
    pub(super) orphaned: VecDeque<ResourceRequest>,
}

impl ClientNode {
    /// Returns how much this machine waits for: sleeps, requests to outside resources, and messages, which count twice
    /// before they have arrived.
    pub(crate) fn due(&self) -> usize {
        let under_way: usize = self.under_way.values().map(VecDeque::len).sum();
        let to_resources = self.to_resources.len() + self.orphaned.len();
        self.sleeping.len() + to_resources + self.received.len() + 2 * under_way
    }

    pub(crate) fn new(config: &Config, client: ClientId) -> ClientNode {
        ClientNode {
            machine: ClientMachine::new(client, &config.clients[client.index()], config.bugs),
            program: ProgramState::NotStarted,
            paused: false,
            connection: None,
            inbox: VecDeque::new(),
            sleeping: BTreeSet::new(),
            drawing: BTreeSet::new(),
            drawn: 0,
            clock: Clock::default(),
            receiving: VecDeque::new(),
            received: VecDeque::new(),
            under_way: BTreeMap::new(),
            cancellable: Vec::new(),
            to_resources: BTreeMap::new(),
            orphaned: VecDeque::new(),
        }
    }

    /// Returns `Ok` if a step of this machine or its program can happen now, in either grain.
    pub(crate) fn allows(&self, client: ClientId, step: &Step) -> Result<(), Status> {
        let is_running = self.program == ProgramState::Running;
        match step {
            Step::Start(_) => {
                let may_start =
                    matches!(self.program, ProgramState::NotStarted | ProgramState::Killed);
                Status::when(may_start)?;
            }
            Step::Input(_) => Status::when(is_running && !self.inbox.is_empty())?,
            Step::Fire(Timer::Sleep(_, call)) => Status::when(self.sleeping.contains(call))?,
            Step::Fire(Timer::Client(..)) => {}
            // A paused machine does not block the following steps.
            Step::Random { call, .. } => return Status::when(self.drawing.contains(call)),
            Step::Clock { call, reading, .. } => {
                return Status::when(self.clock.can_show(*call, *reading));
            }
            Step::Resource { call, .. } => {
                let is_under_way =
                    self.to_resources.contains_key(call) || !self.orphaned.is_empty();
                return Status::when(is_under_way);
            }
            Step::Message { from, .. } => {
                let queue = self.under_way.get(from);
                return Status::when(queue.is_some_and(|queue| !queue.is_empty()));
            }
            Step::Kill(_) => return Status::when(is_running),
            Step::Cancel(_) => return Status::when(!self.cancellable.is_empty()),
            Step::Pause(_) => return Status::when(!self.paused),
            Step::Resume(_) => return Status::when(self.paused),
            _ => unreachable!("{step} is no step of a client machine"),
        }
        self.is_awake(client)
    }

    pub(crate) fn has_input(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// Returns an error if the machine is paused.
    pub(crate) fn is_awake(&self, client: ClientId) -> Result<(), Status> {
        if self.paused { Err(Status::Blocked(Blocker::Paused(client))) } else { Ok(()) }
    }

    /// Returns true if all inputs of the program except timers and cancellations can come only from ZooKeeper, and no
    /// message is stored for it.
    pub(crate) fn awaits_only_zookeeper(&self) -> bool {
        self.drawing.is_empty()
            && self.clock.is_unasked()
            && self.receiving.is_empty()
            && self.received.is_empty()
            && self.to_resources.is_empty()
    }

    /// Returns the number of random numbers drawn on this machine, replaced programs included.
    pub(crate) fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Returns true if a request to a resource is in flight whose call was abandoned.
    pub(crate) fn has_orphaned_request(&self) -> bool {
        !self.orphaned.is_empty()
    }

    pub(crate) fn draws(&self) -> impl Iterator<Item = CallId> {
        self.drawing.iter().copied()
    }

    /// Returns the calls waiting for the time, and the smallest reading that the clock can show.
    pub(crate) fn clock_calls(&self) -> impl Iterator<Item = (CallId, Time)> {
        self.clock.calls()
    }

    pub(crate) fn resource_calls(&self) -> impl Iterator<Item = CallId> {
        self.to_resources.keys().copied()
    }

    pub(crate) fn senders(&self) -> impl Iterator<Item = ClientId> {
        self.under_way.iter().filter(|(_, queue)| !queue.is_empty()).map(|(from, _)| *from)
    }

    /// Discards the pending calls of a process that has ended. Requests in flight to resources remain.
    pub(super) fn forget_calls(&mut self) {
        self.inbox.clear();
        self.sleeping.clear();
        self.drawing.clear();
        self.clock.forget_calls();
        self.receiving.clear();
        self.received.clear();
        self.cancellable.clear();
        let requests = std::mem::take(&mut self.to_resources);
        self.orphaned.extend(requests.into_values());
    }

    /// Describes what the program waits for.
    pub(crate) fn waits_for(&self) -> String {
        match self.program {
            ProgramState::NotStarted => return "has not started".into(),
            ProgramState::Killed => return "was killed and not replaced".into(),
            ProgramState::Finished => return "has finished".into(),
            ProgramState::Running => {}
        }
        let beside = [
            (self.paused, "its paused machine"),
            (!self.sleeping.is_empty(), "the end of its sleep"),
            (!self.receiving.is_empty(), "a message"),
            (!self.to_resources.is_empty(), "an outside resource"),
        ];
        let mut reasons: Vec<String> =
            beside.into_iter().filter(|(waits, _)| *waits).map(|(_, what)| what.into()).collect();
        match self.inbox.len() {
            0 => {}
            1 => reasons.push("an input that is under way to it".into()),
            inputs => reasons.push(format!("{inputs} inputs that are under way to it")),
        }
        let machine = self.machine.waits_for();
        match machine.strip_prefix("nothing: ").filter(|_| !reasons.is_empty()) {
            Some(state) => format!("{} ({state})", reasons.join("; ")),
            None => {
                reasons.insert(0, machine);
                reasons.join("; ")
            }
        }
    }
}
