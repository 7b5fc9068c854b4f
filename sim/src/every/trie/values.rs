//! Checks whether programs depend on values that a search does not vary: the random number of a draw, the order of two
//! session ids, and the times of a znode's changes.
//!
//! A search gives each of these one value, which is enough for a program that only copies them and compares them for
//! equality. So histories are replayed with other values wherever these occur in the inputs, including paths and data,
//! from the program's beginning through all its rounds. A program that does not do the same under the same change of
//! values depends on them, and the first sentence that says so is kept. It is no verdict: the caller searches again
//! with these values as a choice, or reports that the search is inconclusive.
//!
//! Equal behaviour along some histories with some values is no proof. A search reports how many histories were
//! replayed.

use super::node::Origin;
use super::renaming::do_the_same;
use super::replay::parted;
use super::variation::{Valued, Variation};
use super::{Edge, Node, NodeId, Trie, lock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::mem::discriminant;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::handle::Process;
use vivarium_model::host::{Input, Operation, Outcome, Output};
use vivarium_model::id::ClientId;
use vivarium_model::op::{Op, ReadOp, Request};
use vivarium_model::session_order::SessionOrder;
use vivarium_model::time::Duration;

/// All histories are replayed while a trie has at most this many nodes, and then one in [`RARITY`].
const ALL_OF: u32 = 4_096;
const RARITY: u128 = 16;

/// The number of alternative numbers for each draw, for the first [`DRAWS`] draws.
const NUMBERS: u32 = 32;
const DRAWS: u64 = 256;

/// The number of differences that are compared with replays of the same inputs, and the number of replays for each.
const CONTROLLED: u64 = 32;
const CONTROLS: usize = 32;

/// The values that are varied, and the results.
pub(super) struct Others {
    clients: u8,
    order: SessionOrder,
    valued: Vec<Valued>,
    /// Made when needed: variations with all kinds of values changed, and with each kind alone.
    all: OnceLock<[Variation; 2]>,
    each: OnceLock<Vec<(Valued, Variation)>>,
    draws: OnceLock<Vec<Variation>>,
    drawn: AtomicU64,
    controlled: AtomicU64,
    told_again: AtomicU64,
    asked: AtomicU64,
    goes_by: Mutex<BTreeMap<Valued, String>>,
}

/// The histories that were replayed with other values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldAgain {
    /// The number of replayed histories.
    pub histories: u64,
    /// The number of all histories.
    pub of: u64,
    /// The values that a program depends on, each with a sentence about what the program did.
    pub goes_by: BTreeMap<Valued, String>,
}

fn is_a_reading(input: &Input) -> bool {
    matches!(input, Input::Reply { outcome: Outcome::Now(_), .. })
}

/// Returns true if a program begins and drops the same calls, and continues or ends, in both cases.
fn is_alike(here: &[Output], there: &[Output]) -> bool {
    let alike = |(here, there): (&Output, &Output)| match (here, there) {
        (Output::Submit { call, operation }, Output::Submit { call: other, operation: theirs }) => {
            call == other && are_answered_alike(operation, theirs)
        }
        (Output::Abandon { call }, Output::Abandon { call: other }) => call == other,
        _ => discriminant(here) == discriminant(there),
    };
    here.len() == there.len() && here.iter().zip(there).all(alike)
}

/// Returns true if any answer to one operation can be an answer to the other.
fn are_answered_alike(one: &Operation, other: &Operation) -> bool {
    let (
        Operation::Request { request: one, watch: first, .. },
        Operation::Request { request: other, watch: second, .. },
    ) = (one, other)
    else {
        return discriminant(one) == discriminant(other);
    };
    let alike = |(one, other): (&Op, &Op)| discriminant(one) == discriminant(other);
    let same = match (&**one, &**other) {
        (Request::Write(one), Request::Write(other)) => alike((one, other)),
        (Request::Multi(one), Request::Multi(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(alike)
        }
        (Request::MultiRead(one), Request::MultiRead(other)) => {
            let alike = |(one, other)| discriminant::<ReadOp>(one) == discriminant(other);
            one.len() == other.len() && one.iter().zip(other).all(alike)
        }
        (one, other) => discriminant(one) == discriminant(other),
    };
    same && first == second
}

fn forget_span(output: &mut Output) {
    if let Output::Submit { operation: Operation::Sleep(span), .. } = output {
        *span = Duration::ZERO;
    }
}

impl Others {
    fn all(&self) -> &[Variation; 2] {
        self.all.get_or_init(|| {
            [0, 1].map(|number| Variation::of(&self.valued, self.clients, &self.order, number))
        })
    }

    fn each(&self) -> &[(Valued, Variation)] {
        self.each.get_or_init(|| {
            let variations =
                self.valued.iter().flat_map(|kind| [0, 1].map(|number| (*kind, number)));
            let of =
                |(kind, number)| (kind, Variation::of(&[kind], self.clients, &self.order, number));
            variations.map(of).collect()
        })
    }

    fn draws(&self) -> &[Variation] {
        self.draws.get_or_init(|| {
            let of =
                |number| Variation::of(&[Valued::RandomNumbers], self.clients, &self.order, number);
            (2..2 + NUMBERS).map(of).collect()
        })
    }
}

/// A history from a program's beginning, with the program's reactions.
struct History {
    client: ClientId,
    /// The last edge is the new one.
    edges: Vec<Arc<Edge>>,
}

impl Trie {
    /// From now on, compares what programs do with what they do with other values of these kinds. `order` is the order
    /// of the session ids in the search.
    pub(crate) fn tell_others(&self, order: SessionOrder, valued: Vec<Valued>) {
        let clients = u8::try_from(self.clients()).expect("a search has few clients");
        let _ = self.others.set(Others {
            clients,
            order,
            valued,
            all: OnceLock::new(),
            each: OnceLock::new(),
            draws: OnceLock::new(),
            drawn: AtomicU64::new(0),
            controlled: AtomicU64::new(0),
            told_again: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            goes_by: Mutex::default(),
        });
    }

    /// Returns the results of replays with other values.
    pub fn told_again(&self) -> ToldAgain {
        self.others.get().map_or_else(ToldAgain::default, |others| ToldAgain {
            histories: others.told_again.load(Ordering::Relaxed),
            of: others.asked.load(Ordering::Relaxed),
            goes_by: lock(&others.goes_by).clone(),
        })
    }

    /// Replays a history and a further input with other values. Returns `Err` with a sentence if the program depends on
    /// something other than its handle.
    pub(super) fn check_values(
        &self,
        from: &Node,
        input: &Input,
        outputs: &[Output],
    ) -> Result<(), String> {
        let Some(others) = self.others.get() else { return Ok(()) };
        others.asked.fetch_add(1, Ordering::Relaxed);
        let is_chosen = self.nodes.len() <= ALL_OF
            || Fingerprint::of(&(from.fingerprint, input)).0.is_multiple_of(RARITY);
        let has_all = || lock(&others.goes_by).len() == others.valued.len();
        if !is_chosen || has_all() || self.is_late() {
            return Ok(());
        }
        let Some(mut edges) = self.edges_from_root(from) else { return Ok(()) };
        edges.push(Edge::new(input.clone(), outputs.into(), false, from.id));
        let history = History { client: from.client, edges };
        others.told_again.fetch_add(1, Ordering::Relaxed);
        if others.all().iter().any(|variation| self.parts(variation, &history).is_some()) {
            self.control(others, &history)?;
            self.attribute(others, &history);
        }
        let is_draw = matches!(input, Input::Reply { outcome: Outcome::Random(_), .. })
            && others.valued.contains(&Valued::RandomNumbers)
            && others.drawn.fetch_add(1, Ordering::Relaxed) < DRAWS;
        let draws = if is_draw { others.draws() } else { &[] };
        if let Some(sentence) = draws
            .iter()
            .take_while(|_| !self.is_late())
            .find_map(|other| self.parts(other, &history))
        {
            self.control(others, &history)?;
            lock(&others.goes_by).entry(Valued::RandomNumbers).or_insert(sentence);
        }
        Ok(())
    }

    /// For the first differences with other values, replays the same inputs several times: if the program's behaviour
    /// varies, the values are not the cause.
    fn control(&self, others: &Others, history: &History) -> Result<(), String> {
        match others.controlled.fetch_add(1, Ordering::Relaxed) < CONTROLLED {
            true => (0..CONTROLS).try_for_each(|_| self.same_again(history)),
            false => Ok(()),
        }
    }

    fn same_again(&self, history: &History) -> Result<(), String> {
        let History { client, edges } = history;
        let mut process = self.begun(self.root(*client))?;
        self.follow(&mut process, *client, edges, 1)
    }

    /// Determines which values made the difference: kinds that make a difference alone, or else all kinds together.
    fn attribute(&self, others: &Others, history: &History) {
        let mut found = BTreeMap::new();
        for (kind, variation) in others.each() {
            if let Some(sentence) = self.parts(variation, history) {
                found.entry(*kind).or_insert(sentence);
            }
        }
        if found.is_empty() {
            let all = others.all().iter().find_map(|variation| self.parts(variation, history));
            let sentence =
                all.unwrap_or_else(|| "its outputs vary although its inputs do not".to_string());
            found.extend(others.valued.iter().map(|kind| (*kind, sentence.clone())));
        }
        let mut goes_by = lock(&others.goes_by);
        found.into_iter().for_each(|(kind, sentence)| _ = goes_by.entry(kind).or_insert(sentence));
    }

    /// Describes what differs in a replay with other values; `None` if nothing does.
    fn parts(&self, variation: &Variation, history: &History) -> Option<String> {
        let History { client, edges } = history;
        let told: Vec<Input> = edges.iter().map(|edge| variation.told(&edge.input)).collect();
        if told.iter().zip(edges).all(|(told, edge)| *told == edge.input) {
            return None;
        }
        let mut process = Process::new(*client, &self.lane(*client).program);
        let (mut done, mut has_read) = (Vec::new(), false);
        for (at, (told, edge)) in told.iter().zip(edges).enumerate() {
            let (input, outputs) = (&edge.input, &edge.outputs);
            done.clear();
            process.feed(told.clone(), &mut done);
            has_read |= is_a_reading(input);
            // After a different call, the program waits for something else and cannot receive the rest. Its other
            // outputs were compared when this edge was new.
            let same = match at + 1 == edges.len() {
                true => self.is_same(variation, outputs, &mut done, has_read),
                false => is_alike(outputs, &done),
            };
            if !same {
                let (here, there) = parted(outputs, &done);
                return Some(format!(
                    "after the input \"{input}\", {client}'s program {here}, and with other values {there}"
                ));
            }
        }
        None
    }

    /// Returns true if the program did the same with other values.
    fn is_same(
        &self,
        variation: &Variation,
        outputs: &[Output],
        done: &mut [Output],
        has_read: bool,
    ) -> bool {
        let mut here = outputs.to_vec();
        if !has_read {
            // A search, or a program without a clock, cannot observe how long a sleep takes.
            here.iter_mut().chain(&mut *done).for_each(forget_span);
        }
        *done == *here || do_the_same(&variation.renaming, &here, done)
    }

    /// Returns all edges from the program's beginning to a node; `None` if they are not known.
    fn edges_from_root(&self, node: &Node) -> Option<Vec<Arc<Edge>>> {
        let mut parts = Vec::new();
        let mut way = self.way(node);
        loop {
            let start = self.node(way.start);
            parts.push(way.edges);
            if !matches!(start.origin, Origin::Round(_)) {
                break;
            }
            way = self.first_arrival(start.client, start.id)?;
        }
        Some(parts.into_iter().rev().flatten().collect())
    }

    /// Returns the path by which a program first reached the beginning of a round.
    fn first_arrival(&self, client: ClientId, round: NodeId) -> Option<super::replay::Way> {
        let lap = lock(&self.lane(client).rounds).first(round)?;
        Some(self.lap(&lap))
    }
}
