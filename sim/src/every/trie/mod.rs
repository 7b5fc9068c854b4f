//! Programs as a trie: a deterministic program is its input history.
//!
//! A future cannot be cloned or hashed. But one that awaits only its handle is a function of the
//! inputs that it was given, so a program's state is a node in a tree whose edges are inputs. Where
//! an edge is known, to feed a program is to follow it: no future is polled. Where it is new, the
//! program is run again along the node's history, and then one input further (`replay.rs`). All
//! states of a search share one trie, and so do its threads.
//!
//! Two histories that lead to the same future behaviour are still two nodes, with three exceptions
//! that need no proof by search: a program that has ended is only how it ended; one that begins a
//! round ([`vivarium_model::handle::rounds`]) is only the state that the round begins with, and its history
//! starts there (`rounds.rs`); and a change of the session's state that nobody in the program
//! listens to leads nowhere ([`Node::listens`]).
//!
//! To read is wait-free (`../arena.rs`, `table.rs`); who needs an edge that another thread is making
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
use renaming::Renaming;
pub(crate) use renaming::{other_random_numbers, random_number};
use replay::Run;
use rounds::Rounds;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::handle::Program;
use vivarium_model::host::{Input, Operation, Output};
use vivarium_model::id::ClientId;

/// What the inputs of some programs have led to so far. See the [module](self).
pub struct Trie {
    lanes: Vec<Lane>,
    nodes: Arena<Node>,
    dependence: OnceLock<String>,
    /// Changes of names under which programs must do the same, if they are to be held against each
    /// other.
    renamings: OnceLock<Vec<Renaming>>,
    /// The other values that histories are replayed with, if they are.
    others: OnceLock<values::Others>,
    /// When programs are no more run for checks alone.
    until: OnceLock<Instant>,
    replays: AtomicU64,
    polls: AtomicU64,
    /// The programs that run now.
    running: Mutex<Running>,
}

/// The programs that run now, numbered as they began.
#[derive(Default)]
struct Running {
    begun: u64,
    now: BTreeMap<u64, Told>,
}

/// A program that was told something and has not come back yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Told {
    /// Which run of a program it is, of all that have begun.
    run: u64,
    /// Whose program it is.
    pub client: ClientId,
    /// What it was told last, in words.
    pub input: String,
}

/// What programs did, of what shows whether they did anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deeds {
    /// Somebody made a request.
    pub requests: bool,
    /// Somebody asked for the time.
    pub time: bool,
    /// Somebody drew a random number.
    pub draws: bool,
    /// The names of the observations.
    pub observed: BTreeSet<Arc<str>>,
}

/// One client's part of the trie.
struct Lane {
    program: Program,
    root: NodeId,
    /// Ends are shared: the program has forgotten how it came there.
    ends: Mutex<BTreeMap<NodeState, NodeId>>,
    rounds: Mutex<Rounds>,
    wakers: Mutex<ForeignWakers>,
}

/// How large a trie is and what it took to make it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Nodes, roots and ends included.
    pub nodes: u64,
    /// How often a program was run from its beginning, or from that of one of its rounds.
    pub replays: u64,
    /// How often tasks of programs were polled.
    pub polls: u64,
}

impl Trie {
    /// The trie of these programs, none of which has run: the first one is client 1's.
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
            renamings: OnceLock::new(),
            others: OnceLock::new(),
            until: OnceLock::new(),
            replays: AtomicU64::new(0),
            polls: AtomicU64::new(0),
            running: Mutex::default(),
        }
    }

    /// How many clients' programs these are.
    pub fn clients(&self) -> usize {
        self.lanes.len()
    }

    /// Where a client's program has not started.
    pub fn root(&self, client: ClientId) -> NodeId {
        self.lane(client).root
    }

    /// A node of this trie.
    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id.0)
    }

    /// What an input makes of a program. If that is not known yet, the program is run.
    ///
    /// # Panics
    /// If the program cannot get this input, as [`vivarium_model::handle::port::Port::deliver`] does.
    pub fn edge(&self, from: NodeId, input: &Input) -> &Arc<Edge> {
        let from = self.node(from);
        let input = normalised(input, &from.waits);
        from.edges.get_or_make(&input, || self.new_edge(from, &input))
    }

    /// From this time on programs are not run for checks alone, which can take long: the search stops then.
    pub fn check_until(&self, until: Instant) {
        let _ = self.until.set(until);
    }

    /// Whether it is too late for checks.
    pub(crate) fn is_late(&self) -> bool {
        self.until.get().is_some_and(|until| Instant::now() >= *until)
    }

    /// Why one of the programs is no function of its inputs, if that was noticed: a sentence that
    /// names the client. Nothing that was explored with this trie is then worth anything.
    pub fn dependent(&self) -> Option<&str> {
        self.dependence.get().map(String::as_str)
    }

    /// The programs that were told something and have not come back: one that stays among them loops
    /// without awaiting.
    pub fn running(&self) -> Vec<Told> {
        lock(&self.running).now.values().cloned().collect()
    }

    /// How large it is and what it took.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            nodes: self.nodes.len().into(),
            replays: self.replays.load(Ordering::Relaxed),
            polls: self.polls.load(Ordering::Relaxed),
        }
    }

    /// Whether a program made a request anywhere, and the names of all observations that one made. Asked
    /// when no program runs.
    pub fn deeds(&self) -> Deeds {
        let mut deeds = Deeds::default();
        let edges = self.nodes.iter().flat_map(|node| node.edges.known());
        for edge in edges {
            for output in edge.outputs().iter() {
                match output {
                    Output::Submit { operation: Operation::Request { .. }, .. } => {
                        deeds.requests = true;
                    }
                    Output::Submit { operation: Operation::Now, .. } => deeds.time = true,
                    Output::Submit { operation: Operation::Random, .. } => deeds.draws = true,
                    Output::Observe(seen) if !deeds.observed.contains(seen.name()) => {
                        deeds.observed.insert(Arc::from(seen.name()));
                    }
                    _ => {}
                }
            }
        }
        deeds
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

    /// Runs a program, so that others can see that it runs.
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

    /// The edge to where a program stands now.
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

    /// A new node that remembers where it comes from, and the edge to it.
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

    /// The node of a program that ended like this.
    fn end(&self, client: ClientId, state: NodeState) -> NodeId {
        *lock(&self.lane(client).ends).entry(state).or_insert_with_key(|state| {
            let id = NodeId(self.nodes.reserve());
            let fingerprint = Fingerprint::of(&("ended", client, state));
            self.nodes.put(id.0, Node::bare(id, client, fingerprint, state.clone()));
            id
        })
    }
}

/// A lock is poisoned only by a broken assertion, which is on its way up already.
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
