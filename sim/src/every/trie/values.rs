//! Whether programs go by values that a search does not vary: which random number a draw gives, which of two session
//! ids is the larger, and at what time a znode was changed.
//!
//! A search gives each of these one value. That is enough for a program that only copies and compares them for
//! equality. So histories are replayed with other values wherever they stand in the inputs, inside of
//! paths and data too, from the program's beginning on, through all of its rounds. A program that does not do the same
//! under the same change of values goes by them, and the first sentence that says so is kept. It is no verdict: who
//! asked searches again, with these values as a choice, or says that the search is inconclusive.
//!
//! That a program did the same along some histories with some values is no proof. A search says how many were told
//! again.

use super::node::Origin;
use super::renaming::does_the_same;
use super::replay::parted;
use super::variation::{Valued, Variation};
use super::{Edge, Node, NodeId, Trie, lock};
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

/// All histories are replayed while a trie has no more nodes than this, and then one in [`RARITY`].
const ALL_OF: u32 = 4_096;
const RARITY: u128 = 16;

/// Other numbers for each draw, for the first [`DRAWS`] draws.
const NUMBERS: u32 = 32;
const DRAWS: u64 = 256;

/// The differences that are compared with replays of the same inputs, and the replays for each.
const CONTROLLED: u64 = 32;
const CONTROLS: usize = 32;

/// What is varied, and what came of it.
pub(super) struct Others {
    clients: u8,
    order: SessionOrder,
    valued: Vec<Valued>,
    /// Made when they are needed: with all kinds of values changed, and with each alone.
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToldAgain {
    /// How many histories were.
    pub histories: u64,
    /// How many there are that have a value in them.
    pub of: u64,
    /// Which values a program goes by: what it did, as a sentence.
    pub goes_by: BTreeMap<Valued, String>,
}

fn is_a_reading(input: &Input) -> bool {
    matches!(input, Input::Reply { outcome: Outcome::Now(_), .. })
}

/// Whether a program begins and drops the same calls, and goes on or ends in both.
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

/// Whether the answer to one can be an answer to the other.
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

/// A history from a program's beginning, and what the program does behind it.
struct History {
    client: ClientId,
    /// The last one is new.
    edges: Vec<Arc<Edge>>,
}

impl Trie {
    /// From now on, what programs do is held against what they do when these are others. `order` is that of the
    /// session ids here.
    pub fn tell_others(&self, order: SessionOrder, valued: Vec<Valued>) {
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

    /// What came of telling histories again.
    pub fn told_again(&self) -> ToldAgain {
        self.others.get().map_or_else(ToldAgain::default, |others| ToldAgain {
            histories: others.told_again.load(Ordering::Relaxed),
            of: others.asked.load(Ordering::Relaxed),
            goes_by: lock(&others.goes_by).clone(),
        })
    }

    /// Tells a history with one input more again, with other values. `Err` is the sentence that tells that the program
    /// goes by something other than its handle.
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

    /// The first times that a program differs with other values, the same inputs are replayed, again and again: if it does not always do the same, it is not the values that it goes by.
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

    /// Which values it was that made the difference: those that make one alone, or all together.
    fn attribute(&self, others: &Others, history: &History) {
        let mut found = BTreeMap::new();
        for (kind, variation) in others.each() {
            if let Some(sentence) = self.parts(variation, history) {
                found.entry(*kind).or_insert(sentence);
            }
        }
        if found.is_empty() {
            let all = others.all().iter().find_map(|variation| self.parts(variation, history));
            let sentence = all.unwrap_or_else(|| "it does not always do the same".to_string());
            found.extend(others.valued.iter().map(|kind| (*kind, sentence.clone())));
        }
        let mut goes_by = lock(&others.goes_by);
        found.into_iter().for_each(|(kind, sentence)| _ = goes_by.entry(kind).or_insert(sentence));
    }

    /// What differs in a replay with other values, as a sentence; `None` if nothing does.
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
            // A program that does something else waits for something else: it cannot be told the rest. What it says in
            // between was compared when that was new.
            let same = match at + 1 == edges.len() {
                true => self.is_same(variation, *client, outputs, &mut done, has_read),
                false => is_alike(outputs, &done),
            };
            if !same {
                let (here, there) = parted(outputs, &done);
                return Some(format!(
                    "told \"{input}\", {client}'s program {here}, and told other values {there}"
                ));
            }
        }
        None
    }

    /// Whether the program did the same with other values.
    fn is_same(
        &self,
        variation: &Variation,
        client: ClientId,
        outputs: &[Output],
        done: &mut [Output],
        has_read: bool,
    ) -> bool {
        let mut here = outputs.to_vec();
        if !has_read {
            // How long a sleep takes is nothing that a search, or a program without a clock, could tell.
            here.iter_mut().chain(&mut *done).for_each(forget_span);
        }
        *done == *here || does_the_same(&variation.renaming, client, &here, done).unwrap_or(false)
    }

    /// All edges from the program's beginning to a node; `None` where they are not known.
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

    /// The way on which a program first came to the beginning of a round.
    fn first_arrival(&self, client: ClientId, round: NodeId) -> Option<super::replay::Way> {
        let lap = lock(&self.lane(client).rounds).first(round)?;
        Some(self.lap(&lap))
    }
}
