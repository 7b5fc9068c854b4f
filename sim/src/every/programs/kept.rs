//! What a search keeps of its computations besides pieces: the graphs of clients' private steps, and the questions that
//! lead to them.

use super::Budget;
use super::pieces::Place;
use crate::every::intern::{Number, Weighed};
use vivarium_model::id::SessionId;
use vivarium_model::zxid::Zxid;

/// What the steps of a client ask of the shared piece, besides the client's sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Nothing,
    /// Which transaction its server notifies a client of. The number is that of the listener.
    Notice(Number),
    /// The log from here on.
    Log(Zxid),
    Everything,
}

impl Question {
    /// Returns a number of the question. The answers of different logs from different zxids can only be equal if the
    /// logs are, so a part of the zxid is enough.
    pub(super) fn code(self) -> u32 {
        match self {
            Question::Nothing => 0,
            Question::Everything => 1,
            Question::Notice(listener) => listener.get() << 2 | 2,
            Question::Log(from) => (from.0 as u32) << 2 | 3,
        }
    }
}

/// The index of a node in a graph.
pub(super) type NodeIndex = u16;

/// No node.
pub(super) const NOWHERE: NodeIndex = NodeIndex::MAX;

/// The places that a client can reach by private steps.
pub(super) struct Graph {
    pub(super) nodes: Box<[Node]>,
    pub(super) edges: Box<[NodeIndex]>,
    /// The expiries of live sessions on the way to nodes, each after an earlier one. The first index, 0, is that of no
    /// expiry and is not listed.
    pub(super) expiries: Box<[(u16, SessionId)]>,
    /// The ends of its blocks; `None` if they must be walked.
    pub(super) summary: Option<Box<Summary>>,
}

pub(super) struct Node {
    pub(super) client: Number,
    pub(super) left: Budget,
    /// The index of the expiry on the way.
    pub(super) expiry: u16,
    /// The client's own steps at this place.
    pub(super) own: Number,
    /// The index of the edge of the first of these steps. A step that is not private has an edge to nowhere.
    pub(super) first: u32,
}

/// The entry under the answers so far.
pub(super) enum Asked {
    /// The next question.
    Next(Question),
    Graph(Graph),
    /// There is no graph: a step changes other clients, or there are too many places.
    None,
}

impl Weighed for Asked {
    fn heap_bytes(&self) -> usize {
        match self {
            Asked::Graph(graph) => graph.heap_bytes(),
            Asked::Next(_) | Asked::None => 0,
        }
    }
}

impl Graph {
    fn heap_bytes(&self) -> usize {
        let summary =
            self.summary.as_ref().map_or(0, |summary| size_of::<Summary>() + summary.heap_bytes());
        let lists = size_of_val(&*self.nodes) + size_of_val(&*self.edges);
        lists + size_of_val(&*self.expiries) + summary
    }

    /// Returns the expiries on the way to nodes.
    pub(super) fn expiries(&self) -> &[(u16, SessionId)] {
        &self.expiries
    }

    /// Returns the number of the client's own steps at a node, the node's place with the shared piece and the monitors of
    /// `start`, and the index of the expiry on the way.
    pub(super) fn place(&self, node: NodeIndex, start: Place) -> (Number, Place, u16) {
        let Node { client, left, expiry, own, .. } = self.nodes[usize::from(node)];
        (own, Place { client, left, ..start }, expiry)
    }

    /// Returns the number of the own steps of a node.
    pub(super) fn own(&self, node: NodeIndex) -> Number {
        self.nodes[usize::from(node)].own
    }

    /// Returns the node that the private step with this index leads to.
    pub(super) fn after(&self, node: NodeIndex, step: usize) -> NodeIndex {
        let to = self.edges[self.nodes[usize::from(node)].first as usize + step];
        assert_ne!(to, NOWHERE, "a private step has an edge");
        to
    }
}

/// The ends of the blocks of a graph.
pub(super) struct Summary {
    /// The histories of events, each as an earlier one and the events that follow. The first history, which is not listed,
    /// is empty.
    pub(super) heard: Box<[(u16, Number)]>,
    pub(super) ends: Box<[End]>,
    pub(super) withheld: bool,
    pub(super) withheld_while_busy: bool,
    pub(super) input_withheld: bool,
    pub(super) idle: bool,
}

/// The end of a block.
#[derive(Clone, Copy)]
pub(super) struct End {
    /// The node before the last step.
    pub(super) node: NodeIndex,
    /// The history of events before the last step.
    pub(super) heard: u16,
    /// The index of the last step among the client's own steps at the node; `None` if the client waits there.
    pub(super) step: Option<u16>,
    pub(super) length: u16,
}

impl Summary {
    /// Returns the size in memory beyond its own, in bytes.
    fn heap_bytes(&self) -> usize {
        size_of_val(&*self.heard) + size_of_val(&*self.ends)
    }
}
