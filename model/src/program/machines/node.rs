//! A client machine with the program's side of its calls.

use crate::client::ClientMachine;
use crate::program::host::{Input, Message, ResourceRequest};
use crate::vocabulary::config::Config;
use crate::vocabulary::id::{CallId, ClientConnection, ClientId};
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
    pub(crate) inbox: VecDeque<Input>,
    pub(crate) sleeping: BTreeSet<CallId>,
    /// Calls that wait for a random number.
    pub(super) drawing: BTreeSet<CallId>,
    /// How many were answered. It follows from the program's inputs, so it keeps no two states
    /// apart that these do not.
    pub(super) drawn: u64,
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
            machine: ClientMachine::new(client, &config.clients[client.index()]),
            program: ProgramState::NotStarted,
            paused: false,
            connection: None,
            inbox: VecDeque::new(),
            sleeping: BTreeSet::new(),
            drawing: BTreeSet::new(),
            drawn: 0,
            receiving: VecDeque::new(),
            received: VecDeque::new(),
            under_way: BTreeMap::new(),
            cancellable: Vec::new(),
            to_resources: BTreeMap::new(),
            orphaned: VecDeque::new(),
        }
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }

    pub(crate) fn has_input(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// Whether all that the program can be told, timers and cancellations aside, comes from ZooKeeper,
    /// and nobody keeps anything for it.
    pub(crate) fn awaits_only_zookeeper(&self) -> bool {
        self.drawing.is_empty()
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
