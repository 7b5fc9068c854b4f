//! Blocks: private steps of one client followed by one step that is not private, taken as one action.
//!
//! Every run can be reordered so that each private step comes right before the next step of its own client: the private
//! step moves to a later position, past the steps of other clients (`steps.rs` says why that changes nothing). So a
//! search needs to change from one client to another only after steps that are not private, and where a client can only
//! wait. Within a block, all orders of the client's own steps are tried, and every fault that can strike the client, at
//! every place.
//!
//! A run that ends in an objection ends in a step that is not private. Private steps of other clients that no later
//! step follows are moved after the objection, and dropped. A run to a state without a further step ends, for each
//! client, where the client waits.

use super::ProgramModel;
use super::kept::{Graph, NodeIndex};
use super::pieces::{Choices, Keys, OwnSteps, Place, Transition};
use super::reductions::Flaw;
use super::state::State;
use crate::every::intern::Number;
use vivarium_model::id::ClientId;
use vivarium_model::step::Step;

/// The most places of a block. A larger block (of a program that polls without end) is cut; a change to another client
/// loses nothing at any place.
const PLACES: usize = 4_096;

/// A place of a block, and the step to it.
struct Visit {
    place: Place,
    /// The previous visit, and the step from there. `None` at the start of the block.
    from: Option<(usize, Step)>,
    length: u32,
    /// The place's node in the graph of private steps, if there is a graph.
    node: NodeIndex,
}

/// The end of a block: the visit before its last step, and that step, which is not private; or no step if the client
/// waits.
type Ending = (usize, Option<Step>);

/// A set of keys that are usually few.
#[derive(Default)]
struct Few {
    few: Vec<u128>,
    /// All keys, if there are more than [`FEW`].
    many: Keys,
}

const FEW: usize = 24;

impl Few {
    /// Makes it the set of this key.
    fn begin(&mut self, key: u128) {
        self.few.clear();
        self.few.push(key);
        self.many.clear();
    }

    /// Returns true if the key is new.
    fn insert(&mut self, key: u128) -> bool {
        if self.few.len() < FEW {
            let is_new = !self.few.contains(&key);
            if is_new {
                self.few.push(key);
            }
            return is_new;
        }
        if self.many.is_empty() {
            self.many.extend(&self.few);
        }
        self.many.insert(key)
    }
}

/// The memory of a walk, which a thread uses again for the next one.
#[derive(Default)]
pub(super) struct Scratch {
    visits: Vec<Visit>,
    known: Few,
    /// The places to which the blocks found so far lead.
    reached: Few,
    /// One for each block of the choices.
    endings: Vec<Ending>,
    pub(super) choices: Choices,
    /// The pieces of the monitors after each history of a summary.
    pub(super) heard: Vec<Number>,
    /// The shared pieces after each expiry of a graph.
    pub(super) shared: Vec<Number>,
}

impl Scratch {
    fn begin(&mut self, place: Place) {
        self.visits.clear();
        self.visits.push(Visit { place, from: None, length: 0, node: 0 });
        self.known.begin(place.key());
        self.reached.begin(place.key());
        self.endings.clear();
        let mut blocks = std::mem::take(&mut self.choices.blocks);
        blocks.clear();
        self.choices = Choices { blocks, ..Choices::default() };
    }

    /// Adds a block. If two blocks lead to the same place, only the first is kept, which is not longer. Returns true if
    /// the block is kept.
    pub(super) fn end(&mut self, to: Transition) -> bool {
        let is_plain = to.all.is_none() && to.objection.is_none();
        let is_kept = !is_plain || self.reached.insert(to.place().key());
        if is_kept {
            self.choices.blocks.push(to);
        }
        is_kept
    }
}

/// Explores the blocks of a client.
struct Walk<'a> {
    model: &'a ProgramModel,
    state: &'a State,
    client: ClientId,
    graph: Option<&'a Graph>,
    scratch: &'a mut Scratch,
}

impl ProgramModel {
    /// Computes what a client can do in a state, as actions.
    pub(super) fn work_out(
        &self,
        state: &State,
        client: ClientId,
        graph: Option<&Graph>,
        scratch: &mut Scratch,
    ) {
        scratch.begin(state.place(client));
        if let Some((graph, summary)) =
            graph.and_then(|graph| Some((graph, graph.summary.as_ref()?)))
            && self.compose(state, client, graph, summary, scratch)
        {
            return;
        }
        self.walk(state, client, graph, scratch);
    }

    /// Walks through a client's blocks in a state.
    fn walk(&self, state: &State, client: ClientId, graph: Option<&Graph>, scratch: &mut Scratch) {
        scratch.begin(state.place(client));
        Walk { model: self, state, client, graph, scratch }.all();
    }

    /// Returns true if a client's blocks as they are composed and as they are walked differ.
    pub(super) fn is_miscomposed(&self, state: &State, client: ClientId) -> bool {
        let (mut composed, mut walked) = (Scratch::default(), Scratch::default());
        let graph = self.graph(state, client);
        self.work_out(state, client, graph, &mut composed);
        self.walk(state, client, graph, &mut walked);
        let saw = |to: &Transition| to.objection.as_ref().map(|objection| objection.saw.clone());
        let about = |to: &Transition| (to.place().key(), to.all.clone(), to.length, saw(to));
        let blocks = |of: &Choices| of.blocks.iter().map(about).collect::<Vec<_>>();
        let flags =
            |of: &Choices| (of.idle, of.withheld, of.withheld_while_busy, of.input_withheld);
        let (composed, walked) = (&composed.choices, &walked.choices);
        blocks(composed) != blocks(walked) || flags(composed) != flags(walked)
    }

    /// Returns the steps of a client's block, by the block's index among the choices.
    pub(super) fn steps_of_block(&self, state: &State, client: ClientId, at: usize) -> Vec<Step> {
        let mut scratch = Scratch::default();
        self.walk(state, client, self.graph(state, client), &mut scratch);
        let Scratch { visits, endings, .. } = scratch;
        let (mut visit, last) = endings[at];
        let mut steps: Vec<Step> = last.into_iter().collect();
        while let Some((before, step)) = visits[visit].from {
            steps.push(step);
            visit = before;
        }
        steps.reverse();
        steps
    }

    /// Returns all places in a client's blocks, including the start.
    pub(super) fn places_of_blocks(&self, state: &State, client: ClientId) -> Vec<Place> {
        let mut scratch = Scratch::default();
        self.walk(state, client, self.graph(state, client), &mut scratch);
        scratch.visits.into_iter().map(|visit| visit.place).collect()
    }
}

impl Walk<'_> {
    /// Searches breadth first, so that each block is found by its shortest sequence of steps.
    fn all(&mut self) {
        let mut next = 0;
        while next < self.scratch.visits.len() {
            let Visit { place, node, .. } = self.scratch.visits[next];
            let number = match self.graph {
                Some(graph) => graph.own(node),
                None => self.model.own_steps_number(self.state, self.client, place),
            };
            let steps = self.model.tables.steps.get(number);
            self.look(steps, next);
            self.expand(steps.idle, number, next);
            next += 1;
        }
    }

    /// Accumulates the properties of one place into the block's choices.
    fn look(&mut self, steps: &OwnSteps, at: usize) {
        let choices = &mut self.scratch.choices;
        let asked = at == 0 || !self.model.has(Flaw::TimersOutsideOfBlocks);
        choices.withheld |= steps.withheld && asked;
        choices.withheld_while_busy |= steps.withheld && asked && !steps.idle;
        choices.input_withheld |= steps.input_withheld;
        if at == 0 {
            choices.idle = steps.idle;
        }
    }

    fn expand(&mut self, idle: bool, own: Number, at: usize) {
        let Visit { place, length, node, .. } = self.scratch.visits[at];
        // Faults that strike a waiting client begin a block of their own. Whether a fault can strike when no other
        // client can act is decided there.
        if at > 0 && (idle || self.is_cut()) {
            return self.wait(at);
        }
        let model = self.model;
        model.for_each_tried(self.state, self.client, place, own, |index, took| {
            let to = Transition { length: length + 1, ..took.to };
            if !took.private || !model.reductions.blocks {
                self.end(to, (at, Some(took.step)));
                return !model.has(Flaw::OneWayOfABlock);
            }
            if self.scratch.known.insert(to.place().key()) {
                let from = Some((at, took.step));
                let node = self.graph.map_or(node, |graph| graph.after(node, index));
                self.scratch.visits.push(Visit {
                    place: to.place(),
                    from,
                    length: to.length,
                    node,
                });
            }
            true
        });
    }

    fn is_cut(&self) -> bool {
        self.scratch.visits.len() > PLACES
    }

    /// Ends a block without a step, because the client can only wait or the block is cut.
    fn wait(&mut self, at: usize) {
        let Visit { place, length, .. } = self.scratch.visits[at];
        let to = Transition { length, ..Transition::to(place) };
        self.end(to, (at, None));
    }

    fn end(&mut self, to: Transition, ending: Ending) {
        if self.scratch.end(to) {
            self.scratch.endings.push(ending);
        }
    }
}
