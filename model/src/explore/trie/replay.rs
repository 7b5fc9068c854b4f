//! Taking an edge for the first time: the program runs, from its beginning.
//!
//! Every replay is also a check: a program that does another thing when it is told the same has
//! something else to go by than its handle (a static, a clock, a channel to another program), and
//! neither an explorer nor a recorded case can have it. An edge that ends the program is taken
//! twice, because no later replay would come along it.

use super::{Edge, Node, NodeState, Trie};
use crate::fingerprint::Fingerprint;
use crate::handle::Process;
use crate::host::{Input, Output};
use crate::id::ClientId;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A program that stands behind a new edge.
pub(super) struct Run {
    pub(super) process: Process,
    pub(super) outputs: Vec<Output>,
    /// Whether it spawned a task on this edge.
    pub(super) spawned: bool,
    /// What it said of its own state on this edge.
    pub(super) checkpoint: Option<Fingerprint>,
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
    /// Runs the program of a node from its beginning, along the node's history and then one input
    /// further. `Err` is the sentence that tells what it depends on.
    pub(super) fn run(&self, from: &Node, input: &Input) -> Result<Run, String> {
        let mut history = self.history(from);
        let run = self.replayed(from.client, &history, input)?;
        // By another way to a checkpoint it must come to the same.
        let other = self.other_history(from, input_number(input));
        if other.len() != history.len()
            || !other.iter().zip(&history).all(|(a, b)| Arc::ptr_eq(a, b))
        {
            let again = self.replayed(from.client, &other, input)?;
            if again.outputs != run.outputs || again.checkpoint != run.checkpoint {
                let edge = Edge::new(input.clone(), run.outputs.into(), run.spawned, from.id);
                let why = difference(from.client, other.len() as u32 + 1, &edge, &again.outputs);
                return Err(format!(
                    "{why}; it came by another way to a checkpoint of its own, which does not tell all that it goes by"
                ));
            }
        }
        if run.state() != NodeState::Running {
            let outputs = run.outputs.as_slice().into();
            history.push(Edge::new(input.clone(), outputs, run.spawned, from.id));
            self.check(from.client, &history)?;
        }
        Ok(run)
    }

    fn replayed(
        &self,
        client: ClientId,
        history: &[Arc<Edge>],
        input: &Input,
    ) -> Result<Run, String> {
        let mut process = self.check(client, history)?;
        let (tasks, polls) = (process.tasks(), process.polls());
        let mut outputs = Vec::new();
        process.take_checkpoint();
        process.feed(input.clone(), &mut outputs);
        let checkpoint = process.take_checkpoint();
        self.polls.fetch_add(process.polls() - polls, Ordering::Relaxed);
        if process.is_foreign() {
            return Err(foreign(client));
        }
        Ok(Run { spawned: process.tasks() > tasks, process, outputs, checkpoint })
    }

    /// A process that has been through a history again, and has done what it did before.
    fn check(&self, client: ClientId, history: &[Arc<Edge>]) -> Result<Process, String> {
        self.replays.fetch_add(1, Ordering::Relaxed);
        let mut process = Process::new(client, &self.lane(client).program);
        let mut outputs = Vec::new();
        for (number, edge) in (1..).zip(history) {
            outputs.clear();
            process.feed(edge.input.clone(), &mut outputs);
            if process.is_foreign() {
                return Err(foreign(client));
            }
            if outputs != *edge.outputs {
                return Err(difference(client, number, edge, &outputs));
            }
        }
        self.polls.fetch_add(process.polls(), Ordering::Relaxed);
        Ok(process)
    }
}

/// A number that differs from input to input, to pick a way by.
fn input_number(input: &Input) -> usize {
    Fingerprint::of(input).0 as usize
}

pub(super) fn foreign(client: ClientId) -> String {
    format!(
        "{client}'s program was woken by something other than its handle, so what it does is not \
         decided by its inputs"
    )
}

/// The first thing that a program did differently when it was told the same.
fn difference(client: ClientId, number: u32, edge: &Edge, now: &[Output]) -> String {
    let before = &edge.outputs;
    let at = before.iter().zip(now).take_while(|(before, now)| before == now).count();
    let did = |outputs: &[Output]| match outputs.get(at) {
        Some(output) => format!("\"{output}\""),
        None if at == 0 => "does nothing".to_owned(),
        None => "does nothing more".to_owned(),
    };
    format!(
        "{client}'s program depends on something other than its handle: at its input {number} \
         (\"{}\") the first run {} and a later one, told the same, {}",
        edge.input,
        did(before),
        did(now)
    )
}
