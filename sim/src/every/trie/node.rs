//! The nodes and edges of a trie of programs.

use super::table::Table;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::handle::port::Pending;
use vivarium_model::handle::transport::Unseen;
use vivarium_model::handle::{Carried, Process};
use vivarium_model::host::{Input, Output};
use vivarium_model::id::{CallId, ClientId};

/// The number of a node in its trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(super) NonZeroU32);

impl NodeId {
    pub(super) const MIN: NodeId = NodeId(NonZeroU32::MIN);
    pub(super) const MAX: NodeId = NodeId(NonZeroU32::MAX);
}

/// The state of one program.
pub struct Node {
    pub(super) id: NodeId,
    pub(super) client: ClientId,
    pub(super) fingerprint: Fingerprint,
    pub(super) state: NodeState,
    pub(super) waits: Waits,
    /// The number of inputs since the program started, or since its round began.
    pub(super) inputs: u32,
    pub(super) origin: Origin,
    pub(super) edges: Table,
}

/// Whether a program can continue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeState {
    /// The program has not started, or waits for its next input.
    Running,
    /// The program's main future returned.
    Finished(Result<(), String>),
    /// The program panicked.
    Panicked(String),
    /// The program depends on something other than its handle, as this sentence says; its further behaviour is unknown.
    /// A search that reaches this node has failed, see [`Trie::dependent`](super::Trie::dependent).
    Dependent(String),
}

/// The part of a program's past that matters to its future.
pub(super) enum Origin {
    /// Nothing: the program has not started, or it has ended.
    Nowhere,
    /// The program has begun this round, and has received no input since.
    Round(Beginning),
    /// The program came from another node along an edge.
    Node(NodeId, Arc<Edge>),
}

/// What a program waits for.
#[derive(Default, PartialEq, Eq)]
pub(super) struct Waits {
    pub(super) pending: Box<[(CallId, Pending)]>,
    /// Parts of the replies that the program does not observe.
    pub(super) unseen: Box<[(CallId, Unseen)]>,
    pub(super) listens: bool,
    /// Whether the program asks for the session of each change.
    pub(super) listens_for_sessions: bool,
}

/// An input and the program's reaction to it.
#[derive(Debug)]
pub struct Edge {
    pub(super) input: Input,
    pub(super) outputs: Arc<[Output]>,
    spawned: bool,
    pub(super) child: NodeId,
}

impl Node {
    pub(super) fn bare(
        id: NodeId,
        client: ClientId,
        fingerprint: Fingerprint,
        state: NodeState,
    ) -> Node {
        let (waits, origin) = (Waits::default(), Origin::Nowhere);
        Node { id, client, fingerprint, state, waits, inputs: 0, origin, edges: Table::default() }
    }

    /// Returns the node's number in its trie.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Returns the client whose program this is.
    pub fn client(&self) -> ClientId {
        self.client
    }

    /// Returns the fingerprint: of the client, the state of the program's latest round (which stands for everything
    /// before it), and the program's inputs since. For an ended program, of the client and the result.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Returns whether the program can continue.
    pub fn state(&self) -> &NodeState {
        &self.state
    }

    /// Returns what the program waits for, by call slot.
    pub fn pending(&self) -> &[(CallId, Pending)] {
        &self.waits.pending
    }

    /// Returns the number of inputs since the program started, or since its latest round began.
    pub fn inputs(&self) -> u32 {
        self.inputs
    }

    /// Returns true if a task of the program is notified of changes of the session's state. If none is, such an input
    /// leads back to this node.
    pub fn listens(&self) -> bool {
        self.waits.listens
    }

    /// Returns true if the program has begun and has not ended.
    pub(super) fn has_begun(&self) -> bool {
        !matches!(self.origin, Origin::Nowhere)
    }
}

impl Waits {
    pub(super) fn of(process: &Process) -> Waits {
        Waits {
            pending: process.pending().into(),
            unseen: process.unseen().into(),
            listens: process.listens(),
            listens_for_sessions: process.listens_for_sessions(),
        }
    }
}

impl Edge {
    pub(super) fn new(
        input: Input,
        outputs: Arc<[Output]>,
        spawned: bool,
        child: NodeId,
    ) -> Arc<Edge> {
        Arc::new(Edge { input, outputs, spawned, child })
    }

    /// Returns the program's input.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Returns the program's reaction.
    pub fn outputs(&self) -> &Arc<[Output]> {
        &self.outputs
    }

    /// Returns true if the program spawns a task on this edge.
    pub fn spawned(&self) -> bool {
        self.spawned
    }

    /// Returns the node that the edge leads to.
    pub fn child(&self) -> NodeId {
        self.child
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("id", &self.id.0)
            .field("client", &self.client)
            .field("state", &self.state)
            .field("pending", &self.waits.pending)
            .finish_non_exhaustive()
    }
}

/// The beginning of a round.
pub(super) struct Beginning {
    pub(super) state: Carried,
    /// The program's outputs before its first input in the round.
    pub(super) outputs: Arc<[Output]>,
}
