//! Repeats after a search what programs did, in another order.
//!
//! During a search, a replay to a new edge reveals that a program depends on something other than its handle, if that
//! has changed in between. A flag that one program sets and another one reads can escape, because an input that the
//! reader received before may never be given to it again. So after the search, each path through each program is taken
//! again, up to a bound. The last client's paths and the longest paths come first. Then one client's new programs take
//! them, as if the others had never run; and then some paths are taken by new programs for each path, so that anything
//! created with the programs is fresh.
//!
//! A variable that the first program to run set once and for all, in a static or in something that was made before the
//! programs, is not found. A variable that a program sets later usually is, because all programs ran once side by side
//! before the search ([`rehearse`](crate::every::programs::ProgramModel::rehearse)).
//!
//! A round is identified by the state that it began with, compared by `Eq`. So each round is also entered by each of
//! the remembered paths that led to it, and the process that came by this path repeats some of what is known of the
//! round and the rounds after it.
//!
//! What a program does with other values is checked during the search (`values.rs`), along the same edges.

use super::node::Origin;
use super::replay::Way;
use super::rounds::other_rounds;
use super::{Edge, Node, NodeId, Trie, lock};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Instant;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::handle::Program;
use vivarium_model::id::ClientId;

/// The most inputs that are replayed in each pass.
const INPUTS: usize = if cfg!(debug_assertions) { 20_000 } else { 100_000 };

/// The most paths per client that are taken by programs of their own.
const ALONE: usize = 256;

/// The number of walks from the beginning of a round, for each path to it.
const WALKS: usize = 16;

/// The most inputs of a walk.
const STRIDES: usize = 32;

/// The number of repetitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Again {
    /// Paths through programs that were repeated.
    pub ways: u64,
    /// All paths through programs.
    pub of: u64,
    /// Walks through rounds that were entered by another path.
    pub walks: u64,
}

/// The last edge of a path through a program.
struct Last<'a> {
    from: &'a Node,
    edge: Arc<Edge>,
}

impl Trie {
    /// Repeats what the programs did, until the given instant; `fresh` creates new programs.
    ///
    /// # Errors
    /// Returns a sentence that says which program differs in a replay of the same inputs, and how.
    pub fn again(
        &self,
        fresh: &dyn Fn() -> Vec<Program>,
        until: Option<Instant>,
    ) -> Result<Again, String> {
        let mut again = Again::default();
        let is_late = || until.is_some_and(|until| Instant::now() >= until);
        let result = self.all_again(fresh, &is_late, &mut again);
        if let Err(sentence) = &result {
            let _ = self.dependence.set(sentence.clone());
        }
        result.map(|()| again)
    }

    fn all_again(
        &self,
        fresh: &dyn Fn() -> Vec<Program>,
        is_late: &dyn Fn() -> bool,
        again: &mut Again,
    ) -> Result<(), String> {
        for index in (0..self.clients()).rev() {
            let client = ClientId::at(index);
            let lasts = self.lasts(client);
            again.of += lasts.len() as u64;
            let chosen = chosen(&lasts, INPUTS / self.clients());
            for last in chosen.iter().take_while(|_| !is_late()) {
                self.takes(&self.lane(client).program, last).map_err(in_another_order)?;
            }
            let programs = fresh();
            for last in chosen.iter().take_while(|_| !is_late()) {
                self.takes(&programs[index], last).map_err(in_another_order)?;
                again.ways += 1;
            }
            let alone = chosen.iter().step_by(chosen.len().div_ceil(ALONE).max(1));
            for last in alone.take_while(|_| !is_late()) {
                self.takes(&fresh()[index], last).map_err(in_another_order)?;
            }
            self.rounds_again(client, is_late, again).map_err(other_rounds)?;
        }
        Ok(())
    }

    /// Returns the edges after which nothing more is known of a program, those with the longest paths first.
    fn lasts(&self, client: ClientId) -> Vec<Last<'_>> {
        let mut lasts = Vec::new();
        for from in self.nodes.iter().filter(|node| node.client == client) {
            let goes_on = |edge: &Arc<Edge>| {
                let child = self.node(edge.child);
                let is_inner = matches!(child.origin, Origin::Node(..));
                is_inner && child.edges.known().iter().any(|edge| edge.child != child.id)
            };
            let edges = from.edges.known().into_iter();
            let edges = edges.filter(|edge| edge.child != from.id && !goes_on(edge));
            lasts.extend(edges.map(|edge| Last { from, edge }));
        }
        lasts.sort_by_cached_key(|last| {
            let name = Fingerprint::of(&(last.from.fingerprint, &last.edge.input));
            (u32::MAX - last.from.inputs, name)
        });
        lasts
    }

    /// Checks that a process of this program repeats what was done on the path.
    fn takes(&self, program: &Program, last: &Last<'_>) -> Result<(), String> {
        let client = last.from.client;
        let mut way = self.way(last.from);
        way.edges.push(Arc::clone(&last.edge));
        self.told(client, &last.edge.input, || {
            let mut process = self.begun_by(program, way.start)?;
            self.follow(&mut process, client, &way.edges, 1)
        })
    }

    /// Repeats rounds with processes that entered them by other paths.
    fn rounds_again(
        &self,
        client: ClientId,
        is_late: &dyn Fn() -> bool,
        again: &mut Again,
    ) -> Result<(), String> {
        let arrivals: Vec<(NodeId, Way)> = {
            let rounds = lock(&self.lane(client).rounds);
            let all = rounds.arrivals.iter();
            all.flat_map(|(at, laps)| laps.iter().map(|lap| (*at, self.lap(lap)))).collect()
        };
        let mut left = INPUTS / self.clients();
        for walk in 0..WALKS {
            for (at, before) in &arrivals {
                let edges = self.long_walk(*at, walk);
                let inputs = before.edges.len() + edges.len();
                if edges.is_empty() || left < inputs || is_late() {
                    continue;
                }
                left -= inputs;
                again.walks += 1;
                self.told(client, &edges[0].input, || {
                    let mut process = self.begun(before.start)?;
                    self.follow(&mut process, client, &before.edges, 1)?;
                    self.follow(&mut process, client, &edges, before.edges.len() + 1)
                })?;
            }
        }
        Ok(())
    }

    /// Returns a walk from the beginning of a round, through any rounds after it. Different numbers mostly give
    /// different walks.
    fn long_walk(&self, start: NodeId, number: usize) -> Vec<Arc<Edge>> {
        let (mut node, mut walk) = (self.node(start), Vec::new());
        while walk.len() < STRIDES {
            let mut edges = node.edges.known();
            edges.retain(|edge| edge.child != node.id);
            if edges.is_empty() {
                break;
            }
            edges.sort_by_cached_key(|edge| Fingerprint::of(&edge.input));
            let draw = Fingerprint::of(&(number / edges.len(), walk.len())).0 as usize;
            let at = if walk.is_empty() { number } else { draw };
            let edge = edges.swap_remove(at % edges.len());
            node = self.node(edge.child);
            walk.push(edge);
        }
        walk
    }
}

/// Selects edges at even intervals, so that the paths to the selected edges have about `most` inputs in total.
fn chosen<'a, 'b>(lasts: &'b [Last<'a>], most: usize) -> Vec<&'b Last<'a>> {
    let inputs: usize = lasts.iter().map(|last| last.from.inputs as usize + 1).sum();
    lasts.iter().step_by(inputs.div_ceil(most).max(1)).collect()
}

/// Extends the sentence about a program that did something else when it ran at another time.
fn in_another_order(why: String) -> String {
    format!(
        "{why}; other programs ran before one of these two runs only, so programs share something (an `Arc`, a \
         static)"
    )
}
