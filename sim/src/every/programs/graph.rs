//! The graph of a client's private steps, looked up by what all of them read.
//!
//! A block passes several places, and most of them read the same of the shared piece. So the places that a client
//! reaches by private steps are kept together: the node of each place is the number of the client's own steps there, and
//! its edges are the private ones. A block then follows edges, and no place in it is looked up by its footprint.
//!
//! What the graph depends on is found out while it is made. Each place asks a *question* of the shared piece. The
//! answers so far determine which places come next, so the questions and answers are a path in a tree: a look-up asks
//! one question after the other and follows the answers.

use super::ProgramModel;
use super::kept::{Asked, Graph, NOWHERE, Node, NodeIndex, Question};
use super::pieces::{Change, OwnStep, Place};
use super::reductions::Flaw;
use super::state::State;
use super::tables::GraphKey;
use crate::every::intern::Number;
use std::cell::RefCell;
use std::collections::BTreeMap;
use vivarium_model::id::{ClientId, SessionId};

/// The most nodes of a graph.
const NODES: usize = 1_024;

/// A graph that is being made.
struct Making<'a> {
    model: &'a ProgramModel,
    state: &'a State,
    client: ClientId,
    /// The places, each with the index of the expiry on the way.
    places: Vec<(Place, u16)>,
    expiries: Vec<(u16, SessionId)>,
    known: BTreeMap<(Number, Number, u128), NodeIndex>,
    nodes: Vec<Node>,
    edges: Vec<NodeIndex>,
    /// The questions with their answers, in the order in which they were asked.
    asked: Vec<(Question, u128)>,
}

impl ProgramModel {
    /// Returns the graph of a client's private steps from a state; `None` if there is none.
    pub(super) fn graph(&self, state: &State, client: ClientId) -> Option<&Graph> {
        let start = state.place(client);
        let place = [
            u64::from(start.client.get()) << 32 | u64::from(start.shared.get()),
            start.left.packed() as u64,
        ];
        let recent = RECENT.with_borrow_mut(|recent| recent.of(self.tables.id).find(place));
        let number = recent.unwrap_or_else(|| {
            let number = self.look_up(state, client);
            RECENT.with_borrow_mut(|recent| recent.of(self.tables.id).put(place, number));
            number
        });
        match self.tables.graphs.get(number) {
            Asked::Graph(graph) => Some(graph),
            Asked::Next(_) | Asked::None => None,
        }
    }

    fn look_up(&self, state: &State, client: ClientId) -> Number {
        let start = state.place(client);
        let root = self.root_key(client, start, self.question(client, start));
        let mut key = root;
        while let Some(number) = self.tables.graphs.find(key) {
            match self.tables.graphs.get(number) {
                Asked::Next(question) => {
                    key = child_key(number, *question, self.answer(*question, start.shared));
                }
                Asked::Graph(_) | Asked::None => return number,
            }
        }
        self.make_graph(state, client, root)
    }

    fn root_key(&self, client: ClientId, start: Place, first: Question) -> GraphKey {
        let mut answer = self.answer(first, start.shared);
        if !self.has(Flaw::FootprintWithoutSessions) {
            let sessions = &self.tables.shared.get(start.shared).sessions[client.index()];
            answer = answer.wrapping_add(sessions.fingerprint().0);
        }
        let left = start.left.packed();
        key_of([start.client.get(), left as u32, (left >> 32) as u32 | 1 << 31], first, answer)
    }

    fn make_graph(&self, state: &State, client: ClientId, root: GraphKey) -> Number {
        let mut making = Making {
            model: self,
            state,
            client,
            places: Vec::new(),
            expiries: Vec::new(),
            known: BTreeMap::new(),
            nodes: Vec::new(),
            edges: Vec::new(),
            asked: Vec::new(),
        };
        let is_complete = making.all();
        let Making { nodes, edges, expiries, asked, .. } = making;
        let mut key = root;
        for (question, answer) in asked.into_iter().skip(1) {
            let number = self.tables.graphs.number(key, || Asked::Next(question));
            key = child_key(number, question, answer);
        }
        let graph = match is_complete {
            true => {
                let (nodes, edges, expiries) = (nodes.into(), edges.into(), expiries.into());
                let mut graph = Graph { nodes, edges, expiries, summary: None };
                graph.summary = self.summary(&graph).map(Box::new);
                Asked::Graph(graph)
            }
            false => Asked::None,
        };
        self.tables.graphs.number(key, || graph)
    }
}

/// The number of places whose graphs a thread remembers.
const REMEMBERED: usize = 1 << 12;

/// The graphs that a thread has looked up lately. States that are expanded one after the other have most of their pieces
/// in common.
#[derive(Default)]
struct Recent {
    /// The tables that hold the graphs.
    tables: u64,
    slots: Vec<([u64; 2], Option<Number>)>,
}

thread_local! {
    static RECENT: RefCell<Recent> = RefCell::default();
}

impl Recent {
    fn of(&mut self, tables: u64) -> &mut Recent {
        if self.tables != tables {
            self.tables = tables;
            self.slots.clear();
            self.slots.resize(REMEMBERED, ([0; 2], None));
        }
        self
    }

    fn find(&self, place: [u64; 2]) -> Option<Number> {
        let (known, number) = self.slots[Recent::slot(place)];
        number.filter(|_| known == place)
    }

    fn put(&mut self, place: [u64; 2], number: Number) {
        self.slots[Recent::slot(place)] = (place, Some(number));
    }

    fn slot(place: [u64; 2]) -> usize {
        let mixed = (place[0] ^ place[1].rotate_left(17)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 40) as usize % REMEMBERED
    }
}

impl Making<'_> {
    /// Visits all places, breadth first. Returns false if there is no graph.
    fn all(&mut self) -> bool {
        self.node(self.state.place(self.client), 0);
        let mut next = 0;
        while next < self.places.len() {
            if self.places.len() > NODES || !self.visit(self.places[next]) {
                return false;
            }
            next += 1;
        }
        true
    }

    fn visit(&mut self, (place, expiry): (Place, u16)) -> bool {
        let (model, client) = (self.model, self.client);
        self.ask(model.question(client, place));
        let own = model.own_steps_number(self.state, client, place);
        let steps = model.tables.steps.get(own);
        if steps.depends_on_others {
            return false;
        }
        let (Place { client: piece, left, .. }, first) = (place, self.edges.len() as u32);
        self.nodes.push(Node { client: piece, left, expiry, own, first });
        // A block passes a place where the client waits only at its beginning.
        let waits = steps.idle && self.nodes.len() > 1;
        for step in &steps.all {
            let to = match step.private && model.reductions.blocks && !waits {
                true => {
                    let expiry = self.expire(expiry, step);
                    self.node(model.place_after(self.state, client, place, step), expiry)
                }
                false => NOWHERE,
            };
            self.edges.push(to);
        }
        true
    }

    /// Returns the index of the expiry on the way after a step.
    fn expire(&mut self, before: u16, step: &OwnStep) -> u16 {
        let Change::Expiry(session) = step.shared else { return before };
        let known = self.expiries.iter().position(|expiry| *expiry == (before, session));
        let index = known.unwrap_or_else(|| {
            self.expiries.push((before, session));
            self.expiries.len() - 1
        });
        index as u16 + 1
    }

    /// Returns the node of a place.
    fn node(&mut self, place: Place, expiry: u16) -> NodeIndex {
        let key = (place.client, place.shared, place.left.packed());
        *self.known.entry(key).or_insert_with(|| {
            self.places.push((place, expiry));
            (self.places.len() - 1) as NodeIndex
        })
    }

    fn ask(&mut self, question: Question) {
        if self.asked.iter().all(|(asked, _)| *asked != question) {
            let answer = self.model.answer(question, self.state.shared);
            self.asked.push((question, answer));
        }
    }
}

fn child_key(parent: Number, question: Question, answer: u128) -> GraphKey {
    key_of([parent.get(), 0, 0], question, answer)
}

fn key_of([one, two, three]: [u32; 3], question: Question, answer: u128) -> GraphKey {
    let word = |word: u32| (answer >> (32 * word)) as u32;
    [one, two, three, question.code(), word(0), word(1), word(2), word(3)]
}
