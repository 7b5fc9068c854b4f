//! Programs as a trie: a deterministic program is its input history.
//!
//! A future cannot be cloned or hashed. But a future that awaits only its handle is a function of its inputs, so a
//! program's state is a node in a tree whose edges are inputs. Feeding a program along a known edge means following the
//! edge, without polling a future. For a new edge, the program is run again along the node's history, and then one
//! input further (`replay.rs`). All states and threads of a search share one trie.
//!
//! Two histories with the same future behaviour are still two nodes, with three exceptions that need no proof by
//! search. An ended program is identified by its result only. A program that begins a round
//! ([`vivarium_model::handle::rounds`]) is identified by the state that the round begins with, and its history starts
//! there (`rounds.rs`). A change of the session's state that no task of the program listens to leads back to the same
//! node ([`Node::listens`]).
//!
//! Reads are wait-free (`../intern/arena.rs`, `table.rs`). A thread that needs an edge that another thread is making
//! waits for it.
//!
//! ```
//! use std::sync::Arc;
//! use vivarium_sim::every::{memo::Memo, trie::Trie};
//! use vivarium_model::handle::program;
//! use vivarium_model::host::{Host, Input, Output};
//! use vivarium_model::id::ClientId;
//!
//! let trie = Arc::new(Trie::new(vec![program(|_zookeeper| async { Ok(()) })]));
//! let mut memo = Memo::new(Arc::clone(&trie));
//! let mut outputs = Vec::new();
//! memo.start(ClientId(1));
//! memo.feed(ClientId(1), Input::Start, &mut outputs);
//! assert_eq!(outputs, [Output::Finished(Ok(()))]);
//! assert_eq!(trie.statistics().nodes, 2);
//! ```

mod again;
mod foreign;
mod node;
mod normal;
mod renaming;
mod replay;
mod rounds;
mod table;
#[cfg(test)]
mod tests;
mod values;
mod variation;

pub use again::Again;
pub use node::{Edge, Node, NodeId, NodeState};
pub use values::ToldAgain;
pub use variation::Valued;

use crate::every::intern::Arena;
use foreign::ForeignWakers;
use node::{Origin, Waits};
use normal::normalised;
pub(crate) use renaming::{other_random_numbers, random_number};
use replay::Run;
pub(in crate::every) use replay::parted;
use rounds::Rounds;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::handle::Program;
use vivarium_model::host::{Input, Operation, Output};
use vivarium_model::id::ClientId;

/// The trie of some programs. See the [module](self).
pub struct Trie {
    lanes: Vec<Lane>,
    nodes: Arena<Node>,
    dependence: OnceLock<String>,
    /// The other values with which histories are replayed, if they are.
    others: OnceLock<values::Others>,
    /// After this instant, programs are not run for checks alone.
    until: OnceLock<Instant>,
    replays: AtomicU64,
    polls: AtomicU64,
    running: Mutex<Running>,
}

/// The programs that are running now, in the order in which they began.
#[derive(Default)]
struct Running {
    begun: u64,
    now: BTreeMap<u64, Told>,
}

/// A program that received an input and has not returned from its poll.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Told {
    /// The number of this run, among all that have begun.
    run: u64,
    /// The client of the program.
    pub client: ClientId,
    /// The program's last input, in words.
    pub input: String,
}

/// Evidence of what programs did, for reports of programs that did nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// Whether a program made a request.
    pub requests: bool,
    /// Whether a program read the clock.
    pub time: bool,
    /// Whether a program drew a random number.
    pub draws: bool,
    /// The names of the observations.
    pub observed: BTreeSet<Arc<str>>,
}

/// The part of the trie that belongs to one client.
struct Lane {
    program: Program,
    root: NodeId,
    /// Ended programs share a node per result, because their history does not matter any more.
    ends: Mutex<BTreeMap<NodeState, NodeId>>,
    rounds: Mutex<Rounds>,
    wakers: Mutex<ForeignWakers>,
}

/// The size of a trie, and the work to build it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Nodes, including roots and ends.
    pub nodes: u64,
    /// How often a program was run from its beginning or from the beginning of one of its rounds.
    pub replays: u64,
    /// How often tasks of programs were polled.
    pub polls: u64,
}

impl Trie {
    /// Creates the trie of these programs, none of which has run. The first one belongs to client 1.
    pub fn new(programs: Vec<Program>) -> Trie {
        let nodes = Arena::new();
        let lanes = programs.into_iter().enumerate().map(|(index, program)| {
            let client = ClientId::at(index);
            let root = NodeId(nodes.reserve());
            let fingerprint = Fingerprint::of(&("not started", client));
            nodes.put(root.0, Node::bare(root, client, fingerprint, NodeState::Running));
            let (ends, rounds) = (Mutex::default(), Mutex::default());
            Lane { program, root, ends, rounds, wakers: Mutex::default() }
        });
        Trie {
            lanes: lanes.collect(),
            nodes,
            dependence: OnceLock::new(),
            others: OnceLock::new(),
            until: OnceLock::new(),
            replays: AtomicU64::new(0),
            polls: AtomicU64::new(0),
            running: Mutex::default(),
        }
    }

    /// Returns the number of clients.
    pub fn clients(&self) -> usize {
        self.lanes.len()
    }

    /// Returns the node of a client's program before its start.
    pub fn root(&self, client: ClientId) -> NodeId {
        self.lane(client).root
    }

    /// Returns a node of this trie.
    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id.0)
    }

    /// Returns the edge of an input from a node. Runs the program if the edge is new.
    ///
    /// # Panics
    /// Panics if the program cannot receive this input, as [`vivarium_model::handle::port::Port::deliver`] does.
    pub fn edge(&self, from: NodeId, input: &Input) -> &Arc<Edge> {
        let from = self.node(from);
        let input = normalised(input, &from.waits);
        from.edges.get_or_make(&input, || self.new_edge(from, &input))
    }

    /// Sets the instant after which programs are not run for checks alone, because checks can take long and the search
    /// stops then.
    pub fn check_until(&self, until: Instant) {
        let _ = self.until.set(until);
    }

    /// Returns true if it is too late for checks.
    pub(crate) fn is_late(&self) -> bool {
        self.until.get().is_some_and(|until| Instant::now() >= *until)
    }

    /// Returns why one of the programs is no function of its inputs, if this was detected: a sentence that names the
    /// client. All results of a search with this trie are then void.
    pub fn dependent(&self) -> Option<&str> {
        self.dependence.get().map(String::as_str)
    }

    /// Returns the programs that received an input and have not returned. A program that stays in this list loops
    /// without awaiting.
    pub fn running(&self) -> Vec<Told> {
        lock(&self.running).now.values().cloned().collect()
    }

    /// Returns the size of the trie and the work to build it.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            nodes: self.nodes.len().into(),
            replays: self.replays.load(Ordering::Relaxed),
            polls: self.polls.load(Ordering::Relaxed),
        }
    }

    /// Returns the evidence of what programs did. Called when no program runs.
    pub fn activity(&self) -> Activity {
        let mut activity = Activity::default();
        let edges = self.nodes.iter().flat_map(|node| node.edges.known());
        for edge in edges {
            for output in edge.outputs().iter() {
                match output {
                    Output::Submit { operation: Operation::Request { .. }, .. } => {
                        activity.requests = true;
                    }
                    Output::Submit { operation: Operation::Now, .. } => activity.time = true,
                    Output::Submit { operation: Operation::Random, .. } => activity.draws = true,
                    Output::Observe(seen) if !activity.observed.contains(seen.name()) => {
                        activity.observed.insert(Arc::from(seen.name()));
                    }
                    _ => {}
                }
            }
        }
        activity
    }

    fn lane(&self, client: ClientId) -> &Lane {
        &self.lanes[client.index()]
    }

    fn new_edge(&self, from: &Node, input: &Input) -> Arc<Edge> {
        let client = from.client;
        let nowhere = || Edge::new(input.clone(), Arc::default(), false, from.id);
        match &from.state {
            NodeState::Running => {}
            NodeState::Dependent(_) => return nowhere(),
            NodeState::Finished(_) | NodeState::Panicked(_) => {
                panic!("{client}: {input:?} after the program's end")
            }
        }
        if matches!(input, Input::Session(_)) && from.has_begun() && !from.waits.listens {
            return nowhere();
        }
        let edge = self.told(client, input, || {
            self.run(from, input).and_then(|run| self.joined(from, input, run))
        });
        edge.unwrap_or_else(|sentence| {
            let _ = self.dependence.set(sentence.clone());
            self.grow(from, input, Arc::default(), false, |node| {
                node.state = NodeState::Dependent(sentence);
            })
        })
    }

    /// Runs a program, and lists it as running meanwhile.
    fn told<T>(&self, client: ClientId, input: &Input, run: impl FnOnce() -> T) -> T {
        let mut running = lock(&self.running);
        running.begun += 1;
        let number = running.begun;
        running.now.insert(number, Told { run: number, client, input: input.to_string() });
        drop(running);
        let result = run();
        lock(&self.running).now.remove(&number);
        result
    }

    /// Returns the edge to the node that a run has reached.
    fn joined(&self, from: &Node, input: &Input, mut run: Run) -> Result<Arc<Edge>, String> {
        let state = run.state();
        if state != NodeState::Running {
            let child = self.end(from.client, state);
            self.keep(from.client, run.process);
            return Ok(Edge::new(input.clone(), run.outputs.into(), run.spawned, child));
        }
        if let Some(began) = run.began.take() {
            return self.cross(from, input, run, &began);
        }
        let waits = Waits::of(&run.process);
        self.keep(from.client, run.process);
        Ok(self.grow(from, input, run.outputs.into(), run.spawned, |node| node.waits = waits))
    }

    /// Creates a node that remembers its origin, and returns the edge to it.
    fn grow(
        &self,
        from: &Node,
        input: &Input,
        outputs: Arc<[Output]>,
        spawned: bool,
        describe: impl FnOnce(&mut Node),
    ) -> Arc<Edge> {
        let id = NodeId(self.nodes.reserve());
        let fingerprint = Fingerprint::of(&("running", from.fingerprint, input));
        let mut node = Node::bare(id, from.client, fingerprint, NodeState::Running);
        node.inputs = from.inputs + 1;
        describe(&mut node);
        let edge = Edge::new(input.clone(), outputs, spawned, id);
        node.origin = Origin::Node(from.id, Arc::clone(&edge));
        self.nodes.put(id.0, node);
        edge
    }

    /// Returns the node of programs that ended in this state.
    fn end(&self, client: ClientId, state: NodeState) -> NodeId {
        *lock(&self.lane(client).ends).entry(state).or_insert_with_key(|state| {
            let id = NodeId(self.nodes.reserve());
            let fingerprint = Fingerprint::of(&("ended", client, state));
            self.nodes.put(id.0, Node::bare(id, client, fingerprint, state.clone()));
            id
        })
    }
}

/// A lock is poisoned only by a failed assertion, which ends the search anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Trie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trie")
            .field("clients", &self.clients())
            .field("statistics", &self.statistics())
            .field("dependent", &self.dependent())
            .finish_non_exhaustive()
    }
}
