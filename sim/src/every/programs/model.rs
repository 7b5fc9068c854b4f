//! Implements the search's interface ([`Model`]) for programs.

use super::ProgramModel;
use super::pieces::{Choices, Transition};
use super::scene::Scene;
use super::state::State;
use crate::every::Model;
use crate::every::intern::Number;
use crate::run::demands::all_have_finished;
use stateright::Property;
use std::sync::Arc;
use vivarium_model::bounds::SEARCHED_INPUTS;
use vivarium_model::effect::Effects;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::ClientId;
use vivarium_model::property::Objection;
use vivarium_model::step::Step;
use vivarium_model::time::Time;

/// An action of one client: a step or a block of steps. It holds a number in the tables of the model that offered it,
/// so another model cannot use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Action {
    client: ClientId,
    kind: Kind,
    /// The index among the client's choices of this kind.
    index: u16,
    choices: Number,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Block,
    Sleep,
}

impl Kind {
    fn of(self, choices: &Choices) -> &[Transition] {
        match self {
            Kind::Block => &choices.blocks,
            Kind::Sleep => &choices.sleeps,
        }
    }
}

/// The bound of a search that left out the early end of a sleep or a timeout.
pub const TIMERS_KEPT: &str = "the budget of timers";

/// The bound of a search that stopped a program after too many inputs.
pub const INPUTS_KEPT: &str = "a program that has received 2,000 answers and still runs";

const _: () = assert!(SEARCHED_INPUTS == 2_000, "the sentence above says how many");

impl ProgramModel {
    /// Returns the scene before the first step.
    pub(super) fn beginning(&self) -> Scene {
        let mut scene = Scene { world: self.world(), left: self.budget };
        scene.world.begin(&mut Effects::default());
        scene
    }

    /// Returns the world steps of an action in a state.
    pub fn steps(&self, state: &State, action: &Action) -> Vec<Step> {
        let at = usize::from(action.index);
        match action.kind {
            Kind::Block => self.steps_of_block(state, action.client, at),
            Kind::Sleep => {
                let mut steps = self.in_time(&self.scene(state), action.client);
                vec![steps.swap_remove(at)]
            }
        }
    }

    /// Returns true if a client may act. If clients are interchangeable, only the first of those that have not acted
    /// yet may act: by renaming clients, every run becomes one in which they first act in their order.
    fn may_act(&self, state: &State, client: ClientId) -> bool {
        let Some(beginning) = &self.beginning_of_each else { return true };
        let fresh = |client: ClientId| state.clients[client.index()] == beginning[client.index()];
        !fresh(client) || self.clients().find(|client| fresh(*client)) == Some(client)
    }

    fn transition_of(&self, action: &Action) -> &Transition {
        &action.kind.of(self.choices_at(action.choices))[usize::from(action.index)]
    }

    /// Returns true if only faults and the ends of sleeps are possible.
    fn is_idle(&self, state: &State) -> bool {
        self.clients().all(|client| self.choices_at(self.choices(state, client)).idle)
    }

    fn add(&self, client: ClientId, choices: Number, kind: Kind, actions: &mut Vec<Action>) {
        let count = kind.of(self.choices_at(choices)).len();
        let count = u16::try_from(count).expect("fewer than 65,536 choices of one client");
        actions.extend((0..count).map(|index| Action { client, kind, index, choices }));
    }
}

impl stateright::Model for ProgramModel {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut state = self.fold(&self.beginning(), None);
        state.objection = self.check(&state).err().map(Arc::new);
        vec![state]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.objection.is_some() {
            return;
        }
        let able: Vec<(ClientId, Number)> = self
            .clients()
            .filter(|client| self.may_act(state, *client))
            .map(|client| (client, self.choices(state, client)))
            .collect();
        // If nothing else can happen, time passes; faults can still strike. If time cannot pass either, faults do not
        // count as progress: the state is at rest or stuck.
        let sleeps = able.iter().any(|(_, at)| !self.choices_at(*at).sleeps.is_empty());
        let passes = self.is_idle(state);
        for (client, choices) in able {
            if !passes || sleeps {
                self.add(client, choices, Kind::Block, actions);
            }
            if passes {
                self.add(client, choices, Kind::Sleep, actions);
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = last.after(self, action.client, self.transition_of(&action));
        if let Err(objection) = self.check(&next) {
            next.objection = Some(Arc::new(objection));
        }
        Some(next)
    }

    fn format_action(&self, action: &Action) -> String {
        let places = (action.index, action.choices.get());
        format!("{}: {:?} {} of {}", action.client, action.kind, places.0, places.1)
    }

    fn format_step(&self, last: &State, action: Action) -> Option<String> {
        let lines: Vec<String> = self.steps(last, &action).iter().map(Step::to_string).collect();
        Some(lines.join("\n"))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("no objection", |model: &ProgramModel, state: &State| {
            state.objection.is_none() && {
                let mut actions = Vec::new();
                stateright::Model::actions(model, state, &mut actions);
                !actions.is_empty() || Model::at_rest(model, state).is_ok()
            }
        })]
    }
}

impl Model for ProgramModel {
    fn fingerprint(&self, state: &State) -> Fingerprint {
        state.fingerprint
    }

    fn objection<'a>(&self, state: &'a State) -> Option<&'a Objection> {
        state.objection.as_deref()
    }

    fn length(&self, state: &State) -> u32 {
        state.length
    }

    fn pieces_bytes(&self) -> u64 {
        self.tables_bytes()
    }

    fn is_void(&self) -> bool {
        self.trie.dependent().is_some()
    }

    fn renewed(&self, states: &mut dyn Iterator<Item = &mut State>) -> Option<ProgramModel> {
        Some(self.renew(states))
    }

    fn at_rest(&self, state: &State) -> Result<(), Objection> {
        // A client that polls without end neither finishes nor is stuck.
        if !self.is_idle(state) {
            return Ok(());
        }
        let mut scene = self.scene(state);
        all_have_finished(&scene.world)?;
        let before = scene.world.witnesses().clone();
        scene.world.at_rest(Time::ZERO)?;
        scene.world.end(Time::ZERO)?;
        self.audit.ends(&before);
        Ok(())
    }

    fn withheld(&self, state: &State) -> Option<&'static str> {
        if self.clients().any(|client| self.choices_at(self.choices(state, client)).input_withheld)
        {
            return Some(INPUTS_KEPT);
        }
        let busy = |client: ClientId| !self.choices_at(self.choices(state, client)).idle;
        let too_early = |client: ClientId| {
            let choices = self.choices_at(self.choices(state, client));
            choices.withheld_while_busy
                || choices.withheld && self.clients().any(|other| other != client && busy(other))
        };
        self.clients().any(too_early).then_some(TIMERS_KEPT)
    }
}
