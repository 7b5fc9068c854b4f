//! Places of programs, and what leads from one to the next.

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

/// Number of a node in its trie.
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
    /// How many inputs the program was given since it started, or since its round began.
    pub(super) inputs: u32,
    pub(super) origin: Origin,
    pub(super) edges: Table,
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
    /// here is unknown. A search that comes here has failed, see [`Trie::dependent`](super::Trie::dependent).
    Dependent(String),
}

/// Where a program at a node comes from, as far as it matters to what it will do.
pub(super) enum Origin {
    /// Nowhere: it has not started, or it has ended.
    Nowhere,
    /// It has begun this round, and was told nothing since.
    Round(Beginning),
    /// From another node, along an edge.
    Node(NodeId, Arc<Edge>),
}

/// What a program waits for.
#[derive(Default, PartialEq, Eq)]
pub(super) struct Waits {
    pub(super) pending: Box<[(CallId, Pending)]>,
    /// Parts of the replies that it does not observe.
    pub(super) unseen: Box<[(CallId, Unseen)]>,
    pub(super) listens: bool,
    /// It asks for the session of each change.
    pub(super) listens_for_sessions: bool,
}

/// One input and what it makes a program do.
#[derive(Debug)]
pub struct Edge {
    pub(super) input: Input,
    pub(super) outputs: Arc<[Output]>,
    spawned: bool,
    visible: bool,
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

    /// Its number in its trie.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Whose program this is.
    pub fn client(&self) -> ClientId {
        self.client
    }

    /// The fingerprint of the client, the state of its program's latest round that stands for all
    /// before it, and the program's inputs since; of an ended program, of the client and how it ended.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Whether the program goes on.
    pub fn state(&self) -> &NodeState {
        &self.state
    }

    /// What the program waits for, by call slot.
    pub fn pending(&self) -> &[(CallId, Pending)] {
        &self.waits.pending
    }

    /// How many inputs the program was given since it started, or since its latest round began.
    pub fn inputs(&self) -> u32 {
        self.inputs
    }

    /// Whether anybody in the program would hear of a change of the session's state. Where nobody
    /// does, such an input leads back to this node.
    pub fn listens(&self) -> bool {
        self.waits.listens
    }

    /// Whether it is a program that was begun and has not ended.
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
    /// What the program does before its first input.
    pub(super) outputs: Arc<[Output]>,
}
