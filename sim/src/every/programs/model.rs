//! Implements the search's interface ([`Model`]) for programs.

use super::ProgramModel;
use super::blocks::Scratch;
use super::pieces::{Choices, Transition};
use super::scene::Scene;
use super::state::{MAX_CLIENTS, State};
use crate::every::Model;
use crate::run::demands::all_have_finished;
use stateright::Property;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use vivarium_model::bounds::SEARCHED_INPUTS;
use vivarium_model::effect::Effects;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::ClientId;
use vivarium_model::property::Objection;
use vivarium_model::step::Step;
use vivarium_model::time::Time;

/// An action of one client: a step or a block of steps, with its result. Its pieces are numbers in the tables of the
/// model that offered it, so another model cannot use it.
#[derive(Clone)]
pub struct Action {
    pub(super) client: ClientId,
    kind: Kind,
    /// The index among the client's choices of this kind.
    index: u16,
    pub(super) to: Transition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Block,
    InTime,
}

impl Action {
    /// Returns the same action of another client, which takes the place of its client in another state.
    pub(super) fn by(&self, client: ClientId) -> Action {
        Action { client, ..self.clone() }
    }
}

/// Two actions of one state are equal if they have the same place among its actions.
impl PartialEq for Action {
    fn eq(&self, other: &Action) -> bool {
        let place = |of: &Action| (of.client, of.kind, of.index);
        place(self) == place(other)
    }
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?} {}", self.client, self.kind, self.index)
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
            Kind::InTime => vec![self.in_time(state, action.client).swap_remove(at).0],
        }
    }

    /// Returns true if only faults and the ends of sleeps are possible.
    fn is_idle(&self, state: &State) -> bool {
        let idle = |client| self.own_steps(state, client, state.place(client)).idle;
        self.clients().all(idle)
    }

    /// Appends the actions of a state, and returns the bound, if any, that excludes a possible step.
    fn offer(&self, state: &State, actions: &mut Vec<Action>) -> Option<&'static str> {
        // If nothing else can happen, time passes; faults can still strike. If time cannot pass either, faults do not
        // count as progress: the state is at rest or stuck.
        let mut graphs = [None; MAX_CLIENTS];
        for client in self.clients() {
            graphs[client.index()] = self.graph(state, client);
        }
        let is_idle = |client: ClientId| match graphs[client.index()] {
            Some(graph) => self.tables.steps.get(graph.own(0)).idle,
            None => self.own_steps(state, client, state.place(client)).idle,
        };
        let passes = self.clients().all(is_idle);
        let may_act = state.objection.is_none();
        let in_time = |client: ClientId| self.in_time(state, client);
        let mut in_time: Vec<_> =
            if passes && may_act { self.clients().map(in_time).collect() } else { vec![] };
        let goes_on = !passes || in_time.iter().any(|steps| !steps.is_empty());
        let mut scratch = SCRATCH.take();
        let mut bound = Bound::default();
        for client in self.clients() {
            self.work_out(state, client, graphs[client.index()], &mut scratch);
            bound.add(&scratch.choices);
            if goes_on && may_act {
                list(client, Kind::Block, scratch.choices.blocks.drain(..), actions);
                if let Some(later) = in_time.get_mut(client.index()) {
                    list(client, Kind::InTime, later.drain(..).map(|(_, to)| to), actions);
                }
            }
        }
        SCRATCH.set(scratch);
        bound.get()
    }
}

thread_local! {
    /// The memory of this thread's walks.
    static SCRATCH: Cell<Scratch> = Cell::default();
}

/// What the choices of a state's clients say about steps that a bound excludes.
#[derive(Default)]
struct Bound {
    input_withheld: bool,
    withheld_while_busy: bool,
    /// The number of clients that have a step that is no fault.
    busy: usize,
    /// The number of clients whose timers are withheld if another client is busy, and how many of them are busy.
    withheld: [usize; 2],
}

impl Bound {
    fn add(&mut self, choices: &Choices) {
        self.input_withheld |= choices.input_withheld;
        self.withheld_while_busy |= choices.withheld_while_busy;
        self.busy += usize::from(!choices.idle);
        if choices.withheld {
            self.withheld[usize::from(!choices.idle)] += 1;
        }
    }

    /// Returns the bound, if any, that excludes a possible step.
    fn get(&self) -> Option<&'static str> {
        let [idle, busy] = self.withheld;
        let too_early = idle > 0 && self.busy > 0 || busy > 0 && self.busy > 1;
        match self.input_withheld {
            true => Some(INPUTS_KEPT),
            false => (self.withheld_while_busy || too_early).then_some(TIMERS_KEPT),
        }
    }
}

impl stateright::Model for ProgramModel {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut state = self.fold(&self.beginning(), None);
        self.relate_beginning(&state);
        state.objection = self.check(&state).err().map(Arc::new);
        vec![state]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.offer(state, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let (mut next, _) = self.turned(last.after(self, action.client, &action.to));
        if let Err(objection) = self.check(&next).and_then(|()| self.is_symmetric()) {
            next.objection = Some(Arc::new(objection));
        }
        Some(next)
    }

    fn format_action(&self, action: &Action) -> String {
        format!("{action:?}")
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

    fn progress(&self, state: &State) -> i128 {
        self.progress_of(state)
    }

    fn pieces_bytes(&self) -> u64 {
        self.tables_bytes()
    }

    fn is_void(&self) -> bool {
        self.trie.dependent().is_some() || self.is_symmetric().is_err()
    }

    fn renewed(&self, states: &mut dyn Iterator<Item = &mut State>) -> Option<ProgramModel> {
        Some(self.renew(states))
    }

    fn at_rest(&self, state: &State) -> Result<(), Objection> {
        // A client that polls without end neither finishes nor is stuck.
        if !self.is_idle(state) {
            return Ok(());
        }
        self.is_symmetric()?;
        self.at_all_images(state, |state| {
            let mut scene = self.scene(state);
            all_have_finished(&scene.world)?;
            let before = scene.world.witnesses().clone();
            scene.world.at_rest(Time::ZERO)?;
            scene.world.end(Time::ZERO)?;
            self.audit.ends(&before);
            Ok(())
        })
    }

    fn withheld(&self, state: &State) -> Option<&'static str> {
        self.offer(state, &mut Vec::new())
    }

    fn expand(&self, state: &State, actions: &mut Vec<Action>) -> Option<&'static str> {
        self.offer(state, actions)
    }
}

/// Appends actions of a client.
fn list(
    client: ClientId,
    kind: Kind,
    all: impl IntoIterator<Item = Transition>,
    actions: &mut Vec<Action>,
) {
    for (index, to) in all.into_iter().enumerate() {
        let index = u16::try_from(index).expect("at most 65,536 choices of one client");
        actions.push(Action { client, kind, index, to });
    }
}
