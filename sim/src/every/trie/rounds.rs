//! Where a program begins a round anew, it is the state that the round begins with.
//!
//! The node of such a place is found by that state, and every process that is to stand there is made
//! from it: what was before is not taken again. So nothing can be forgotten that a program goes by,
//! as far as the language sees to it: of a round nothing survives but its state, because the round's
//! future is dropped, the closure that makes rounds cannot change what it holds, and the beginning
//! counts only where the program has no call, watch, subscription or task left
//! ([`vivarium_model::handle::executor::Began`]).
//!
//! What the language lets through (a counter behind an `Arc`, in a static, in a thread; an `Eq` that
//! leaves something out) is looked for:
//!
//! * A process that has come to the beginning of a round must have done there what one made from the
//!   state does, and wait for the same.
//! * From there on, what is new is also asked of a process that has come another way.
//! * A way that closes a circle of rounds is gone round again and again by one and the same process,
//!   which then does some of what is known besides.

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

/// Through so many rounds one process goes in a circle. More than anything in practice is tried again.
const ROUNDS: usize = 16;

/// And so many for circles like those before.
const FEWER_ROUNDS: usize = 4;

/// How many of the ways to the beginning of a round are remembered.
const WAYS: usize = 16;

/// So many circles with the same first lap are no circles like those before.
const CIRCLES: usize = 2;

/// How many of the known walks from the beginning of a round are taken after such a circle, each by
/// a process of its own; after the others it is one.
const WALKS: usize = 8;

/// A circle is looked for among so many rounds at most.
const NEAR: usize = 16;

/// One program's rounds.
#[derive(Default)]
pub(super) struct Rounds {
    /// Where they begin, by their state.
    begun: BTreeMap<Fingerprint, NodeId>,
    /// Of two rounds, how one leads to the other, and in how many ways.
    laps: BTreeMap<(NodeId, NodeId), (Lap, usize)>,
    /// Some of the ways to each.
    pub(super) arrivals: BTreeMap<NodeId, Vec<Lap>>,
    /// The first way to each.
    first: BTreeMap<NodeId, Lap>,
}

/// The end of a way through a round, which begins the next one.
#[derive(Clone)]
pub(super) struct Lap {
    from: NodeId,
    edge: Arc<Edge>,
}

impl Rounds {
    /// The end of the first way to the beginning of a round. None while it is being taken.
    pub(super) fn first(&self, round: NodeId) -> Option<Lap> {
        self.first.get(&round).cloned()
    }

    /// The fewest laps from the beginning of one round to that of another.
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
    /// The edge to the beginning of a round.
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

    /// Where the round begins that begins with this state.
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

    /// What a process did along a way, one that has come another way to its beginning must do too.
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

    /// If this edge to the beginning of a round closes a circle of rounds, one process goes round it
    /// again and again.
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

    /// One process goes round, and then for a walk.
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

    /// A whole lap.
    pub(super) fn lap(&self, lap: &Lap) -> Way {
        let mut way = self.way(self.node(lap.from));
        way.edges.push(Arc::clone(&lap.edge));
        way
    }

    /// Of the walks from the beginning of a round that are known now, one: different numbers give
    /// different walks, while there are any.
    fn known_walk(&self, start: NodeId, mut number: usize) -> Vec<Arc<Edge>> {
        let (mut node, mut walk) = (self.node(start), Vec::new());
        loop {
            let mut edges = node.edges.known();
            // These are laps, or lead nowhere.
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

/// A process that came out of a round is not where a new one with the same state begins.
fn carried_on(client: ClientId, input: &Input, came: &[Output], began: &[Output]) -> String {
    let (came, began) = match came == began {
        true => ("waits for one thing".to_owned(), "for another".to_owned()),
        false => parted(came, began),
    };
    format!(
        "{client}'s program depends on something other than its handle and what its rounds hand on: \
         behind its input \"{input}\" the next round {came} and, begun with the same state in a new \
         process, {began}"
    )
}

/// A process that came out of a round stays where one with the same state ends or begins the next.
fn moved_on(client: ClientId) -> String {
    format!(
        "{client}'s program depends on something other than its handle and what its rounds hand on: \
         a round waits for an input that does not when it is begun with the same state in a new \
         process"
    )
}

/// Two states with one hash.
fn alike(client: ClientId) -> String {
    format!(
        "{client}'s program hands on two states that are not equal and hash alike: their `Hash` must \
         take in all that their `Eq` does (derive both)"
    )
}

/// What a process did that had been through other rounds.
pub(super) fn other_rounds(why: String) -> String {
    format!("{why}; it had been through other rounds, and what they hand on does not tell all")
}
