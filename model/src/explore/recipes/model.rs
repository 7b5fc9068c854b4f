//! The search's questions, answered.

use super::Recipes;
use super::pieces::{Choices, Number, Transition};
use super::scene::Scene;
use super::state::State;
use crate::effect::{Effects, Status};
use crate::explore::Model;
use crate::fingerprint::Fingerprint;
use crate::id::ClientId;
use crate::property::Objection;
use crate::service::retake::waiting;
use crate::step::Step;
use crate::time::Time;
use crate::zxid::Zxid;
use stateright::Property;

/// A choice of one client: steps of the world with what follows them quietly. It is a number in the
/// tables of the model that offered it, and means nothing to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Action {
    /// Whose choice it is.
    client: ClientId,
    kind: Kind,
    /// Which of the client's choices of this kind.
    index: u16,
    choices: Number,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Ordinary,
    Fault,
    Sleep,
}

impl Kind {
    fn of(self, choices: &Choices) -> &[Transition] {
        match self {
            Kind::Ordinary => &choices.ordinary,
            Kind::Fault => &choices.faults,
            Kind::Sleep => &choices.sleeps,
        }
    }
}

impl Recipes {
    /// The scene before anything can go wrong: every program has a session.
    pub(super) fn beginning(&self) -> (Scene, Option<Objection>) {
        let mut scene = Scene { world: self.world(), left: self.budget, steps: Vec::new() };
        let mut effects = Effects::default();
        scene.world.begin(&mut effects);
        let result = self.connect_all(&mut scene, &mut effects);
        (scene, result.err())
    }

    fn connect_all(&self, scene: &mut Scene, effects: &mut Effects) -> Result<(), Objection> {
        for client in self.clients() {
            let connection = scene.world.grain().connection(client);
            let steps = [
                Step::Start(client),
                Step::Serve { client, prefix: Zxid::ZERO },
                Step::ToClient(connection),
            ];
            for step in steps {
                let status = scene.take(step, effects)?;
                assert_eq!(status, Status::Done, "{step} of {client}'s first session");
            }
        }
        if self.reductions {
            self.clients().try_for_each(|client| self.settle(scene, client, effects))?;
        }
        Ok(())
    }

    /// The steps that an action chooses, without those that follow quietly.
    pub fn chosen(&self, action: &Action) -> &[Step] {
        &self.transition_of(action).choices
    }

    /// The steps of the world that an action takes in a state.
    pub fn steps(&self, state: &State, action: &Action) -> Vec<Step> {
        let mut scene = self.scene(state);
        let at_rest = action.kind == Kind::Sleep;
        // An objection ends it: what was taken until then is what there is to tell.
        for step in self.chosen(action) {
            if self.run(&mut scene, action.client, *step, at_rest).is_err() {
                break;
            }
        }
        scene.steps
    }

    /// Where clients are interchangeable, of those that have not acted yet only the first may.
    fn may_act(&self, state: &State, client: ClientId) -> bool {
        let Some(beginning) = &self.beginning_of_each else { return true };
        let fresh = |client: ClientId| state.clients[client.index()] == beginning[client.index()];
        !fresh(client) || self.clients().find(|client| fresh(*client)) == Some(client)
    }

    fn transition_of(&self, action: &Action) -> &Transition {
        &action.kind.of(self.choices_at(action.choices))[usize::from(action.index)]
    }

    fn add(&self, client: ClientId, choices: Number, kind: Kind, actions: &mut Vec<Action>) {
        let count = kind.of(self.choices_at(choices)).len();
        let count = u16::try_from(count).expect("fewer than 65,536 choices of one client");
        actions.extend((0..count).map(|index| Action { client, kind, index, choices }));
    }
}

impl stateright::Model for Recipes {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let (scene, objection) = self.beginning();
        vec![self.fold(&scene, objection)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.objection.is_some() {
            return;
        }
        let mut all = [None; super::MAX_CLIENTS];
        for client in self.clients().filter(|client| self.may_act(state, *client)) {
            let choices = self.choices(state, client);
            all[client.index()] = Some((client, choices));
            self.add(client, choices, Kind::Ordinary, actions);
        }
        let kind = if actions.is_empty() { Kind::Sleep } else { Kind::Fault };
        for (client, choices) in all.into_iter().flatten() {
            self.add(client, choices, kind, actions);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        Some(last.after(self, action.client, self.transition_of(&action)))
    }

    fn format_action(&self, action: &Action) -> String {
        let steps: Vec<String> = self.chosen(action).iter().map(Step::to_string).collect();
        steps.join(", ")
    }

    fn format_step(&self, last: &State, action: Action) -> Option<String> {
        let lines: Vec<String> = self.steps(last, &action).iter().map(Step::to_string).collect();
        Some(lines.join("\n"))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("no objection", |model: &Recipes, state: &State| {
            state.objection.is_none() && {
                let mut actions = Vec::new();
                stateright::Model::actions(model, state, &mut actions);
                !actions.is_empty() || Model::at_rest(model, state).is_ok()
            }
        })]
    }
}

impl Model for Recipes {
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

    fn renewed(&self, states: &mut dyn Iterator<Item = &mut State>) -> Option<Recipes> {
        Some(self.renew(states))
    }

    fn at_rest(&self, state: &State) -> Result<(), Objection> {
        let mut scene = self.scene(state);
        waiting(&scene.world)?;
        scene.world.at_rest(Time::ZERO)?;
        scene.world.end(Time::ZERO)
    }

    fn withheld(&self, state: &State) -> Option<&'static str> {
        if state.left.timers > 0 {
            return None;
        }
        let able = || self.clients().filter(|client| self.may_act(state, *client));
        let choices = || able().map(|client| self.choices_at(self.choices(state, client)));
        // Where nothing else can happen no timer is too early.
        let early = choices().any(|choices| !choices.ordinary.is_empty());
        (early && choices().any(|choices| choices.withheld)).then_some("the budget of timers")
    }
}
