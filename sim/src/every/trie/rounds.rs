//! Rounds: a program that begins a round is identified by the state that the round begins with.
//!
//! The node of a round's beginning is found by that state, and every process at this node is created from the state,
//! without replaying what came before. The language guarantees most of what this needs. Only the state survives a
//! round, because the round's future is dropped, the closure that creates rounds cannot change what it captures, and
//! the beginning counts only if the program has no call, watch, subscription or task left
//! ([`vivarium_model::handle::executor::Began`]).
//!
//! The language does not exclude a counter behind an `Arc`, in a static or in a thread, or an `Eq` that omits
//! something. Such dependences are searched for:
//!
//! * A process that reaches the beginning of a round must have done what a process created from the state does, and
//!   must wait for the same.
//! * From there on, each new edge is also taken by a process that entered the round by another path.
//! * A path that closes a cycle of rounds is repeated by one and the same process, which then takes some other known
//!   edges.

use super::node::{Beginning, Origin};
use super::replay::{Run, Way, difference, parted};
use super::{Edge, Node, NodeId, NodeState, Trie, Waits, lock};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::handle::executor::Began;
use vivarium_model::handle::{Carried, Process};
use vivarium_model::host::{Input, Output};
use vivarium_model::id::ClientId;

/// The number of rounds that one process repeats in a cycle: more attempts than any practical program retries.
const ROUNDS: usize = 16;

/// The same for a cycle like earlier ones.
const FEWER_ROUNDS: usize = 4;

/// How many of the paths to the beginning of a round are remembered.
const WAYS: usize = 16;

/// The number of cycles with the same first lap that are repeated in full. Later ones count as similar to earlier ones.
const CIRCLES: usize = 2;

/// The number of known walks from the beginning of a round that are taken after such a cycle, each by a process of its
/// own. After other cycles, one walk is taken.
const WALKS: usize = 8;

/// The most rounds among which a cycle is searched for.
const NEAR: usize = 16;

/// The rounds of one program.
#[derive(Default)]
pub(super) struct Rounds {
    /// The beginnings of rounds, by the fingerprint of their state.
    begun: BTreeMap<Fingerprint, NodeId>,
    /// For a pair of rounds, a path from one to the other, and the number of such paths.
    laps: BTreeMap<(NodeId, NodeId), (Lap, usize)>,
    /// Some of the paths to each round.
    pub(super) arrivals: BTreeMap<NodeId, Vec<Lap>>,
    /// The first path to each round.
    first: BTreeMap<NodeId, Lap>,
}

/// The last edge of a path through a round, which begins the next round.
#[derive(Clone)]
pub(super) struct Lap {
    from: NodeId,
    edge: Arc<Edge>,
}

impl Rounds {
    /// Returns the first path to the beginning of a round; `None` while that path is being taken.
    pub(super) fn first(&self, round: NodeId) -> Option<Lap> {
        self.first.get(&round).cloned()
    }

    /// Returns the fewest laps from one round to another.
    fn path(&self, start: NodeId, end: NodeId) -> Option<Vec<Lap>> {
        let (mut queue, mut seen) =
            (VecDeque::from([(start, Vec::new())]), BTreeSet::from([start]));
        while let Some((at, path)) = queue.pop_front() {
            if at == end {
                return Some(path);
            }
            for ((_, next), (lap, _)) in self.laps.range((at, NodeId::MIN)..=(at, NodeId::MAX)) {
                if seen.len() < NEAR && seen.insert(*next) {
                    let longer = path.iter().chain([lap]).cloned().collect();
                    queue.push_back((*next, longer));
                }
            }
        }
        None
    }
}

impl Trie {
    /// Returns the edge to the beginning of a round, and checks the process that took it.
    pub(super) fn cross(
        &self,
        from: &Node,
        input: &Input,
        run: Run,
        began: &Began,
    ) -> Result<Arc<Edge>, String> {
        let next = self.node(self.round(from.client, &began.state)?);
        let Origin::Round(beginning) = &next.origin else { unreachable!("a round begins there") };
        if beginning.state != began.state {
            return Err(alike(from.client));
        }
        let tail = &run.outputs[began.said..];
        if *tail != *beginning.outputs || Waits::of(&run.process) != next.waits {
            return Err(carried_on(from.client, input, tail, &beginning.outputs));
        }
        self.keep(from.client, run.process);
        let edge = Edge::new(input.clone(), run.outputs.into(), run.spawned, next.id);
        let lap = Lap { from: from.id, edge: Arc::clone(&edge) };
        lock(&self.lane(from.client).rounds).first.entry(next.id).or_insert(lap);
        self.go_round(from, &edge)?;
        Ok(edge)
    }

    /// Returns the node of the round that begins with this state.
    fn round(&self, client: ClientId, state: &Carried) -> Result<NodeId, String> {
        let (rounds, key) = (&self.lane(client).rounds, state.fingerprint());
        if let Some(known) = lock(rounds).begun.get(&key) {
            return Ok(*known);
        }
        let process = Process::at(client, &self.lane(client).program, state.clone());
        let run = self.step(client, process, &Input::Start)?;
        let stays = run.began.as_ref().is_some_and(|at| at.said == 0 && at.state == *state);
        if !stays || run.state() != NodeState::Running {
            return Err(moved_on(client));
        }
        let beginning = Beginning { state: state.clone(), outputs: run.outputs.into() };
        let waits = Waits::of(&run.process);
        Ok(*lock(rounds).begun.entry(key).or_insert_with(|| {
            let id = NodeId(self.nodes.reserve());
            let fingerprint = Fingerprint::of(&("round", client, key));
            let mut node = Node::bare(id, client, fingerprint, NodeState::Running);
            (node.waits, node.origin) = (waits, Origin::Round(beginning));
            self.nodes.put(id.0, node);
            id
        }))
    }

    /// Checks that a process that entered the round by another path does the same as the process that took the new
    /// edge.
    pub(super) fn check_another_way(
        &self,
        way: &Way,
        input: &Input,
        run: &Run,
    ) -> Result<(), String> {
        let client = self.node(way.start).client;
        let arrival = {
            let rounds = lock(&self.lane(client).rounds);
            let Some(arrivals) = rounds.arrivals.get(&way.start) else { return Ok(()) };
            arrivals[Fingerprint::of(input).0 as usize % arrivals.len()].clone()
        };
        let before = self.lap(&arrival);
        let mut process = self.begun(before.start)?;
        let mut number = 1;
        let times = if before.start == way.start { FEWER_ROUNDS } else { 1 };
        for edges in (0..times).map(|_| &before.edges).chain([&way.edges]) {
            self.follow(&mut process, client, edges, number).map_err(other_rounds)?;
            number += edges.len();
        }
        let again = self.step(client, process, input)?;
        let place = |run: &Run| run.began.as_ref().map(|at| (at.said, at.state.clone()));
        if again.outputs == run.outputs && place(&again) == place(run) {
            return Ok(());
        }
        let outputs = run.outputs.as_slice().into();
        let edge = Edge::new(input.clone(), outputs, run.spawned, way.start);
        Err(other_rounds(difference(client, number, &edge, &again.outputs)))
    }

    /// If this edge closes a cycle of rounds, one process repeats the cycle.
    fn go_round(&self, from: &Node, edge: &Arc<Edge>) -> Result<(), String> {
        let lap = Lap { from: from.id, edge: Arc::clone(edge) };
        let start = self.way(from).start;
        if !self.node(start).has_begun() {
            return Ok(());
        }
        let (path, known) = {
            let mut rounds = lock(&self.lane(from.client).rounds);
            let arrivals = rounds.arrivals.entry(edge.child).or_default();
            if arrivals.len() < WAYS {
                arrivals.push(lap.clone());
            }
            let pair = rounds.laps.entry((start, edge.child)).or_insert_with(|| (lap.clone(), 0));
            pair.1 += 1;
            let known = pair.1;
            (rounds.path(edge.child, start), known)
        };
        let Some(path) = path else { return Ok(()) };
        let laps = 1 + path.len();
        let edges = [lap].into_iter().chain(path).flat_map(|lap| self.lap(&lap).edges);
        let circle = Way { start, edges: edges.collect() };
        if known <= CIRCLES {
            let mut walks = (0..WALKS).take_while(|_| !self.is_late());
            walks.try_for_each(|walk| self.circle(&circle, ROUNDS.div_ceil(laps), walk))
        } else {
            self.circle(&circle, FEWER_ROUNDS.div_ceil(laps) + 1, known)
        }
    }

    /// Repeats a cycle with one process, which then takes a walk.
    fn circle(&self, circle: &Way, times: usize, walk: usize) -> Result<(), String> {
        let (client, mut number) = (self.node(circle.start).client, 1);
        let mut process = self.begun(circle.start)?;
        let walk = self.known_walk(circle.start, walk);
        for edges in (0..times).map(|_| &circle.edges).chain([&walk]) {
            if self.is_late() {
                break;
            }
            self.follow(&mut process, client, edges, number).map_err(other_rounds)?;
            number += edges.len();
        }
        Ok(())
    }

    /// Returns the history of a lap, including its last edge.
    pub(super) fn lap(&self, lap: &Lap) -> Way {
        let mut way = self.way(self.node(lap.from));
        way.edges.push(Arc::clone(&lap.edge));
        way
    }

    /// Returns a known walk from the beginning of a round. Different numbers give different walks, while there are any.
    fn known_walk(&self, start: NodeId, mut number: usize) -> Vec<Arc<Edge>> {
        let (mut node, mut walk) = (self.node(start), Vec::new());
        loop {
            let mut edges = node.edges.known();
            // These edges are laps, or lead nowhere.
            edges.retain(|edge| edge.child != node.id);
            if edges.is_empty() {
                return walk;
            }
            let edge = edges.swap_remove(number % edges.len());
            number /= edges.len() + 1;
            node = self.node(edge.child);
            walk.push(edge);
            if !matches!(node.origin, Origin::Node(..)) {
                return walk;
            }
        }
    }
}

/// Says that a process that came out of a round differs from a new process with the same state.
fn carried_on(client: ClientId, input: &Input, came: &[Output], began: &[Output]) -> String {
    let (came, began) = match came == began {
        true => ("waits for one thing".to_owned(), "for another".to_owned()),
        false => parted(came, began),
    };
    format!(
        "{client}'s program depends on something other than its handle and the state that its \
         rounds hand on: after its input \"{input}\" the next round {came} and, begun with the same \
         state in a new process, {began}"
    )
}

/// Says that a process waits at the beginning of a round where a new process with the same state does not.
fn moved_on(client: ClientId) -> String {
    format!(
        "{client}'s program depends on something other than its handle and the state that its \
         rounds hand on: a round waits for an input, but does not when it is begun with the same \
         state in a new process"
    )
}

/// Says that two unequal states have equal hashes.
fn alike(client: ClientId) -> String {
    format!(
        "{client}'s program hands on two states that are not equal, but hash alike: their `Hash` \
         must include every field that their `Eq` compares (derive both)"
    )
}

/// Extends the sentence about a process that had been through other rounds.
pub(super) fn other_rounds(why: String) -> String {
    format!(
        "{why}; its earlier rounds were different, so the state that rounds hand on is incomplete"
    )
}
