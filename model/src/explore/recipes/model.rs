//! The search's questions, answered.

use super::{Recipes, State, quiet};
use crate::effect::{Effects, Status};
use crate::explore::Model;
use crate::fingerprint::Fingerprint;
use crate::grain::Grain;
use crate::id::{ClientId, SessionId};
use crate::machines::ProgramState;
use crate::property::Objection;
use crate::service::retake::waiting;
use crate::step::Step;
use crate::timer::Timer;
use crate::zxid::Zxid;
use stateright::Property;
use std::sync::Arc;

impl Recipes {
    /// The state before anything can go wrong: every program has a session.
    fn initial(&self, record: bool) -> State {
        let mut state = State {
            world: self.world(),
            left: self.budget,
            objection: None,
            length: 0,
            steps: record.then(Vec::new),
        };
        let mut effects = Effects::default();
        state.world.begin(&mut effects);
        let result = self.connect_all(&mut state, &mut effects);
        state.objection = result.err().map(Arc::new);
        state
    }

    fn connect_all(&self, state: &mut State, effects: &mut Effects) -> Result<(), Objection> {
        for client in (0..self.config.clients.len()).map(ClientId::at) {
            let connection = state.world.grain().connection(client);
            let steps = [
                Step::Start(client),
                Step::Serve { client, prefix: Zxid::ZERO },
                Step::ToClient(connection),
            ];
            for step in steps {
                let status = self.take(state, step, effects)?;
                assert_eq!(status, Status::Done, "{step} of {client}'s first session");
            }
        }
        if self.reductions { self.settle(state, effects) } else { Ok(()) }
    }

    fn next(&self, last: &State, step: Step, record: bool) -> Option<State> {
        let mut state = last.clone();
        state.length = 0;
        state.steps = record.then(Vec::new);
        spend(&mut state, &step);
        let mut effects = Effects::default();
        let result = match self.take(&mut state, step, &mut effects) {
            Ok(Status::Done) if self.reductions => self.settle(&mut state, &mut effects),
            Ok(Status::Done) => Ok(()),
            Ok(_) => return None,
            Err(objection) => Err(objection),
        };
        state.length = state.length.max(1);
        state.objection = result.err().map(Arc::new);
        Some(state)
    }

    /// The steps of the world before the first action.
    pub fn preamble(&self) -> Vec<Step> {
        self.initial(true).steps.expect("they were asked for")
    }

    /// The steps of the world that an action takes in a state.
    pub fn steps(&self, state: &State, action: Step) -> Vec<Step> {
        let next = self.next(state, action, true);
        let mut steps = next.and_then(|next| next.steps).unwrap_or_default();
        if steps.is_empty() {
            // It was objected to before it was done.
            steps.push(action);
        }
        steps
    }

    /// What can happen and is no fault, program timers apart.
    fn ordinary(&self, state: &State, steps: &mut Vec<Step>) {
        let service = state.world.grain();
        service.enabled(self.prefixes(), steps);
        let draws = service.draws();
        steps.extend(
            draws.map(|(client, call)| quiet::draw(client, call, service.numbers_drawn(client))),
        );
    }

    fn faults(&self, state: &State, steps: &mut Vec<Step>) {
        let service = state.world.grain();
        let running = (0..self.config.clients.len())
            .map(ClientId::at)
            .filter(|client| service.program(*client) == ProgramState::Running);
        for client in running {
            if state.left.lost > 0 && service.is_connected(client) {
                let connection = service.connection(client);
                steps.push(Step::BreakClient { connection, to_server: 0, to_client: 0 });
            }
            if state.left.cancels > 0 && service.can_cancel(client) {
                steps.push(Step::Cancel(client));
            }
            if state.left.kills > 0 {
                steps.push(Step::Kill(client));
            }
            let live = |session: &SessionId| service.is_alive(*session);
            if state.left.expiries > 0
                && let Some(session) = service.session(client).filter(live)
            {
                steps.push(Step::Expire(session));
            }
        }
        if state.left.timers > 0 {
            service.sleeps(steps);
        }
    }
}

/// Takes a fault off the budget. An orphaned session's expiry is none.
fn spend(state: &mut State, step: &Step) {
    let service = state.world.grain();
    match step {
        Step::BreakClient { .. } => state.left.lost -= 1,
        Step::Cancel(_) => state.left.cancels -= 1,
        Step::Kill(_) => state.left.kills -= 1,
        Step::Expire(session) if !service.is_orphan(*session) => state.left.expiries -= 1,
        // Where nothing else can happen time passes, and that costs nothing.
        Step::Fire(Timer::Sleep(..)) if state.left.timers > 0 => state.left.timers -= 1,
        _ => {}
    }
}

impl stateright::Model for Recipes {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![self.initial(false)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        if state.objection.is_some() {
            return;
        }
        self.ordinary(state, actions);
        if actions.is_empty() {
            state.world.grain().sleeps(actions);
        }
        if !actions.is_empty() {
            self.faults(state, actions);
            // A timer may be among them twice: as the passing of time and as a schedule.
            actions.dedup();
        }
    }

    fn next_state(&self, last: &State, action: Step) -> Option<State> {
        self.next(last, action, false)
    }

    fn format_action(&self, action: &Step) -> String {
        action.to_string()
    }

    fn format_step(&self, last: &State, action: Step) -> Option<String> {
        let steps = self.steps(last, action);
        let lines: Vec<String> = steps.iter().map(Step::to_string).collect();
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
        state.fingerprint()
    }

    fn objection<'a>(&self, state: &'a State) -> Option<&'a Objection> {
        state.objection.as_deref()
    }

    fn length(&self, state: &State) -> u32 {
        state.length
    }

    fn at_rest(&self, state: &State) -> Result<(), Objection> {
        waiting(&state.world)?;
        state.world.clone().end(crate::time::Time::ZERO)
    }

    fn withheld(&self, state: &State) -> Option<&'static str> {
        if state.left.timers > 0 {
            return None;
        }
        let mut sleeping = Vec::new();
        state.world.grain().sleeps(&mut sleeping);
        let mut ordinary = Vec::new();
        if !sleeping.is_empty() {
            self.ordinary(state, &mut ordinary);
        }
        (!ordinary.is_empty()).then_some("the budget of timers")
    }
}
