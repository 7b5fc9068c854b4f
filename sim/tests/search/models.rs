//! Small models for the tests of the search: a grid whose counts are known by arithmetic, and arbitrary graphs, given
//! edge by edge.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::Objection;
use vivarium_sim::every::Model;

/// Counters that each go from 0 to a height, in any order.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    pub counters: usize,
    pub height: u8,
}

impl Grid {
    /// (height + 1)^counters.
    pub(crate) fn states(&self) -> u64 {
        (u64::from(self.height) + 1).pow(self.counters as u32)
    }

    /// The initial state, and for each state one successor for each counter that is not at the top.
    pub(crate) fn generated(&self) -> u64 {
        let others = (u64::from(self.height) + 1).pow(self.counters as u32 - 1);
        1 + self.counters as u64 * u64::from(self.height) * others
    }
}

impl stateright::Model for Grid {
    type State = Vec<u8>;
    type Action = usize;

    fn init_states(&self) -> Vec<Vec<u8>> {
        vec![vec![0; self.counters]]
    }

    fn actions(&self, state: &Vec<u8>, actions: &mut Vec<usize>) {
        actions.extend((0..self.counters).filter(|counter| state[*counter] < self.height));
    }

    fn next_state(&self, state: &Vec<u8>, counter: usize) -> Option<Vec<u8>> {
        let mut next = state.clone();
        next[counter] += 1;
        Some(next)
    }

    fn properties(&self) -> Vec<stateright::Property<Grid>> {
        vec![stateright::Property::always("no objection", |_, _| true)]
    }
}

impl Model for Grid {
    fn fingerprint(&self, state: &Vec<u8>) -> Fingerprint {
        Fingerprint::of(state)
    }
    fn objection<'a>(&self, _state: &'a Vec<u8>) -> Option<&'a Objection> {
        None
    }
    fn length(&self, _state: &Vec<u8>) -> u32 {
        1
    }
    fn at_rest(&self, state: &Vec<u8>) -> Result<(), Objection> {
        assert!(
            state.iter().all(|counter| *counter == self.height),
            "asked of a state that can go on"
        );
        Ok(())
    }
    fn withheld(&self, _state: &Vec<u8>) -> Option<&'static str> {
        None
    }
    fn heap_bytes(&self, state: &Vec<u8>) -> usize {
        state.capacity()
    }
}

/// A node and how it was reached; only the node distinguishes states.
#[derive(Clone, Debug)]
pub(crate) struct At {
    pub node: usize,
    length: u32,
    objection: Option<Arc<Objection>>,
}

impl PartialEq for At {
    fn eq(&self, other: &At) -> bool {
        self.node == other.node
    }
}

impl Hash for At {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.node.hash(state);
    }
}

/// A graph. A state is a node; an action is an index in its list of edges.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub initial: Vec<usize>,
    /// For each node, the targets of its edges and their numbers of steps. An edge without target is not possible.
    pub edges: Vec<Vec<(Option<usize>, u32)>>,
    /// Nodes that violate a property.
    pub bad: BTreeSet<usize>,
    /// Nodes that are stuck if no edge is possible.
    pub waiting: BTreeSet<usize>,
    /// Nodes whose entry makes the model panic.
    pub panicking: BTreeSet<usize>,
    /// Nodes in which the model leaves something out.
    pub withholding: BTreeSet<usize>,
    /// Nodes outside of the boundary.
    pub outside: BTreeSet<usize>,
    /// The progress at each node; 0 where it is not given.
    pub progress: Vec<i128>,
}

impl Graph {
    /// A graph that starts at node 0, with edges (from, to, steps).
    pub(crate) fn new(edges: &[(usize, usize, u32)]) -> Graph {
        let nodes = edges.iter().flat_map(|(from, to, _)| [*from, *to]).max().unwrap_or(0) + 1;
        let mut graph =
            Graph { initial: vec![0], edges: vec![Vec::new(); nodes], ..Graph::default() };
        for (from, to, length) in edges {
            graph.edges[*from].push((Some(*to), *length));
        }
        graph
    }

    fn at(&self, node: usize, length: u32) -> At {
        let objection = || Arc::new(Objection::new("good nodes", format!("at node {node}")));
        At { node, length, objection: self.bad.contains(&node).then(objection) }
    }
}

impl stateright::Model for Graph {
    type State = At;
    type Action = usize;

    fn init_states(&self) -> Vec<At> {
        self.initial.iter().map(|node| self.at(*node, 1)).collect()
    }

    fn actions(&self, state: &At, actions: &mut Vec<usize>) {
        actions.extend(0..self.edges[state.node].len());
    }

    fn next_state(&self, state: &At, edge: usize) -> Option<At> {
        let (node, length) = self.edges[state.node][edge];
        let node = node?;
        assert!(!self.panicking.contains(&node), "node {node} must never be");
        Some(self.at(node, length))
    }

    fn properties(&self) -> Vec<stateright::Property<Graph>> {
        vec![stateright::Property::always("no objection", |_, state: &At| {
            state.objection.is_none()
        })]
    }

    fn within_boundary(&self, state: &At) -> bool {
        !self.outside.contains(&state.node)
    }
}

impl Model for Graph {
    fn fingerprint(&self, state: &At) -> Fingerprint {
        Fingerprint::of(&state.node)
    }
    fn objection<'a>(&self, state: &'a At) -> Option<&'a Objection> {
        state.objection.as_deref()
    }
    fn length(&self, state: &At) -> u32 {
        state.length
    }
    fn at_rest(&self, state: &At) -> Result<(), Objection> {
        if self.waiting.contains(&state.node) {
            Err(Objection::new("progress", format!("node {} waits for ever", state.node)))
        } else {
            Ok(())
        }
    }
    fn progress(&self, state: &At) -> i128 {
        self.progress.get(state.node).copied().unwrap_or_default()
    }
    fn withheld(&self, state: &At) -> Option<&'static str> {
        self.withholding.contains(&state.node).then_some("2 timers")
    }
}
