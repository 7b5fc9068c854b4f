//! A client machine with the program's side of its calls.

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

/// What a program is doing.
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

/// A client machine, the program's side of its calls included.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClientNode {
    pub(crate) machine: ClientMachine,
    pub(crate) program: ProgramState,
    pub(crate) paused: bool,
    /// The connection in use.
    pub(crate) connection: Option<ClientConnection>,
    pub(crate) inbox: VecDeque<Told>,
    pub(crate) sleeping: BTreeSet<CallId>,
    /// Calls that wait for a random number.
    pub(super) drawing: BTreeSet<CallId>,
    /// How many were answered. It follows from the program's inputs, so it keeps no two states
    /// apart that these do not.
    pub(super) drawn: u64,
    /// What the program knows of the time, where no clock runs.
    pub(super) clock: Clock,
    /// Calls that wait for a message, oldest first.
    pub(super) receiving: VecDeque<CallId>,
    /// Messages that arrived and nobody has received yet.
    pub(super) received: VecDeque<Message>,
    /// Messages on their way here, by sender.
    pub(super) under_way: BTreeMap<ClientId, VecDeque<Arc<[u8]>>>,
    /// Calls that wait for a cancellation.
    pub(crate) cancellable: Vec<CallId>,
    /// Requests on their way to outside resources.
    pub(super) to_resources: BTreeMap<CallId, ResourceRequest>,
    /// Requests to outside resources whose answer nobody wants any more; they arrive all the same.
    pub(super) orphaned: VecDeque<ResourceRequest>,
}

impl ClientNode {
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

    /// Whether a step of this machine, or of the program on it, can happen now: in both grains.
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
            // A machine that stands still takes no part in the rest.
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

    /// Whether the machine does not stand still.
    pub(crate) fn is_awake(&self, client: ClientId) -> Result<(), Status> {
        if self.paused { Err(Status::Blocked(Blocker::Paused(client))) } else { Ok(()) }
    }

    /// Whether all that the program can be told, timers and cancellations aside, comes from ZooKeeper,
    /// and nobody keeps anything for it.
    pub(crate) fn awaits_only_zookeeper(&self) -> bool {
        self.drawing.is_empty()
            && self.clock.is_unasked()
            && self.receiving.is_empty()
            && self.received.is_empty()
            && self.to_resources.is_empty()
    }

    /// How many random numbers the program's machine has drawn, in all of its lives.
    pub(crate) fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Whether a request whose program no longer waits for it is on its way to a resource.
    pub(crate) fn has_orphaned_request(&self) -> bool {
        !self.orphaned.is_empty()
    }

    pub(crate) fn draws(&self) -> impl Iterator<Item = CallId> {
        self.drawing.iter().copied()
    }

    /// The calls that wait for the time, and the least that the clock can show.
    pub(crate) fn clock_calls(&self) -> impl Iterator<Item = (CallId, Time)> {
        self.clock.calls()
    }

    pub(crate) fn resource_calls(&self) -> impl Iterator<Item = CallId> {
        self.to_resources.keys().copied()
    }

    pub(crate) fn senders(&self) -> impl Iterator<Item = ClientId> {
        self.under_way.iter().filter(|(_, queue)| !queue.is_empty()).map(|(from, _)| *from)
    }

    /// What a process that ends takes with it; what is under way elsewhere stays.
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

    /// In words, for people: what the program waits for.
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
