//! Takes a new edge: the program runs from its beginning, or from the beginning of its round.
//!
//! Every replay is also a check. A program that reacts differently to the same inputs depends on something other than
//! its handle (a static, a clock, a channel to another program). Neither an explorer nor a recorded case supports such
//! programs. An edge that ends the program is taken twice, because no later replay would pass it. `rounds.rs` describes
//! the checks at the end of a round.

use super::node::Origin;
use super::{Edge, Node, NodeId, NodeState, Trie};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vivarium_model::handle::executor::Began;
use vivarium_model::handle::{Process, Program};
use vivarium_model::host::{Input, Output, woken_from_outside};
use vivarium_model::id::ClientId;

/// A program after a new edge.
pub(super) struct Run {
    pub(super) process: Process,
    pub(super) outputs: Vec<Output>,
    /// Whether the program spawned a task on this edge.
    pub(super) spawned: bool,
    /// The last beginning of a round on this edge, if nothing else of the program's past matters.
    pub(super) began: Option<Began>,
}

/// The history that brings a process to a node.
pub(super) struct Way {
    /// A root, or the beginning of a round.
    pub(super) start: NodeId,
    /// The inputs from the start.
    pub(super) edges: Vec<Arc<Edge>>,
}

impl Run {
    pub(super) fn state(&self) -> NodeState {
        match self.outputs.last() {
            Some(Output::Finished(result)) => NodeState::Finished(result.clone()),
            Some(Output::Panicked(message)) => NodeState::Panicked(message.clone()),
            _ => NodeState::Running,
        }
    }
}

impl Trie {
    /// Runs the program of a node along the node's history and then one input further. Returns `Err` with a sentence
    /// that says what the program depends on.
    pub(super) fn run(&self, from: &Node, input: &Input) -> Result<Run, String> {
        let mut way = self.way(from);
        let run = self.step(from.client, self.taken(&way)?, input)?;
        self.check_another_way(&way, input, &run)?;
        self.check_values(from, input, &run.outputs)?;
        if run.state() != NodeState::Running {
            let outputs = run.outputs.as_slice().into();
            way.edges.push(Edge::new(input.clone(), outputs, run.spawned, from.id));
            drop(self.taken(&way)?);
        }
        Ok(run)
    }

    /// Returns the history of a running program, back to the beginning of its round or of the program.
    pub(super) fn way(&self, node: &Node) -> Way {
        let (mut edges, mut start) = (Vec::new(), node);
        while let Origin::Node(parent, edge) = &start.origin {
            edges.push(Arc::clone(edge));
            start = self.node(*parent);
        }
        edges.reverse();
        Way { start: start.id, edges }
    }

    /// Feeds a process one new input.
    pub(super) fn step(
        &self,
        client: ClientId,
        mut process: Process,
        input: &Input,
    ) -> Result<Run, String> {
        let (tasks, polls) = (process.tasks(), process.polls());
        let mut outputs = Vec::new();
        if *input != Input::Start {
            process.take_began();
        }
        process.feed(input.clone(), &mut outputs);
        self.polls.fetch_add(process.polls() - polls, Ordering::Relaxed);
        if process.is_foreign() {
            return Err(woken_from_outside(client));
        }
        let began = process.take_began();
        Ok(Run { spawned: process.tasks() > tasks, process, outputs, began })
    }

    /// Replays a history, checks that the process repeats its outputs, and returns the process.
    fn taken(&self, way: &Way) -> Result<Process, String> {
        let mut process = self.begun(way.start)?;
        self.follow(&mut process, self.node(way.start).client, &way.edges, 1)?;
        Ok(process)
    }

    /// Creates a process at a root or at the beginning of a round.
    pub(super) fn begun(&self, start: NodeId) -> Result<Process, String> {
        self.begun_by(&self.lane(self.node(start).client).program, start)
    }

    /// Like [`Trie::begun`], with this program.
    pub(super) fn begun_by(&self, program: &Program, start: NodeId) -> Result<Process, String> {
        self.replays.fetch_add(1, Ordering::Relaxed);
        let start = self.node(start);
        let Origin::Round(beginning) = &start.origin else {
            return Ok(Process::new(start.client, program));
        };
        let process = Process::at(start.client, program, beginning.state.clone());
        let run = self.step(start.client, process, &Input::Start)?;
        if *run.outputs != *beginning.outputs {
            let edge = Edge::new(Input::Start, Arc::clone(&beginning.outputs), false, start.id);
            return Err(difference(start.client, 0, &edge, &run.outputs));
        }
        Ok(run.process)
    }

    /// Replays known edges with a process. The first edge is the process's input with this `number`.
    pub(super) fn follow(
        &self,
        process: &mut Process,
        client: ClientId,
        edges: &[Arc<Edge>],
        number: usize,
    ) -> Result<(), String> {
        let (mut outputs, polls) = (Vec::new(), process.polls());
        for (number, edge) in (number..).zip(edges) {
            outputs.clear();
            process.feed(edge.input.clone(), &mut outputs);
            if process.is_foreign() {
                return Err(woken_from_outside(client));
            }
            if outputs != *edge.outputs {
                return Err(difference(client, number, edge, &outputs));
            }
        }
        self.polls.fetch_add(process.polls() - polls, Ordering::Relaxed);
        Ok(())
    }
}

/// Describes the first difference in a replay of the same inputs.
pub(super) fn difference(client: ClientId, number: usize, edge: &Edge, now: &[Output]) -> String {
    let (before, now) = parted(&edge.outputs, now);
    let (place, input) = match number {
        0 => ("the beginning of a round".to_owned(), String::new()),
        _ => (format!("its input {number}"), format!(" (\"{}\")", edge.input)),
    };
    format!(
        "{client}'s program depends on something other than its handle: at {place}{input} the first \
         run {before} and a later one, with the same inputs, {now}"
    )
}

/// Describes the first output that differs, on both sides.
pub(in crate::every) fn parted(before: &[Output], now: &[Output]) -> (String, String) {
    let at = before.iter().zip(now).take_while(|(before, now)| before == now).count();
    let did = |outputs: &[Output]| match outputs.get(at) {
        Some(output) => format!("\"{output}\""),
        None if at == 0 => "does nothing".to_owned(),
        None => "does nothing more".to_owned(),
    };
    (did(before), did(now))
}
