//! Blocks: private steps of one client, and then one that is not, as one action.
//!
//! Every run can be put in an order in which each private step comes right before the next step of its
//! own client: it is moved later, past what others do in between (`steps.rs` says why that changes
//! nothing). So it is enough to change from one client to another behind steps that are not private,
//! and where a client has nothing to do but wait. Within a block all orders of the client's own steps
//! are tried, and every fault that can strike it, at every place.
//!
//! A run that ends in an objection ends in a step that is not private; the private steps of others
//! that nothing follows are moved behind that, and dropped. A run to a state where nothing can happen
//! any more ends, for each client, where it waits.

use super::ProgramModel;
use super::pieces::{Choices, Keys, Place, Steps, Transition};
use super::reductions::Flaw;
use super::state::State;
use vivarium_model::id::ClientId;
use vivarium_model::step::Step;

/// A block goes through so many places at most. One that is larger (a program that polls without end)
/// is cut: to change to another client anywhere loses nothing.
const PLACES: usize = 4_096;

/// A place of a block, and how it was come to.
struct Visit {
    place: Place,
    /// The visit before, and the step from there. None for where the block begins.
    from: Option<(usize, Step)>,
    length: u32,
}

/// How a block ends: behind this visit, by a step that is not private, or by none.
type Ending = (usize, Option<Step>);

/// A block is found as it is walked.
struct Walk<'a> {
    model: &'a ProgramModel,
    state: &'a State,
    client: ClientId,
    visits: Vec<Visit>,
    known: Keys,
    /// Where the blocks found so far lead.
    reached: Keys,
    /// One for each of the choices' blocks.
    endings: Vec<Ending>,
    choices: Choices,
}

impl ProgramModel {
    /// What a client can do in a state, as actions.
    pub(super) fn work_out(&self, state: &State, client: ClientId) -> Choices {
        self.walk(state, client).0
    }

    /// The steps of one of the blocks of a client, by its place among them.
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

    /// Where a client comes to in its blocks, and where they begin.
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
    /// What time brings, where nothing else can happen.
    fn sleeps(&mut self) {
        let scene = self.model.scene(self.state);
        for step in self.model.in_time(&scene, self.client) {
            let to = self.model.try_sleep(self.state, &scene, self.client, step);
            self.choices.depends_on_others |= to.as_ref().is_some_and(|to| to.all.is_some());
            self.choices.sleeps.extend(to);
        }
    }

    /// Nearest places first, so that each block is found in its fewest steps.
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

    /// What a place says of the whole.
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
        // Faults that strike whoever waits begin a block of their own: whether any can, where nobody
        // else can do anything either, is asked there.
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

    /// The block ends here by no step: there is nothing to do but wait, or it is cut.
    fn wait(&mut self, at: usize) {
        let Visit { place: Place { client, shared, witnesses, left }, length, .. } =
            self.visits[at];
        let (all, objection) = (None, None);
        let to = Transition { client, all, shared, witnesses, length, left, objection };
        self.end(to, (at, None));
    }

    /// Two blocks that lead to the same place are one, the shorter one.
    fn end(&mut self, to: Transition, ending: Ending) {
        let is_plain = to.all.is_none() && to.objection.is_none();
        if !is_plain || self.reached.insert(to.place().key()) {
            self.choices.blocks.push(to);
            self.endings.push(ending);
        }
    }
}
