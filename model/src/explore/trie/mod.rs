//! Programs as a trie: a deterministic program is its input history.
//!
//! A future cannot be cloned or hashed. But one that awaits only its handle is a function of the
//! inputs that it was given, so a program's state is a node in a tree whose edges are inputs. Where
//! an edge is known, to feed a program is to follow it: no future is polled. Where it is new, the
//! program is run again from its beginning along the node's history, and then one input further
//! (`replay.rs`). All states of a search share one trie, and so do its threads.
//!
//! Two histories that lead to the same future behaviour are still two nodes, with two exceptions
//! that need no proof by search: a program that has ended is only how it ended, and a change of the
//! session's state that nobody in the program listens to leads nowhere ([`Node::listens`]).
//!
//! To read is wait-free (`../arena.rs`, `table.rs`); who needs an edge that another thread is making
//! waits for it.
//!
//! ```
//! use std::sync::Arc;
//! use vivarium_model::explore::{memo::Memo, trie::Trie};
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

mod normal;
mod replay;
mod table;
#[cfg(test)]
mod tests;
mod witness;

use crate::explore::arena::Arena;
use crate::fingerprint::Fingerprint;
use crate::handle::Program;
use crate::handle::port::Pending;
use crate::handle::transport::Unseen;
use crate::host::{Input, Output};
use crate::id::{CallId, ClientId};
use normal::normalised;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use table::Table;
use witness::Witnesses;

/// What the inputs of some programs have led to so far. See the [module](self).
pub struct Trie {
    lanes: Vec<Lane>,
    nodes: Arena<Node>,
    dependence: OnceLock<String>,
    replays: AtomicU64,
    polls: AtomicU64,
}

/// How many of the ways to a checkpoint are remembered, to check its word by.
const WAYS_TO_A_CHECKPOINT: usize = 16;

/// One client's part of the trie.
struct Lane {
    program: Program,
    root: NodeId,
    /// Ends are shared: the program has forgotten how it came there.
    ends: Mutex<BTreeMap<NodeState, NodeId>>,
    /// Where the program has said that it goes by its own word only, by that word and what it waits
    /// for.
    checkpoints: Mutex<BTreeMap<u128, NodeId>>,
    witnesses: Mutex<Witnesses>,
}

/// Number of a node in its trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(NonZeroU32);

/// The state of one program.
pub struct Node {
    id: NodeId,
    client: ClientId,
    fingerprint: Fingerprint,
    state: NodeState,
    pending: Box<[(CallId, Pending)]>,
    /// What of the answers it will not see.
    unseen: Box<[(CallId, Unseen)]>,
    listens: bool,
    /// Where it comes from. None for a root and for an end.
    parent: Option<(NodeId, Arc<Edge>)>,
    /// Of a checkpoint, some more of the ways that lead to it.
    others: Mutex<Vec<(NodeId, Arc<Edge>)>>,
    edges: Table,
}

/// Whether a program goes on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeState {
    /// It has not started, or waits for its next input.
    Running,
    /// Its main future returned.
    Finished(Result<(), String>),
    /// It panicked.
    Panicked(String),
    /// It depends on something other than its handle, as this sentence tells; what it would do from
    /// here is unknown. A search that comes here has failed, see [`Trie::dependent`].
    Dependent(String),
}

/// One input and what it makes a program do.
#[derive(Debug)]
pub struct Edge {
    input: Input,
    outputs: Arc<[Output]>,
    spawned: bool,
    visible: bool,
    child: NodeId,
}

/// How large a trie is and what it took to make it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Nodes, roots and ends included.
    pub nodes: u64,
    /// How often a program was run from its beginning.
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
            let (ends, checkpoints) = (Mutex::default(), Mutex::default());
            Lane { program, root, ends, checkpoints, witnesses: Mutex::default() }
        });
        Trie {
            lanes: lanes.collect(),
            nodes,
            dependence: OnceLock::new(),
            replays: AtomicU64::new(0),
            polls: AtomicU64::new(0),
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
    /// If the program cannot get this input, as [`crate::handle::port::Port::deliver`] does.
    pub fn edge(&self, from: NodeId, input: &Input) -> &Arc<Edge> {
        let from = self.node(from);
        let input = normalised(input, &from.unseen);
        from.edges.get_or_make(&input, || self.new_edge(from, &input))
    }

    /// The edges that lead to a node from its root; none for a program that has ended. Of the ways to
    /// a checkpoint, the first.
    pub fn history(&self, node: &Node) -> Vec<Arc<Edge>> {
        self.way(node, |node| node.parent.clone())
    }

    /// The same by other ways, `pick` tells which.
    fn other_history(&self, node: &Node, pick: usize) -> Vec<Arc<Edge>> {
        self.way(node, |node| {
            let others = lock(&node.others);
            match others.len() {
                0 => node.parent.clone(),
                ways => Some(others[pick % ways].clone()),
            }
        })
    }

    /// A checkpoint may lie on a way to itself, so a way goes through each but once before it takes
    /// the first one.
    fn way(
        &self,
        node: &Node,
        before: impl Fn(&Node) -> Option<(NodeId, Arc<Edge>)>,
    ) -> Vec<Arc<Edge>> {
        let (mut edges, mut visited) = (Vec::new(), BTreeSet::new());
        let mut place = before(node);
        visited.insert(node.id);
        while let Some((parent, edge)) = place {
            edges.push(edge);
            let node = self.node(parent);
            place = if visited.insert(parent) { before(node) } else { node.parent.clone() };
        }
        edges.reverse();
        edges
    }

    /// Why one of the programs is no function of its inputs, if that was noticed: a sentence that
    /// names the client. Nothing that was explored with this trie is then worth anything.
    pub fn dependent(&self) -> Option<&str> {
        self.dependence.get().map(String::as_str)
    }

    /// How large it is and what it took.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            nodes: self.nodes.len().into(),
            replays: self.replays.load(Ordering::Relaxed),
            polls: self.polls.load(Ordering::Relaxed),
        }
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
        if matches!(input, Input::Session(_)) && from.parent.is_some() && !from.listens {
            return nowhere();
        }
        match self.run(from, input) {
            Ok(run) => {
                let (state, pending) = (run.state(), run.process.pending());
                let unseen = run.process.unseen();
                let (listens, outputs) = (run.process.listens(), run.outputs.into());
                let alone = run.process.live_tasks() == 1;
                let word = run.checkpoint.filter(|_| alone && state == NodeState::Running);
                self.keep(client, run.process);
                if let Some(word) = word {
                    let word =
                        Fingerprint::of(&("checkpoint", client, word, &pending, &unseen, listens));
                    self.meet(word, from, input, outputs, run.spawned, |node| {
                        (node.pending, node.listens) = (pending.into(), listens);
                        node.unseen = unseen.into();
                    })
                } else if state == NodeState::Running {
                    self.grow(from, input, outputs, run.spawned, |node| {
                        (node.pending, node.listens) = (pending.into(), listens);
                        node.unseen = unseen.into();
                    })
                } else {
                    let child = self.end(client, state);
                    Edge::new(input.clone(), outputs, run.spawned, child)
                }
            }
            Err(sentence) => {
                let _ = self.dependence.set(sentence.clone());
                self.grow(from, input, Arc::default(), false, |node| {
                    node.state = NodeState::Dependent(sentence);
                })
            }
        }
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
        describe(&mut node);
        let edge = Edge::new(input.clone(), outputs, spawned, id);
        node.parent = Some((from.id, Arc::clone(&edge)));
        self.nodes.put(id.0, node);
        edge
    }

    /// The node of a program that goes by its own word, new or not, and the edge to it.
    fn meet(
        &self,
        word: Fingerprint,
        from: &Node,
        input: &Input,
        outputs: Arc<[Output]>,
        spawned: bool,
        describe: impl FnOnce(&mut Node),
    ) -> Arc<Edge> {
        let mut checkpoints = lock(&self.lane(from.client).checkpoints);
        if let Some(known) = checkpoints.get(&word.0) {
            let edge = Edge::new(input.clone(), outputs, spawned, *known);
            let mut others = lock(&self.node(*known).others);
            if others.len() < WAYS_TO_A_CHECKPOINT {
                others.push((from.id, Arc::clone(&edge)));
            }
            return edge;
        }
        let id = NodeId(self.nodes.reserve());
        let mut node = Node::bare(id, from.client, word, NodeState::Running);
        describe(&mut node);
        let edge = Edge::new(input.clone(), outputs, spawned, id);
        node.parent = Some((from.id, Arc::clone(&edge)));
        self.nodes.put(id.0, node);
        checkpoints.insert(word.0, id);
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

impl Node {
    fn bare(id: NodeId, client: ClientId, fingerprint: Fingerprint, state: NodeState) -> Node {
        Node {
            id,
            client,
            fingerprint,
            state,
            pending: Box::default(),
            unseen: Box::default(),
            listens: false,
            parent: None,
            others: Mutex::default(),
            edges: Table::default(),
        }
    }

    /// Its number in its trie.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Whose program this is.
    pub fn client(&self) -> ClientId {
        self.client
    }

    /// The fingerprint of the client and its program's inputs so far; of an ended program, of the
    /// client and how it ended.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Whether the program goes on.
    pub fn state(&self) -> &NodeState {
        &self.state
    }

    /// What the program waits for, by call slot.
    pub fn pending(&self) -> &[(CallId, Pending)] {
        &self.pending
    }

    /// Whether anybody in the program would hear of a change of the session's state. Where nobody
    /// does, such an input leads back to this node.
    pub fn listens(&self) -> bool {
        self.listens
    }
}

impl Edge {
    fn new(input: Input, outputs: Arc<[Output]>, spawned: bool, child: NodeId) -> Arc<Edge> {
        let is_loud = |output: &Output| match output {
            Output::Submit { .. } | Output::Abandon { .. } => false,
            Output::Observe(_)
            | Output::Send { .. }
            | Output::Finished(_)
            | Output::Panicked(_) => true,
        };
        let visible = spawned || outputs.iter().any(is_loud);
        Arc::new(Edge { input, outputs, spawned, visible, child })
    }

    /// What the program is told.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// What it does in reaction.
    pub fn outputs(&self) -> &Arc<[Output]> {
        &self.outputs
    }

    /// Whether it spawns a task.
    pub fn spawned(&self) -> bool {
        self.spawned
    }

    /// Whether it does more than begin and abandon calls: it tells the monitors something, sends to
    /// another program, spawns a task, finishes or panics.
    pub fn is_visible(&self) -> bool {
        self.visible
    }

    /// Where it leads.
    pub fn child(&self) -> NodeId {
        self.child
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

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("id", &self.id.0)
            .field("client", &self.client)
            .field("state", &self.state)
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}
