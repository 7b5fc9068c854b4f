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
use super::pieces::{Choices, Keys, Place, Steps, Transition};
use super::reductions::Flaw;
use super::state::State;
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
}

/// The end of a block: the visit before its last step, and that step, which is not private; or no step if the client
/// waits.
type Ending = (usize, Option<Step>);

/// Explores the blocks of a client.
struct Walk<'a> {
    model: &'a ProgramModel,
    state: &'a State,
    client: ClientId,
    visits: Vec<Visit>,
    known: Keys,
    /// The places to which the blocks found so far lead.
    reached: Keys,
    /// One for each block of the choices.
    endings: Vec<Ending>,
    choices: Choices,
}

impl ProgramModel {
    /// Computes what a client can do in a state, as actions.
    pub(super) fn work_out(&self, state: &State, client: ClientId) -> Choices {
        self.walk(state, client).0
    }

    /// Returns the steps of a client's block, by the block's index among the choices.
    pub(super) fn steps_of_block(&self, state: &State, client: ClientId, at: usize) -> Vec<Step> {
        let (_, visits, endings) = self.walk(state, client);
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
        let (_, visits, _) = self.walk(state, client);
        visits.into_iter().map(|visit| visit.place).collect()
    }

    fn walk(&self, state: &State, client: ClientId) -> (Choices, Vec<Visit>, Vec<Ending>) {
        let place = state.place(client);
        let mut walk = Walk {
            model: self,
            state,
            client,
            visits: vec![Visit { place, from: None, length: 0 }],
            known: Keys::from_iter([place.key()]),
            reached: Keys::from_iter([place.key()]),
            endings: Vec::new(),
            choices: Choices::default(),
        };
        walk.sleeps();
        walk.all();
        (walk.choices, walk.visits, walk.endings)
    }
}

impl Walk<'_> {
    /// Collects the steps that occur as time passes, when nothing else can happen.
    fn sleeps(&mut self) {
        let scene = self.model.scene(self.state);
        for step in self.model.in_time(&scene, self.client) {
            let to = self.model.try_sleep(self.state, &scene, self.client, step);
            self.choices.depends_on_others |= to.as_ref().is_some_and(|to| to.all.is_some());
            self.choices.sleeps.extend(to);
        }
    }

    /// Searches breadth first, so that each block is found by its shortest sequence of steps.
    fn all(&mut self) {
        let mut next = 0;
        while next < self.visits.len() {
            let here = self.state.at(self.client, self.visits[next].place);
            let steps = self.model.steps_at(&here, self.client);
            self.look(steps, next);
            self.expand(steps, next);
            next += 1;
        }
    }

    /// Accumulates the properties of one place into the block's choices.
    fn look(&mut self, steps: &Steps, at: usize) {
        let choices = &mut self.choices;
        choices.depends_on_others |= steps.depends_on_others;
        let asked = at == 0 || !self.model.has(Flaw::TimersOutsideOfBlocks);
        choices.withheld |= steps.withheld && asked;
        choices.withheld_while_busy |= steps.withheld && asked && !steps.idle;
        choices.input_withheld |= steps.input_withheld;
        if at == 0 {
            choices.idle = steps.idle;
        }
    }

    fn expand(&mut self, steps: &Steps, at: usize) {
        let length = self.visits[at].length;
        // Faults that strike a waiting client begin a block of their own. Whether a fault can strike when no other
        // client can act is decided there.
        if at > 0 && (steps.idle || self.is_cut()) {
            return self.wait(at);
        }
        for took in steps.tried() {
            let to = Transition { length: length + 1, ..took.to.clone() };
            if !took.private || !self.model.reductions.blocks {
                self.end(to, (at, Some(took.step)));
                if self.model.has(Flaw::OneWayOfABlock) {
                    return;
                }
            } else if self.known.insert(to.place().key()) {
                let from = Some((at, took.step));
                self.visits.push(Visit { place: to.place(), from, length: to.length });
            }
        }
    }

    fn is_cut(&self) -> bool {
        self.visits.len() > PLACES
    }

    /// Ends a block without a step, because the client can only wait or the block is cut.
    fn wait(&mut self, at: usize) {
        let Visit { place: Place { client, shared, witnesses, left }, length, .. } =
            self.visits[at];
        let (all, objection) = (None, None);
        let to = Transition { client, all, shared, witnesses, length, left, objection };
        self.end(to, (at, None));
    }

    /// Adds a block. If two blocks lead to the same place, only the shorter one is kept.
    fn end(&mut self, to: Transition, ending: Ending) {
        let is_plain = to.all.is_none() && to.objection.is_none();
        if !is_plain || self.reached.insert(to.place().key()) {
            self.choices.blocks.push(to);
            self.endings.push(ending);
        }
    }
}
